"""Pulses of any form: linear in coefficients, within a band, with a fluence; bicircular light."""

from __future__ import annotations

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.checks import InputError

BAND, LENGTH = (0.3, 0.45), 250.0
COEFFICIENTS = 0.03 * np.cos(np.arange(14.0)).reshape(2, 7)
T = np.linspace(0.0, LENGTH, 4001)


def made(coefficients=COEFFICIENTS, **more):
    return zt.FreeForm(coefficients, band=BAND, duration=LENGTH, **more)


def test_the_formula():
    pulse, u = made(), T - LENGTH / 2
    omega = np.linspace(*BAND, 7)[:, None]
    sums = COEFFICIENTS[0] @ np.cos(omega * u) + COEFFICIENTS[1] @ np.sin(omega * u)
    expected = np.sin(np.pi * T / LENGTH) ** 2 * sums
    np.testing.assert_allclose(pulse.vector_potential(T), expected, atol=1e-15)
    np.testing.assert_allclose(pulse.frequencies, omega[:, 0], rtol=1e-15)


def test_no_net_potential_and_no_jump_for_any_coefficients():
    for seed in range(3):
        pulse = made(np.random.default_rng(seed).standard_normal((2, 2, 7)))
        assert np.max(np.abs(pulse.vector_potential_xyz(LENGTH))) < 1e-28
        # sin² has a slope of π/T · sin(2π) at its end, that is of rounding.
        assert np.max(np.abs(pulse.electric_field_xyz(np.array([0.0, LENGTH])))) < 1e-15


def test_linear_in_its_coefficients():
    double, half = made(2 * COEFFICIENTS), made().scaled(0.5)
    E = made().electric_field(T)
    np.testing.assert_allclose(double.electric_field(T), 2 * E, rtol=1e-12, atol=1e-16)
    assert isinstance(half, zt.FreeForm)
    np.testing.assert_allclose(half.electric_field(T), 0.5 * E, rtol=1e-12, atol=1e-16)


def test_the_spectrum_stays_within_the_band_and_the_window():
    padded = np.fft.rfft(made().vector_potential(T), 2**17)
    omega = 2 * np.pi * np.fft.rfftfreq(2**17, T[1] - T[0])
    margin = 4 * np.pi / LENGTH
    outside = (omega < BAND[0] - margin) | (omega > BAND[1] + margin)
    # The largest side lobe of the sin² window has 2.7 % of its peak; several may add up.
    assert np.max(np.abs(padded[outside])) < 0.06 * np.max(np.abs(padded))


def test_gradients_and_batches():
    def field(c):
        return made(c).electric_field(100.0)

    slope = jax.grad(field)(COEFFICIENTS)
    # E is linear in c, so differences are exact to rounding.
    change = field(COEFFICIENTS + np.eye(2, 7)) - field(COEFFICIENTS)
    assert float(jnp.sum(slope * np.eye(2, 7))) == pytest.approx(float(change), rel=1e-10)
    batch = jax.vmap(lambda a: field(a * COEFFICIENTS))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(batch, [field(COEFFICIENTS), 2 * field(COEFFICIENTS)], rtol=1e-12)
    by_scan = zt.scan(lambda scale: field(scale * COEFFICIENTS), scale=[1.0, 2.0])
    np.testing.assert_allclose(by_scan, batch, rtol=1e-12)


def test_fluence_of_a_known_pulse():
    # E = E₀ sin²(πt/T) cos ωt up to 1/(ωT): the mean of sin⁴ is 3/8, of cos² 1/2.
    pulse = zt.SineSquared(amplitude=0.05, frequency=2.0, cycles=100)
    expected = 3 / 16 * 0.05**2 * float(pulse.duration)
    assert float(zt.fluence(pulse)) == pytest.approx(expected, rel=1e-4)
    # 3e14 W/cm² for 1 fs on the average: 0.3 J/cm².
    flat = zt.Trapezoid(intensity="3e14 W/cm^2", wavelength="10 nm", ramp_cycles=1,
                        plateau_cycles=29.979, smooth=False)  # fmt: skip
    inside = 29.979 + 2 / 3  # ramps add a third each
    seconds = inside * 10e-9 / 299792458.0
    assert float(zt.fluence(flat)) * 1.69784 == pytest.approx(3e14 * seconds, rel=2e-3)
    with pytest.raises(InputError, match="pulse: must end to have a fluence, but never does"):
        zt.fluence(zt.Static(amplitude=0.1, ramp=3.0))


def test_fluence_is_a_quadratic_form():
    def energy(c):
        return zt.fluence(made(c))

    c = jnp.asarray(COEFFICIENTS)
    # Euler: c·∇F = 2F for a form of second degree.
    assert float(jnp.sum(c * jax.grad(energy)(c))) == pytest.approx(2 * float(energy(c)), rel=1e-12)


@pytest.mark.parametrize("ellipticity", [0.0, -0.6])
def test_near_a_given_pulse(ellipticity):
    pulse = zt.SineSquared(amplitude=0.03, frequency=0.375, cycles=15, polarization="x",
                           ellipticity=ellipticity)  # fmt: skip
    free = zt.FreeForm.near(pulse, band=BAND)
    t = np.linspace(0.0, float(pulse.duration), 999)
    # The band has the pulse's own frequency to 2π/T, and cosines beside it do the rest.
    difference = free.electric_field_xyz(t) - pulse.electric_field_xyz(t)
    assert np.max(np.abs(difference)) < 0.03 * 0.03
    assert free.is_linear == pulse.is_linear
    # As many frequencies as describe the band once: 2π/T apart, but that they must fill it.
    spacing = np.diff(free.frequencies) * float(pulse.duration) / (2 * np.pi)
    np.testing.assert_allclose(spacing, 1, atol=0.5 / len(spacing))


def test_refusals():
    for build, sentence in (
        (lambda: made(np.zeros((3, 7))), r"coefficients: must be real, of shape \(2, K\)"),
        (lambda: made([[1j], [0]]), "coefficients: must be real"),
        (lambda: zt.FreeForm([[1], [0]], band=(0.4, 0.3), duration=9), "band: must rise, but"),
        (lambda: zt.FreeForm([[1], [0]], band=(0.4,), duration=9), "band: must be two frequencies"),
        (lambda: zt.FreeForm([[1], [0]], band=(0, 1), duration=9), "band: must be positive"),
        (lambda: made(polarization=(0, 0, 0)), "polarization: must have a direction, but is zero"),
    ):
        with pytest.raises(InputError, match=sentence):
            build()


def test_bicircular_light_has_three_lobes():
    """ω right-handed and 2ω left-handed: a third of a period later E is turned by 120°."""
    ramps = {"ramp_cycles": 2, "polarization": "x", "phase_origin": "start"}
    red = zt.Trapezoid(amplitude=0.05, frequency=0.1, plateau_cycles=4, ellipticity=1, **ramps)
    ramps["ramp_cycles"] = 4
    blue = zt.Trapezoid(amplitude=0.03, frequency=0.2, plateau_cycles=8, ellipticity=-1, **ramps)
    light, period = red + blue, 2 * np.pi / 0.1
    t = np.linspace(2.5 * period, 4.5 * period, 99)
    now, later = light.electric_field_xyz(t), light.electric_field_xyz(t + period / 3)
    angle = 2 * np.pi / 3
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0],
                     [0, 0, 1]])  # fmt: skip
    np.testing.assert_allclose(later, now @ turn.T, atol=1e-14)
    assert not light.is_linear


def test_a_sum_keeps_the_delays_of_its_pulses():
    pump = zt.SineSquared(amplitude=0.05, frequency=0.3, cycles=4, polarization="x")
    probe = zt.SineSquared(amplitude=0.02, frequency=0.9, cycles=4, start="5 fs", ellipticity=0.5)
    both = pump + probe
    assert float(both.duration) == pytest.approx(float(probe.duration))
    alone = float(pump.duration) + np.array([-1.0, 200.0])
    np.testing.assert_allclose(
        both.electric_field_xyz(alone),
        pump.electric_field_xyz(alone) + probe.electric_field_xyz(alone),
        atol=1e-16,
    )
    assert "from 5 fs on" in repr(both) and "from" not in repr(pump).replace("from z", "")


@pytest.mark.parametrize(
    ("ellipticity", "words"),
    [
        (1.0, "0.03536 a.u. on the major axis, turning from x to y, right-handed about z"),
        (-0.5, "0.04472 a.u. on the major axis, turning from x to -y, left-handed about z"),
    ],
)
def test_printed_light_tells_its_sense_and_its_peak(ellipticity, words):
    pulse = zt.SineSquared(amplitude=0.05, frequency=0.3, cycles=8, ellipticity=ellipticity,
                           polarization="x")  # fmt: skip
    assert words in repr(pulse)
    t = np.linspace(0.0, float(pulse.duration), 20001)
    E = np.asarray(pulse.electric_field_xyz(t))
    assert np.max(np.abs(E[:, 0])) == pytest.approx(float(words.split()[0]), rel=2e-3)
    # The angle of E grows where it turns from x to y.
    angle = np.unwrap(np.arctan2(E[5000:15000, 1], E[5000:15000, 0]))
    assert np.sign(angle[-1] - angle[0]) == np.sign(ellipticity)


def test_a_compiled_program_serves_all_coefficients():
    count = []

    @eqx.filter_jit
    def field(pulse):
        count.append(1)
        return pulse.electric_field(3.0)

    field(made()), field(made(2 * COEFFICIENTS))
    assert len(count) == 1


def test_a_band_that_misses_the_pulse_is_told_of():
    pulse = zt.SineSquared(amplitude=0.03, frequency=0.375, cycles=15)
    with pytest.warns(UserWarning, match=r"the free form misses \d+ % of ∫.A.² dt of the pulse"):
        zt.FreeForm.near(pulse, band=(0.6, 0.8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zt.FreeForm.near(pulse, band=BAND)


def test_rounding_of_an_axis_turns_no_plane():
    """cos 90° is 6e-17: such light turns in the xy plane still."""
    near = [np.cos(0.0), 0.0, np.cos(np.pi / 2)]
    made = [
        zt.SineSquared(amplitude=0.1, frequency=0.4, cycles=2, ellipticity=1, polarization=axis)
        for axis in (near, "x")
    ]
    assert made[0].polarization == (1.0, 0.0, 0.0)
    np.testing.assert_array_equal(*(p.electric_field_xyz(np.array([3.0, 9.0])) for p in made))
    tilted = zt.SineSquared(
        amplitude=0.1, frequency=0.4, cycles=2, ellipticity=1, polarization=[1, 0, 1e-6]
    )
    assert tilted.polarization is not None and tilted.polarization[2] == pytest.approx(1e-6)
