"""Each pulse against its published formula, in numbers."""

from __future__ import annotations

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks, units
from zitter.fields import (
    Gaussian,
    HalfCycle,
    SineSquared,
    SineSquaredField,
    Static,
    Tabulated,
    Trapezoid,
    Waveform,
)

E0, OMEGA = 0.05, 0.3
PERIOD = 2 * np.pi / OMEGA
LIGHT = {"amplitude": E0, "frequency": OMEGA}
ROUNDING = 1e-15  # of fields of order 0.05 and potentials of order 0.2


def test_sine_squared_formula():
    pulse = SineSquared(**LIGHT, cycles=5, cep=0.3)
    length = 5 * PERIOD
    assert pulse.duration == pytest.approx(length, rel=1e-15)
    t = np.linspace(0, length, 101)
    envelope = np.sin(np.pi * t / length) ** 2
    expected = -E0 / OMEGA * envelope * np.sin(OMEGA * (t - length / 2) + 0.3)
    np.testing.assert_allclose(pulse.vector_potential(t), expected, atol=ROUNDING)


def test_relativistic_form_is_expressible():
    # A = (E0/ω) sin²(πη/T) sin(ωη + α)
    alpha = 0.7
    pulse = SineSquared(**LIGHT, cycles=3, phase_origin="start", cep=alpha + np.pi)
    eta = np.linspace(0, 3 * PERIOD, 101)
    expected = E0 / OMEGA * np.sin(np.pi * eta / (3 * PERIOD)) ** 2 * np.sin(OMEGA * eta + alpha)
    np.testing.assert_allclose(pulse.vector_potential(eta), expected, atol=ROUNDING)


@pytest.mark.parametrize("cycles", [1, 1.5, 2, 6])
def test_sine_squared_on_the_electric_field(cycles):
    # E = E0 sin²(ωt/2n) sin(ωt)
    pulse = SineSquaredField(**LIGHT, cycles=cycles, cep="-90 deg")
    t = np.linspace(0, cycles * PERIOD, 101)
    expected = E0 * np.sin(OMEGA * t / (2 * cycles)) ** 2 * np.sin(OMEGA * t)
    # Slopes of sinc lose a factor of a few in rounding; t up to 126.
    np.testing.assert_allclose(pulse.electric_field(t), expected, atol=1e-14)


def test_residual_vector_potential():
    # A exact zero at the end but for rounding of sin(nπ), 1e-15, or of its square.
    for pulse in (
        SineSquared(**LIGHT, cycles=2.3, cep=1.0, chirp=1e-3),
        Gaussian(**LIGHT, fwhm=20.0, cep=1.0),
        Trapezoid(**LIGHT, ramp_cycles=1.2, plateau_cycles=3.1, cep=1.0),
        SineSquaredField(**LIGHT, cycles=3, cep=1.0),
    ):
        assert abs(pulse.residual_vector_potential) < 1e-14
    # One cycle of sin² cos has ∫ = E0 ∫ sin²(ωt/2) cos(ωt) = −E0 T/4, so A = E0 T/4.
    single = SineSquaredField(**LIGHT, cycles=1)
    assert single.residual_vector_potential == pytest.approx(E0 * PERIOD / 4, rel=1e-14)


def test_what_is_left_of_light_that_turns_is_a_vector():
    """∫E dt of a single cycle is on e₂ alone where the carrier is odd on e₁."""
    cycle = {"amplitude": E0, "cycles": 1, "frequency": 2 * np.pi / PERIOD, "polarization": "x"}
    turning = SineSquaredField(**cycle, ellipticity=1.0, cep="90 deg")
    assert abs(turning.residual_vector_potential) < 1e-14
    left = np.array([0.0, np.hypot(*turning.residual_vector_potential_xyz[:2]), 0.0])
    np.testing.assert_allclose(np.abs(turning.residual_vector_potential_xyz), left, atol=1e-14)
    assert left[1] == pytest.approx(E0 * PERIOD / 4 / np.sqrt(2), rel=1e-12)
    assert turning.residual_share > 0.1
    # A sum along several axes has no single component, but a share.
    half = HalfCycle(amplitude=E0, duration=30.0, polarization="x")
    other = HalfCycle(amplitude=E0, duration=30.0, polarization="z")
    assert (half + other).residual_share == pytest.approx(1.0)


def test_peak_field_and_derived_quantities():
    pulse = SineSquared(intensity="1e14 W/cm^2", wavelength="800 nm", cycles=20)
    t = np.linspace(0, float(pulse.duration), 20001)
    # E = E0 f cos φ + (E0/ω) f′ sin φ: at the peak f′ = 0 and the samples include t = T/2.
    peak = np.max(np.abs(pulse.electric_field(t)))
    assert units.to_w_per_cm2(peak**2) == pytest.approx(1e14, rel=1e-9)
    # Up[eV] = 9.337e-14 I[W/cm²] λ²[µm²], a textbook formula of four digits.
    up = units.to_ev(pulse.ponderomotive_energy)
    assert up == pytest.approx(9.337e-14 * 1e14 * 0.8**2, rel=2e-4)
    assert pulse.keldysh_parameter(0.5) == pytest.approx(np.sqrt(13.6057 / (2 * up)), rel=1e-5)
    assert pulse.frequency == pytest.approx(0.0569542, rel=1e-5)
    assert "1e+14 W/cm², 800 nm (1.55 eV), 53.37 fs, Up = 5.976 eV" in repr(pulse)


def test_units_at_the_door():
    pulse = Gaussian(amplitude="5 V/nm", frequency="20 eV", fwhm="5 fs", cep="90 deg", start="1 fs")
    assert pulse.amplitude == pytest.approx(5e9 / 5.14220675112e11, rel=1e-12)
    assert pulse.frequency == pytest.approx(20 / 27.211386245981, rel=1e-12)
    assert pulse.carrier.cep == pytest.approx(np.pi / 2, rel=1e-15)
    # Default cutoff: three fwhm on either side of the middle.
    assert units.to_fs(pulse.duration) == pytest.approx(1 + 2 * 3 * 5, rel=1e-12)


def test_gaussian_width_and_smooth_end():
    pulse = Gaussian(**LIGHT, fwhm=40.0)
    u = np.array([0.0, 20.0, 79.9])
    # |A| envelope from two quadratures of the carrier, cep 0 and 90°; intensity is its square.
    quadrature = Gaussian(**LIGHT, fwhm=40.0, cep="90 deg")
    a, b = (p.vector_potential(120.0 + u) for p in (pulse, quadrature))
    intensity = (a**2 + b**2) * (OMEGA / E0) ** 2
    np.testing.assert_allclose(intensity, np.exp(-4 * np.log(2) * (u / 40) ** 2), rtol=1e-13)
    assert intensity[1] == pytest.approx(0.5, rel=1e-13)
    # Patchkovskii-Muller tail at one point between t1 = 80 and t2 = 120.
    v = 80 + 2 / np.pi * 40 * np.tan(np.pi / 2 * (100 - 80) / 40)
    a, b = (p.vector_potential(120.0 - 100.0) for p in (pulse, quadrature))
    expected = np.exp(-4 * np.log(2) * (v / 40) ** 2)
    assert (a**2 + b**2) * (OMEGA / E0) ** 2 == pytest.approx(expected, rel=1e-12)
    assert pulse.vector_potential(0.0) == 0
    assert pulse.vector_potential(240.0) == 0


def test_gaussian_ends_at_times_or_at_multiples_of_its_width():
    times = Gaussian(**LIGHT, fwhm="5 fs", turn_off="12.5 fs", cutoff="20 fs")
    widths = Gaussian(**LIGHT, fwhm="5 fs", turn_off=2.5, cutoff=4.0)
    assert units.to_fs(times.duration) == pytest.approx(40.0, rel=1e-14)
    t = np.linspace(0, float(widths.duration), 101)
    # The same tail to the rounding of t₁ and t₂; there exp(−2 ln 2 · 20 · 4) is the steepest.
    np.testing.assert_allclose(times.vector_potential(t), widths.vector_potential(t), atol=1e-14)
    # Without a unit of its own a text is in atomic units, as everywhere.
    assert Gaussian(**LIGHT, fwhm=60.0, turn_off="70 a.u.", cutoff="95").duration == 190.0
    # A time stays where it is when the width changes, a multiple follows it.
    for cutoff, slope in (("95 a.u.", 0.0), (3.0, 6.0)):
        found = jax.grad(lambda f, c=cutoff: Gaussian(**LIGHT, fwhm=f, cutoff=c).duration)(30.0)
        assert found == pytest.approx(slope, abs=1e-13)


def test_chirp_sets_the_rate_of_the_instantaneous_frequency():
    chirp = 1e-3
    pulse = Trapezoid(**LIGHT, ramp_cycles=1, plateau_cycles=8, chirp=chirp)
    middle = float(pulse.duration) / 2
    # On the plateau A = −(E0/ω) sin φ, so dφ/dt = |E| ω / (E0 |cos φ|) with cos from A itself.
    t = middle + np.linspace(-60, 60, 25)
    sine = np.asarray(-pulse.vector_potential(t) * OMEGA / E0)
    use = np.abs(sine) < 0.9  # near the crests the division is 0/0
    rate = np.abs(pulse.electric_field(t)) * OMEGA / E0 / np.sqrt(1 - sine**2)
    expected = OMEGA + chirp * (t - middle)
    np.testing.assert_allclose(rate[use], expected[use], rtol=1e-12)


def test_trapezoid_ramps():
    for smooth, quarter in ((True, np.sin(np.pi / 8) ** 2), (False, 0.25)):
        # The phase is π/2 at the origin of a four-cycle ramp and again after each whole cycle.
        pulse = Trapezoid(
            **LIGHT, ramp_cycles=4, plateau_cycles=2, smooth=smooth, phase_origin="start",
            cep="90 deg",
        )  # fmt: skip
        t = PERIOD * np.array([1, 2, 4, 5, 6, 8, 9])
        expected = np.array([quarter, 0.5, 1, 1, 1, 0.5, quarter])
        np.testing.assert_allclose(-pulse.vector_potential(t) * OMEGA / E0, expected, rtol=1e-12)
        assert pulse.duration == pytest.approx(10 * PERIOD, rel=1e-15)


def test_half_cycle_area():
    pulse = HalfCycle(amplitude=-E0, duration=30.0, start=2.0)
    t = 2 + np.linspace(0, 30, 31)
    expected = -E0 * np.sin(np.pi * (t - 2) / 30) ** 2
    np.testing.assert_allclose(pulse.electric_field(t), expected, atol=ROUNDING)
    assert pulse.residual_vector_potential == pytest.approx(E0 * 15, rel=1e-14)


def test_static_field():
    field = Static(amplitude=E0, ramp=10.0, duration=50.0)
    t = np.array([0.0, 5.0, 10.0, 30.0, 45.0, 50.0])
    expected = E0 * np.array([0, 0.5, 1, 1, 0.5, 0])
    np.testing.assert_allclose(field.electric_field(t), expected, atol=ROUNDING)
    assert field.residual_vector_potential == pytest.approx(-E0 * 40, rel=1e-14)
    endless = Static(amplitude=E0, ramp=10.0)
    assert endless.duration == np.inf
    assert endless.electric_field(1e9) == pytest.approx(E0, rel=1e-14)
    assert endless.vector_potential(1e6) == pytest.approx(-E0 * (1e6 - 5), rel=1e-14)


def test_circular_light_turns_from_the_first_to_the_second_axis():
    # On the plateau of a circular pulse |A| = E0/(ω√2), and E turns at ω from e1 to e2.
    pulse = Trapezoid(
        **LIGHT, ramp_cycles=1, plateau_cycles=4, ellipticity=1.0, polarization=(1, 0)
    )
    t = 3 * PERIOD + np.linspace(0, PERIOD, 9)
    a, e = pulse.vector_potential_xyz(t), pulse.electric_field_xyz(t)
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), E0 / OMEGA / np.sqrt(2), rtol=1e-13)
    phase = OMEGA * (t - 3 * PERIOD)
    turning = np.stack([np.cos(phase), np.sin(phase), 0 * phase], axis=1) * E0 / np.sqrt(2)
    np.testing.assert_allclose(e, turning, atol=1e-14)
    assert not pulse.is_linear


@pytest.mark.parametrize(
    ("polarization", "first", "second"),
    [
        (None, (0, 0, 1), (1, 0, 0)),
        ("z", (0, 0, 1), (1, 0, 0)),
        ("x", (1, 0, 0), (0, 1, 0)),
        ((2,), (1, 0, 0), (0, 1, 0)),
        ((0, 1), (0, 1, 0), (-1, 0, 0)),
        ((0, 3, 4), (0, 0.6, 0.8), (1, 0, 0)),
    ],
)
def test_axes(polarization, first, second):
    # e1 carries all of A where the phase is 90°, e2 all where it is zero.
    kwargs = {**LIGHT, "ramp_cycles": 1, "plateau_cycles": 2, "polarization": polarization}
    crest = Trapezoid(**kwargs, ellipticity=1.0, cep="-90 deg").vector_potential_xyz(2 * PERIOD)
    node = Trapezoid(**kwargs, ellipticity=1.0).vector_potential_xyz(2 * PERIOD)
    scale = E0 / OMEGA / np.sqrt(2)
    np.testing.assert_allclose(crest / scale, first, atol=1e-14)
    np.testing.assert_allclose(node / scale, second, atol=1e-14)


@pytest.mark.slow
def test_tabulated_reproduces_its_source_at_fourth_order():
    pulse = SineSquared(**LIGHT, cycles=4)
    t = np.linspace(5.0, 75.0, 333)
    errors = []
    for samples in (101, 201):
        times = np.linspace(0, float(pulse.duration), samples)
        table = Tabulated(times, pulse.electric_field(times))
        np.testing.assert_allclose(
            table.electric_field(times), pulse.electric_field(times), atol=1e-14
        )
        errors.append(np.max(np.abs(table.electric_field(t) - pulse.electric_field(t))))
        assert table.duration == pulse.duration
    # Cubic splines converge as h⁴: a factor 16 per halving, 12 to 20 allowing for sampling.
    assert 12 < errors[0] / errors[1] < 20


def test_tabulated_files(tmp_path):
    times = np.linspace(0, 10, 30)
    field = np.sin(times)
    np.savetxt(tmp_path / "pulse.txt", np.stack([times, field], 1), header="t E")
    np.savez(tmp_path / "pulse.npz", times=times, electric_field=field)
    with h5py.File(tmp_path / "pulse.h5", "w") as file:
        file["times"], file["electric_field"] = times, field
    direct = Tabulated(times, field).vector_potential(np.linspace(0, 10, 7))
    for name in ("pulse.txt", "pulse.npz", "pulse.h5"):
        read = Tabulated(file=str(tmp_path / name)).vector_potential(np.linspace(0, 10, 7))
        # savetxt writes 18 digits, so even the text file is exact.
        np.testing.assert_allclose(read, direct, rtol=1e-15)
    whole = (tmp_path / "pulse.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(checks.InputError, match="file: must be a text file of two columns"):
        Tabulated(file=str(tmp_path / "cut.npz"))


@pytest.mark.slow
def test_tabulated_potential_reproduces_its_source_at_fourth_order_and_its_field_at_third():
    pulse = SineSquared(**LIGHT, cycles=4)
    t = np.linspace(5.0, 75.0, 333)
    errors = []
    for samples in (101, 201):
        times = np.linspace(0, float(pulse.duration), samples)
        table = Tabulated(times, vector_potential=pulse.vector_potential(times))
        np.testing.assert_allclose(
            table.vector_potential(times), pulse.vector_potential(times), atol=1e-15
        )
        errors.append([
            np.max(np.abs(table.vector_potential(t) - pulse.vector_potential(t))),
            np.max(np.abs(table.electric_field(t) - pulse.electric_field(t))),
        ])  # fmt: skip
        assert table.duration == pulse.duration
    # 16 and 8 per halving, a quarter more or less allowing for sampling.
    np.testing.assert_allclose(np.divide(*errors), [16, 8], rtol=0.25)


def test_tabulated_potential_from_files(tmp_path):
    times = np.linspace(2, 12, 30)
    potential, field = 0.2 * np.sin(times - 2), np.cos(times)
    np.savetxt(tmp_path / "pulse.txt", np.stack([times, potential], 1), header="t A")
    both = {"times": times, "vector_potential": potential, "electric_field": field}
    np.savez(tmp_path / "pulse.npz", **both)
    with h5py.File(tmp_path / "pulse.h5", "w") as file:
        for name, column in both.items():
            file[name] = column
    t = np.linspace(0, 14, 9)
    direct = Tabulated(times, vector_potential=potential).vector_potential(t)
    for name in ("pulse.txt", "pulse.npz", "pulse.h5"):
        read = Tabulated(file=str(tmp_path / name), quantity="vector_potential")
        np.testing.assert_allclose(read.vector_potential(t), direct, rtol=1e-15)
    np.savez(tmp_path / "alone.npz", times=times, vector_potential=potential)
    with pytest.raises(checks.InputError, match=r"with times and electric_field \(see quantity\)"):
        Tabulated(file=str(tmp_path / "alone.npz"))


T = 8 * PERIOD
FORMULA = "-0.05/0.3 * sin(pi*t/T)**2 * sin(0.3*(t - T/2) + 0.4)".replace("T", repr(T))


def test_waveform_of_a_potential_is_the_pulse_it_writes_down():
    pulse = SineSquared(**LIGHT, cycles=8, cep=0.4, start=3.0)

    def potential(s):
        return -E0 / OMEGA * jnp.sin(jnp.pi * s / T) ** 2 * jnp.sin(OMEGA * (s - T / 2) + 0.4)

    t = np.linspace(0.0, 180.0, 401)
    for given in (potential, FORMULA):
        found = Waveform(given, duration=T, start=3.0, polarization="y")
        # The formulas differ in the order of products: phases up to 25 rad carry 25 · 1e-16.
        for method in ("vector_potential", "electric_field"):
            expected = getattr(pulse, method)(t)
            np.testing.assert_allclose(getattr(found, method)(t), expected, atol=3e-15)
        assert found.duration == pytest.approx(float(pulse.duration), rel=1e-15)
        assert found.polarization == (0.0, 1.0, 0.0)


def test_waveform_of_a_field_is_integrated():
    pulse = SineSquaredField(**LIGHT, cycles=8, cep=0.4)
    t = np.linspace(0, T, 401)
    for given in (
        lambda s: E0 * jnp.sin(jnp.pi * s / T) ** 2 * jnp.cos(OMEGA * s + 0.4),
        f"0.05 * sin(pi*t/{T!r})**2 * cos(0.3*t + 0.4)",
    ):
        found = Waveform(electric_field=given, duration=T)
        # 1e-13 of E0 between the nodes, and its integral over T = 168.
        np.testing.assert_allclose(found.electric_field(t), pulse.electric_field(t), atol=1e-14)
        np.testing.assert_allclose(found.vector_potential(t), pulse.vector_potential(t), atol=1e-12)


def test_waveform_with_kinks_and_jumps():
    ramp = Waveform(electric_field="0.05 * minimum(t/31, 1)", duration=80.0)
    assert ramp.residual_vector_potential == pytest.approx(-0.05 * (15.5 + 49), rel=1e-12)
    t = np.linspace(0, 80, 800)  # 31 is between two of these
    # Around the kink at t = 31 panels end at 80 · 2⁻²⁰ = 8e-5, of a slope of 0.05/31.
    np.testing.assert_allclose(
        ramp.electric_field(t), 0.05 * np.minimum(t / 31, 1), atol=8e-5 * 0.05 / 31
    )
    step = Waveform(electric_field="where(t < 31, 0.05, -0.02)", duration=80.0)
    # Half of such a panel may be taken on the wrong side of the jump.
    assert step.residual_vector_potential == pytest.approx(-1.55 + 0.98, abs=4e-5 * 0.07)
    np.testing.assert_allclose(step.electric_field(t), np.where(t < 31, 0.05, -0.02), atol=1e-15)


def test_waveform_parameters_are_differentiated_and_batched():
    def potential(s, frequency):
        return 0.1 * jnp.sin(jnp.pi * s / 60.0) ** 2 * jnp.sin(frequency * s)

    def field(frequency):
        given = jax.tree_util.Partial(potential, frequency=frequency)
        return Waveform(given, duration=60.0).electric_field(20.0)

    def closed(frequency):
        return Waveform(lambda s: potential(s, frequency), duration=60.0).electric_field(20.0)

    h = 1e-4
    difference = float(field(0.3 + h) - field(0.3 - h)) / (2 * h)
    # h² · 20³/6 of the amplitude
    assert jax.grad(field)(0.3) == pytest.approx(difference, abs=1e-6)
    assert jax.grad(closed)(0.3) == pytest.approx(float(jax.grad(field)(0.3)), rel=1e-13)
    batch = jax.vmap(field)(jnp.array([0.3, 0.4]))
    np.testing.assert_allclose(batch, [field(0.3), field(0.4)], rtol=1e-13)
    # As a leaf of the pulse itself, too.
    pulse = Waveform(jax.tree_util.Partial(potential, frequency=0.3), duration=60.0)
    slopes = jax.grad(lambda p: p.electric_field(20.0))(pulse)
    assert slopes.potential.keywords["frequency"] == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: SineSquared(**LIGHT, cycles=4), "linear along the default axis"),
        (lambda: SineSquared(**LIGHT, cycles=4, polarization="x"), "linear along x"),
        (
            lambda: Gaussian(**LIGHT, fwhm=30, polarization=(3, 0, 4)),
            "linear along (0.6, 0, 0.8)",
        ),
        (
            lambda: Trapezoid(**LIGHT, ramp_cycles=1, plateau_cycles=1, ellipticity=-0.5),
            "ellipticity -0.5, axes z and x",
        ),
        (
            lambda: SineSquaredField(**LIGHT, cycles=4, ellipticity=1, polarization="y"),
            "ellipticity 1, axes y and -x",
        ),
        (lambda: HalfCycle(amplitude=E0, duration=9, polarization=(0, -1)), "linear along -y"),
        (lambda: Static(amplitude=E0, ramp=9, polarization="z"), "linear along z"),
        (lambda: Tabulated([0, 1], [0, 1], polarization="x"), "linear along x"),
        (lambda: Waveform("t", duration=1, polarization="x"), "linear along x"),
        (lambda: 2 * HalfCycle(amplitude=E0, duration=9, polarization="x"), "linear along x"),
    ],
)
def test_a_printed_pulse_tells_its_polarization(build, words):
    assert repr(build()).endswith(words)


def test_a_printed_pulse_tells_where_it_comes_from():
    table = [0.0, 1.0, 2.0]
    assert "3 samples of E" in repr(Tabulated(table, table))
    assert "3 samples of A" in repr(Tabulated(table, vector_potential=table))
    assert "A(t) = 0.1 * t" in repr(Waveform("0.1 *  t", duration=1))
    assert "E(t) = sin," in repr(Waveform(electric_field=jnp.sin, duration=1))
    assert len(repr(Waveform("+".join(["t"] * 99), duration=1))) < 150


def test_gradient_with_respect_to_pulse_parameters():
    def field_at(amplitude, omega, cep):
        pulse = SineSquared(amplitude=amplitude, frequency=omega, cycles=4, cep=cep)
        return pulse.electric_field(30.0)

    arguments = (E0, OMEGA, 0.2)
    gradient = jax.grad(field_at, argnums=(0, 1, 2))(*arguments)
    for i, slope in enumerate(gradient):
        h = 1e-5
        plus, minus = ([a + s * h * (k == i) for k, a in enumerate(arguments)] for s in (1, -1))
        difference = float(field_at(*plus) - field_at(*minus)) / (2 * h)
        # Central differences: h² · third derivative (30³ for ω) ~ 1e-6, relative to order one.
        assert slope == pytest.approx(difference, rel=1e-5)
    batch = jax.vmap(lambda a: field_at(a, OMEGA, 0.2))(jnp.array([1.0, 2.0]) * E0)
    assert batch[1] == pytest.approx(2 * float(batch[0]), rel=1e-15)
    by_intensity = jax.grad(
        lambda i: SineSquared(intensity=i, frequency=OMEGA, cycles=4, cep=0.2).electric_field(30.0)
    )(E0**2)
    # dE/dI = (dE/dE0) / 2E0
    assert by_intensity == pytest.approx(float(gradient[0]) / (2 * E0), rel=1e-13)
