"""iSURF: the flux through a sphere after a run, against projections and against running on."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import spherical_jn

import zitter as zt
from zitter import spectra
from zitter.spectra.coulomb_waves import coulomb_waves
from zitter.spectra.flux import _weights

COULOMB, YUKAWA = zt.Coulomb(Z=1), zt.Potential(lambda r: -1.9 * np.exp(-r) / r)
TURNED = zt.RadialBSplines(
    80, 7, 55.0, "graded", first=0.4, grading=6.0, scaling=zt.ExteriorScaling(32.0, 0.6)
)
PLAIN = zt.RadialBSplines(120, 7, 100.0, "graded", first=0.4, grading=6.0)
ENERGIES = np.array([0.06, 0.2, 0.5, 0.9])
RADIUS, NEAR = 28.0, 12.0


def atom(potential, radial, lmax=2, m="all", extra=()):
    model = zt.Model([zt.Kinetic(), potential, *extra])
    return zt.discretize(model, zt.SphericalBasis(radial, lmax, m=m))


def packet(basis):
    """The same state on any splines, some s, p and d within 30 bohr, by least squares."""
    radial = basis.radial
    r = np.linspace(0.02, radial.rmax, 1500)
    table = radial.evaluate(r)
    rows = []
    for i, (l, m) in enumerate(basis.channels):
        width = 0.7 + 0.05 * i
        wave = r ** (l + 1) * np.exp(-width * r) * np.exp(1j * 0.2 * m * r)
        rows.append(np.linalg.lstsq(table, (1 + 0.4 * i) * wave, rcond=None)[0])
    psi = jnp.asarray(np.stack(rows))
    return psi / jnp.sqrt(jnp.real(basis.inner(psi, psi)))


def test_coulomb_waves():
    """η = 0 is ρj_l(ρ); numbers of mpmath 1.3 (30 digits) for Z = 1: (l, k, r) → F, dF/dρ."""
    rho = np.array([0.3, 4.0, 60.0])
    F, slope = coulomb_waves(40, 0.0, rho)
    l = np.arange(41)[:, None]
    np.testing.assert_allclose(F, rho * spherical_jn(l, rho), rtol=1e-11, atol=1e-14)
    expected = spherical_jn(l, rho) + rho * spherical_jn(l, rho, derivative=True)
    np.testing.assert_allclose(slope, expected, rtol=1e-11, atol=1e-14)
    known = {
        (0, 0.15, 60.0): (-0.7868513054025, -0.2119999876565),
        (3, 0.6, 30.0): (-0.9418786487368, 0.2289352008119),
        (40, 1.2, 30.0): (0.2290608184927, 0.1218034631448),
    }
    for (l, k, r), (value, derivative) in known.items():
        F, slope = coulomb_waves(l, -1 / k, k * r)
        assert F[l] == pytest.approx(value, rel=1e-10)
        assert slope[l] == pytest.approx(derivative, rel=1e-10)


def test_with_coulomb_waves_it_is_the_projection():
    """Bound states, and what lies beyond the surface already, included."""
    H, box = atom(COULOMB, TURNED), atom(COULOMB, PLAIN)
    psi = packet(box.basis)
    found, phases = spectra.surface_amplitudes(H, packet(H.basis), NEAR, ENERGIES)
    exact, turned = spectra.amplitudes(box, psi, ENERGIES)
    scale = np.max(np.abs(exact), axis=0)
    # Splines of the two boxes and the amplitudes near rmax leave 2e-5.
    off = np.abs(found * np.exp(1j * phases) - exact * np.exp(1j * turned)) / scale
    assert np.max(off) < 1e-4
    asked = (ENERGIES, [0.4, 1.3])
    where = {"azimuth": [0.2, 2.0]}
    flux = spectra.angular_spectrum(H, packet(H.basis), *asked, **where, radius=NEAR)
    whole = spectra.angular_spectrum(box, psi, *asked, **where)
    np.testing.assert_allclose(flux.density, whole.density, rtol=1e-4, atol=1e-7)


def test_partial_waves_behind_their_barrier():
    """l = 20 at 0.03 hartree turns back at 84 bohr: a box of 60 has its wave all the same."""
    energies = np.array([0.03, 0.06, 0.2])
    found = []
    for radial in (
        zt.RadialBSplines(60, 7, 60.0, "graded", first=0.8, grading=10.0),
        zt.RadialBSplines(200, 7, 220.0, "graded", first=0.8, grading=10.0),
    ):
        H = atom(COULOMB, radial, 20, 20)
        r = np.linspace(0.02, radial.rmax, 2000)
        wave = (r / 21) ** 21 * np.exp(21 - r)
        psi = np.linalg.lstsq(radial.evaluate(r), wave, rcond=None)[0][None]
        found.append(spectra.amplitudes(H, psi, energies))
    (small, phases), (large, turned) = found
    assert np.abs(large[0, 0]) < 1e-2 * np.abs(large[0, 2])
    np.testing.assert_allclose(small, large, rtol=1e-3)
    np.testing.assert_allclose(phases, turned, atol=1e-3)


def test_short_ranged_atoms_are_the_same_with_plane_waves():
    """δ_l of the potential is in the flux, not in the waves: moduli and phases agree."""
    H, box = atom(YUKAWA, TURNED), atom(YUKAWA, PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, phases = spectra.surface_amplitudes(
            H, packet(H.basis), NEAR, ENERGIES, waves="plane"
        )
    exact, turned = spectra.amplitudes(box, packet(box.basis), ENERGIES)
    assert np.max(np.abs(turned - phases)) > 0.1
    scale = np.max(np.abs(exact), axis=0)
    # −1.9e^{−12}/12 beyond the surface is 1e-6; splines as above.
    off = np.abs(found * np.exp(1j * phases) - exact * np.exp(1j * turned)) / scale
    assert np.max(off) < 1e-4


def test_plane_waves_say_what_they_cost():
    H, box = atom(COULOMB, TURNED), atom(COULOMB, PLAIN)
    energies = np.array([0.2, 0.5, 0.9])
    with pytest.warns(
        spectra.ConvergenceWarning,
        match=r"beyond 28 bohr leave out the charge 1: at 0\.2 hartree .* by about 9% \(Z/k²R\)",
    ):
        found = spectra.angular_spectrum(
            H, packet(H.basis), energies, [0.4, 1.3], 0.5, radius=RADIUS, waves="plane"
        )
    exact = spectra.angular_spectrum(box, packet(box.basis), energies, [0.4, 1.3], 0.5)
    np.testing.assert_allclose(found.wave_error, 1 / (2 * energies * RADIUS))
    off = np.abs(found.density / exact.density - 1)
    # Of either sign and of the size it says, within a factor of three.
    assert np.all(off < 3 * found.wave_error[:, None])
    assert np.max(off) > 0.01


def light(ellipticity):
    return zt.SineSquared(
        cycles=2, frequency=1.1, intensity="1e13 W/cm^2", ellipticity=ellipticity,
        polarization="x" if ellipticity else "z",
    )  # fmt: skip


def ionized(gauge, pulse, radial, end, extra=()):
    """(H, the run that recorded a Surface at 12 bohr) of the short-range atom."""
    m = 0 if pulse.is_linear else "all"
    H = atom(YUKAWA, radial, m=m, extra=[gauge(pulse), *extra])
    bound = zt.eigenstates(atom(YUKAWA, PLAIN, 0, 0).static, 1)
    r = np.linspace(0.01, radial.rmax, 900)
    wave = PLAIN.evaluate(r) @ np.asarray(bound.states[0][0])
    psi = np.zeros(H.basis.shape, complex)
    psi[0] = np.linalg.lstsq(radial.evaluate(r), wave, rcond=None)[0]
    method = zt.CrankNicolson(1e-10)
    return H, zt.evolve(
        H, jnp.asarray(psi), (0.0, end), 0.05, method, [zt.Surface(12.0)], save_every=2
    )


SHORT = zt.RadialBSplines(
    50, 7, 30.0, "graded", first=0.4, grading=6.0, scaling=zt.ExteriorScaling(14.0, 0.6)
)


@pytest.mark.slow
@pytest.mark.parametrize("ellipticity", [0.0, 0.8])
def test_finish_is_a_long_flight_is_the_projection(ellipticity):
    pulse = light(ellipticity)
    end = float(pulse.duration)
    energies = np.array([0.4, 0.65])
    asked = {"angles": np.linspace(0, 2 * np.pi, 8), "plane": "xy" if ellipticity else "zx"}
    H, whole = ionized(zt.VelocityGauge, pulse, PLAIN, end)
    exact = spectra.angular_spectrum(H.static, whole.final, energies, **asked).density
    H, run = ionized(zt.VelocityGauge, pulse, SHORT, end)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = spectra.flux_spectrum(run, H.basis, pulse, 12.0, energies, **asked, finish=H)
    atol = 1e-3 * np.max(exact)
    np.testing.assert_allclose(found.density, exact, rtol=1e-3, atol=0.1 * atol)
    # Without the finish all that passes after the pulse is missing.
    with pytest.warns(spectra.ConvergenceWarning, match="the run ends at"):
        early = spectra.flux_spectrum(run, H.basis, pulse, 12.0, energies, **asked)
    assert np.max(np.abs(early.density - exact)) > 0.5 * np.max(exact)
    if ellipticity == 0:
        H, run = ionized(zt.VelocityGauge, pulse, SHORT, 500.0)
        flight = spectra.flux_spectrum(run, H.basis, pulse, 12.0, energies, **asked)
        np.testing.assert_allclose(flight.density, exact, rtol=1e-3, atol=0.1 * atol)


@pytest.mark.slow
def test_finish_of_a_run_in_length_gauge():
    pulse = light(0.8)
    end = float(pulse.duration)
    energies, asked = np.array([0.4, 0.65]), {"angles": np.linspace(0, 6, 7), "plane": "xy"}
    H, whole = ionized(zt.VelocityGauge, pulse, PLAIN, end)
    exact = spectra.angular_spectrum(H.static, whole.final, energies, **asked).density
    box = zt.RadialBSplines(70, 7, 50.0, "graded", first=0.4, grading=6.0)
    H, run = ionized(zt.LengthGauge, pulse, box, end, [zt.ComplexAbsorber(35.0)])
    found = spectra.flux_spectrum(run, H.basis, pulse, 12.0, energies, **asked, finish=H)
    # The absorber reflects 1e-3, and the gauges differ by their steps.
    np.testing.assert_allclose(found.density, exact, rtol=1e-2)


def test_weights_at_an_open_end():
    """∫ e^t dt to h⁶, whether or not the last step is shorter."""
    for last in ([2.1], [2.05]):
        times = np.concatenate([np.arange(0.0, 2.05, 0.1), last])
        start = np.exp(times[0]) * 0.1**2 / 12  # the trapezoids' own error where nothing is done
        found = _weights(times, open_end=True) @ np.exp(times)
        assert found == pytest.approx(np.exp(times[-1]) - 1 - start, abs=3e-6)


def test_refusals():
    psi = packet(atom(YUKAWA, TURNED).basis)
    H = atom(YUKAWA, TURNED)
    with pytest.raises(
        zt.InputError,
        match=r"radius: must lie outside the short-range part of the potential, but at 3 bohr −rV "
        r"is still 0\.\d+ instead of 0",
    ):
        spectra.surface_amplitudes(H, psi, 3.0, ENERGIES)
    with pytest.raises(zt.InputError, match="radius: must lie before the absorber, which begins"):
        spectra.surface_amplitudes(H, psi, 40.0, ENERGIES)
    with pytest.raises(zt.InputError, match="H: must absorb what passes the surface"):
        spectra.surface_amplitudes(atom(YUKAWA, PLAIN), np.zeros((9, 120)), 20.0, ENERGIES)
    masked = atom(YUKAWA, PLAIN, extra=[zt.MaskAbsorber(20.0)])
    with pytest.raises(zt.InputError, match="but has a mask"):
        spectra.surface_amplitudes(masked, np.zeros((9, 120)), 20.0, ENERGIES)
    with pytest.raises(zt.InputError, match="waves: must be one of"):
        spectra.surface_amplitudes(H, psi, RADIUS, ENERGIES, waves="spherical")
    absorbing = atom(YUKAWA, PLAIN, extra=[zt.ComplexAbsorber(50.0)])
    bound = zt.eigenstates(absorbing.static, 1).states[0]
    # Of a free part of 0.3 all was absorbed.
    left = np.sqrt(0.7) * np.asarray(bound)
    for ask in (
        lambda: spectra.angular_spectrum(absorbing, left, ENERGIES),
        lambda: spectra.surface_amplitudes(absorbing, left, 20.0, ENERGIES),
    ):
        with pytest.raises(
            zt.InputError,
            match="psi: must still be in the box, but 100% of its free part was absorbed: flux_",
        ):
            ask()
    # Another Hamiltonian may be asked, which knows of no absorber.
    with pytest.warns(spectra.ConvergenceWarning, match="100.0% of the free part of psi was absor"):
        spectra.angular_spectrum(absorbing.static, left, ENERGIES)


@pytest.mark.slow
def test_what_cannot_be_finished():
    pulse = light(0.8)
    H = atom(YUKAWA, SHORT, extra=[zt.VelocityGauge(pulse)])
    end = float(pulse.duration)

    def ask(last, surface_last=None, finish=H, light=pulse, **info):
        times = np.arange(0.0, (surface_last or last) + 1e-9, 0.1)
        run = SimpleNamespace(
            observables={"surface": np.zeros((len(times), 9, 2), complex)},
            times_of=lambda name: times,
            times=np.array([0.0, times[-1] if surface_last is None else last]),
            final=np.zeros(H.basis.shape, complex),
            info={"surface_radius": 12.0, "surface_gauges": ["velocity"], **info},
        )
        asked = {"angles": [0.0], "plane": "xy", "finish": finish}
        return spectra.flux_spectrum(run, H.basis, light, 12.0, [0.4], **asked)

    assert ask(end + 0.2).density == 0.0
    with pytest.raises(zt.InputError, match=r"finish: must be constant after the run, but H still"):
        ask(0.5 * end)
    # Between two pulses E and A vanish as after the last.
    later = zt.SineSquared(cycles=2, frequency=1.1, amplitude=0.01, start=end + 10.0)
    twice = atom(YUKAWA, SHORT, extra=[zt.VelocityGauge(pulse + later)])
    with pytest.raises(zt.InputError, match=r"finish: must be constant after the run, but H still"):
        ask(end + 0.2, finish=twice)
    with pytest.raises(zt.InputError, match=r"pulse: must be over at the end .* until t = 32\.8"):
        ask(end + 0.2, light=pulse + later)
    with pytest.raises(zt.InputError, match="observables: must hold a Surface recorded at the end"):
        ask(end + 5.0, end + 0.3)
    left = zt.HalfCycle(amplitude=0.01, duration=2.0)
    with pytest.raises(zt.InputError, match="pulse: must be over and leave A = 0 behind"):
        ask(end + 5.0, light=left)
    with pytest.raises(
        zt.InputError, match=r"radius: must lie outside the short-range part .* is still 0\.095"
    ):
        ask(end + 0.2, surface_charge=0.0, surface_charge_inside=0.095)
    with pytest.raises(zt.InputError, match="finish: must be a Hamiltonian"):
        ask(end + 0.2, finish=H.basis)
