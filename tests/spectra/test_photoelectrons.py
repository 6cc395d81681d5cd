"""Photoelectrons in the one-photon limit, where everything is known, and of a short-range atom."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
from scipy.special import jv, spherical_jn, yv

import zitter as zt
from systems import hydrogen
from zitter import spectra
from zitter.spectra.continuum import wkb_wave_number
from zitter.spectra.directions import harmonics

ATOM = (zt.Kinetic(), zt.Coulomb(Z=1))
RADIAL = zt.RadialBSplines(120, 7, 90.0, "graded", first=0.4, grading=8.0)
BASIS = zt.SphericalBasis(RADIAL, 2)
PULSE = zt.SineSquared(cycles=8, frequency=0.9, intensity="1e11 W/cm^2")
ENERGIES = np.array([0.3, 0.4, 0.45])


@pytest.fixture(scope="module")
def atom():
    return zt.discretize(zt.Model(ATOM), BASIS)


@pytest.fixture(scope="module")
def states(atom):
    return zt.eigenbasis(atom, energy_max=15.0)


def ionized(states, gauge):
    H = zt.discretize(zt.Model([zt.FieldFree(), gauge(PULSE)]), states)
    method = zt.Taylor(tol=1e-12, scheme=zt.CommutatorFree4())
    end = float(PULSE.duration)
    return zt.evolve(H, states.state(0), (0.0, end), 0.1, method, save_every=10**6).final


@pytest.fixture(scope="module")
def final(states):
    return ionized(states, zt.VelocityGauge)


def test_yield_is_cross_section_times_fluence(states, final):
    energies = np.linspace(0.01, 1.5, 600)
    expected = np.trapezoid(hydrogen.one_photon_density(PULSE, energies), energies)
    # Depletion and two photons change it by about the yield itself, 4e-5.
    assert spectra.ionization_yield(states, final) == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize(
    ("factor", "energy", "sentence"),
    [
        (np.nan, 1.0, "psi: must be finite"),
        (0.0, 1.0, "psi: must not vanish"),
        (1.0, 1e300, "energies: must be at most .* hartree in a box of"),
    ],
)
def test_states_and_energies_without_a_spectrum_are_refused(atom, factor, energy, sentence):
    psi = factor * zt.eigenstates(atom, 1).states[0]
    with pytest.raises(zt.InputError, match=sentence):
        spectra.photoelectron_spectrum(atom, psi, [energy])


def test_gauges_agree(states, final):
    length = ionized(states, zt.LengthGauge)
    yields = [spectra.ionization_yield(states, psi) for psi in (length, final)]
    assert yields[0] == pytest.approx(yields[1], rel=1e-6)


def test_spectrum_from_the_density_of_states(states, final):
    levels = np.asarray(states.energies[1])
    inside = levels[(levels > 0.25) & (levels < 0.55)]
    pes = spectra.photoelectron_spectrum(states, final, inside)
    # At the box's own energies: the spacing's curvature costs about (ΔE/E)²/6 = 1e-3.
    np.testing.assert_allclose(pes.total, hydrogen.one_photon_density(PULSE, inside), rtol=2e-3)
    assert pes.per_l[1].sum() == pytest.approx(pes.total.sum(), rel=1e-4)
    whole = spectra.photoelectron_spectrum(states, final)
    assert whole.probability == pytest.approx(spectra.ionization_yield(states, final), rel=0.02)


def test_amplitudes_at_any_energy(atom, states, final):
    psi = states.on_parent(final)
    found, phases = spectra.amplitudes(atom, psi, ENERGIES)
    expected = hydrogen.one_photon_density(PULSE, ENERGIES)
    np.testing.assert_allclose(np.abs(found[1]) ** 2, expected, rtol=2e-4)
    # Hydrogen has no short-range part: δ_l = 0.
    for row, l in zip(phases, BASIS.l, strict=True):
        np.testing.assert_allclose(row, spectra.coulomb_phase(l, ENERGIES), atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*of the free part of psi")  # shrunk, it has norm 1/√2
def test_the_charge_is_that_of_the_potential(final, states):
    """He⁺ is hydrogen on a smaller scale: P_E(r) of Z = 2 at E is P of Z = 1 at (2r, E/4)."""
    small = zt.RadialBSplines(120, 7, 45.0, "graded", first=0.2, grading=4.0)
    helium = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=2)]), zt.SphericalBasis(small, 2))
    hydrogenic = zt.discretize(zt.Model(ATOM), BASIS)
    psi = states.on_parent(final)
    one, phases = spectra.amplitudes(hydrogenic, psi, ENERGIES)
    # P_4E(r) = P_E(2r)/√2 for δ(E − E′), and ∫dr on the shrunk splines is half of that before.
    two, turned = spectra.amplitudes(helium, psi, 4 * ENERGIES)
    np.testing.assert_allclose(two, one / 2**1.5, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(turned, phases, atol=1e-9)
    chosen, _ = spectra.amplitudes(helium, psi, 4 * ENERGIES, charge=1.0)
    assert np.max(np.abs(chosen - two)) > 1e-4 * np.max(np.abs(two))


GAMMA = 0.035  # above the level spacing (0.03) and below the width of the line (0.1)


def window(x, order, gamma=GAMMA):
    """w(x) = γ^{2ⁿ}/(x^{2ⁿ} + γ^{2ⁿ}), normalized: ∫w dx = 2γ (π/2ⁿ)/sin(π/2ⁿ)."""
    poles = 2**order
    area = 2 * gamma * (np.pi / poles) / np.sin(np.pi / poles)
    return 1 / ((x / gamma) ** poles + 1) / area


@pytest.mark.filterwarnings("ignore:width")
@pytest.mark.parametrize("order", [1, 3])
def test_window_operator_is_a_sum_over_eigenstates(order, atom, states, final):
    energies = np.linspace(-0.6, 0.9, 7)
    pes = spectra.window_spectrum(atom, states.on_parent(final), energies, GAMMA, order)
    populations = np.abs(np.asarray(final)) ** 2
    shapes = window(energies - np.asarray(states.energies)[..., None], order)
    expected = np.einsum("ln,lne->le", populations, shapes)
    # The banded solves keep about ten digits of the states that dominate.
    np.testing.assert_allclose(pes.per_l, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.filterwarnings("ignore:width")
def test_window_operator_counts_every_electron(atom, states, final):
    psi = states.on_parent(final)
    # Sums over E converge like e^{−2π γ sin(π/8)/ΔE} = 4e-9 for ΔE = γ/8; the tails fall as E⁻⁷.
    energies = np.arange(-1.0, 2.0, GAMMA / 8)
    every = spectra.window_spectrum(atom, psi, energies, GAMMA)
    assert every.probability == pytest.approx(1.0, abs=1e-7)
    free = energies > 0.1
    electrons = np.trapezoid(every.total[free], energies[free])
    # Nothing lies between the Rydberg states and the line, whose wings hold 1e-3 of it below 0.1.
    assert electrons == pytest.approx(spectra.ionization_yield(states, final), rel=2e-3)


def test_window_operator_against_the_exact_spectrum(atom, states, final):
    """The p electrons under a Lorentzian: σ(ω) × fluence folded with it."""
    gamma, centers = 0.06, np.array([0.3, 0.4, 0.5])
    pes = spectra.window_spectrum(atom, states.on_parent(final), centers, gamma, order=1)
    energies = np.linspace(0.005, 2.0, 2000)
    exact = hydrogen.one_photon_density(PULSE, energies)
    folded = [np.trapezoid(window(energies - c, 1, gamma) * exact, energies) for c in centers]
    # Levels ΔE = 0.03 apart are smoothed to e^{−2πγ/ΔE} = 4e-6; depletion takes 4e-5.
    np.testing.assert_allclose(pes.per_l[1], folded, rtol=1e-3)


def test_angles(atom, states, final):
    psi = states.on_parent(final)
    angular = spectra.angular_spectrum(atom, psi, ENERGIES)
    # One photon from an s state: dP/dΩ ∝ cos²θ, β₂ = 2; other l enter with 1e-4.
    np.testing.assert_allclose(angular.asymmetry(), 2.0, atol=2e-3)
    total = 2 * np.pi * np.trapezoid(angular.density * np.sin(angular.angles), angular.angles)
    np.testing.assert_allclose(total, hydrogen.one_photon_density(PULSE, ENERGIES), rtol=1e-3)
    k = np.sqrt(2 * ENERGIES)[:, None]
    np.testing.assert_allclose(angular.momentum_density * k, angular.density, rtol=1e-14)


def test_a_packet_goes_where_its_momentum_points():
    """Without a potential d³P/dk³ = |ψ(k)|², a Gaussian around k₀ along z: the phases (−i)^l are
    those of e^{ikz} = Σ i^l √(4π(2l+1)) j_l(kr) Y_l0."""
    width, k0, lmax = 1.5, 1.0, 14
    radial = zt.RadialBSplines(60, 7, 30.0)
    basis = zt.SphericalBasis(radial, lmax)
    free = zt.discretize(zt.Model([zt.Kinetic()]), basis)
    r = np.linspace(0.01, 29.99, 900)
    gauss = r * np.exp(-((r / (2 * width)) ** 2)) / (2 * np.pi * width**2) ** 0.75
    table, rows = radial.evaluate(r), []
    for l in range(lmax + 1):
        wave = 1j**l * np.sqrt(4 * np.pi * (2 * l + 1)) * spherical_jn(l, k0 * r) * gauss
        rows.append(np.linalg.lstsq(table, wave, rcond=None)[0])
    angles, energies = np.array([0.0, 1.0, np.pi]), np.array([0.3, 0.5])
    found = spectra.angular_spectrum(free, np.stack(rows), energies, angles).momentum_density
    k2 = 2 * energies[:, None]
    apart = k2 + k0**2 - 2 * k0 * np.sqrt(k2) * np.cos(angles)  # (k − k₀)²
    expected = (2 * width**2 / np.pi) ** 1.5 * np.exp(-2 * width**2 * apart)
    # Splines half a bohr apart.
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.max(expected))


def test_bound_populations(states, final):
    l, energies, populations = spectra.bound_populations(states, final)
    assert (l[0], energies[0]) == (0, pytest.approx(-0.5, abs=1e-8))
    assert populations.sum() + spectra.ionization_yield(states, final) == pytest.approx(1.0)
    assert energies.max() < 0


def test_flux_of_a_packet_that_light_carries_along():
    """ψ(r, t) = g(r − α(t), t) with a free Gaussian g and α = ∫A dt: whatever A is, what passes a
    sphere has the momenta of g, d²P/dE dΩ = k (s²/π)^{3/2} e^{−s²k²}.
    """
    radius, s, l_max = 8.0, 0.7, 12
    basis = zt.SphericalBasis(zt.RadialBSplines(12, 7, 20.0, "graded", first=0.5), l_max)
    pulse = zt.SineSquared(cycles=2, frequency=0.6, intensity="3e14 W/cm^2")
    times = np.linspace(0.0, 400.0, 16001)
    potential = np.asarray(pulse.vector_potential(times))
    path = scipy.integrate.cumulative_trapezoid(potential, times, initial=0.0)
    assert np.max(np.abs(path)) > 0.3
    x, w = np.polynomial.legendre.leggauss(32)
    spread = s**2 + 1j * times[:, None]
    distance = radius**2 - 2 * radius * path[:, None] * x + path[:, None] ** 2
    psi = (s**2 / np.pi) ** 0.75 * spread**-1.5 * np.exp(-distance / (2 * spread))
    slope = psi - radius * (radius - path[:, None] * x) / spread * psi
    vectors = np.stack([np.sqrt(1 - x**2), np.zeros(32), x], axis=1)
    onto = 2 * np.pi * (w * harmonics([(l, 0) for l in range(l_max + 1)], vectors)).T
    surface = np.stack([radius * psi @ onto, slope @ onto], axis=-1)
    made = SimpleNamespace(
        observables={"surface": surface}, times_of=lambda name: times, info={"surface_radius": 8.0}
    )
    energies, angles = np.array([0.8, 1.5, 2.5]), np.linspace(0, np.pi, 7)
    found = spectra.flux_spectrum(made, basis, pulse, radius, energies, angles)
    k = np.sqrt(2 * energies)
    exact = k * (s**2 / np.pi) ** 1.5 * np.exp(-(s**2) * k**2)
    np.testing.assert_allclose(
        found.density, np.outer(exact, np.ones(7)), rtol=2e-3
    )  # what passes later


@pytest.mark.slow
def test_flux_through_a_sphere_gives_the_same_spectrum():
    # A Yukawa atom: no Coulomb tail, so t-SURFF and projection are both exact.
    splines = zt.RadialBSplines(70, 7, 70.0, "graded", first=0.5, grading=8.0)
    basis = zt.SphericalBasis(splines, 2)
    pulse = zt.SineSquared(cycles=3, frequency=1.1, intensity="1e13 W/cm^2")
    terms = [zt.Kinetic(), zt.Potential(lambda r: -1.9 * np.exp(-r) / r), zt.VelocityGauge(pulse)]
    H = zt.discretize(zt.Model(terms), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    run = zt.evolve(
        H, ground, (0.0, 60.0), 0.05, zt.CrankNicolson(1e-9), [zt.Surface(12.0)], save_every=4
    )
    during = zt.evolve(
        H, ground, (0.0, float(pulse.duration)), 0.05, zt.CrankNicolson(1e-9), save_every=10**6
    )
    energies, angles = np.array([0.5, 0.65]), np.linspace(0, np.pi, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flux = spectra.flux_spectrum(run, basis, pulse, 12.0, energies, angles)
    exact = spectra.angular_spectrum(H.static, during.final, energies, angles)
    # Slow electrons that have not passed 12 bohr by t = 60 leave about 1 %.
    forward = [0, 1, 3, 4]  # nothing goes out at 90 degrees
    np.testing.assert_allclose(flux.density[:, forward], exact.density[:, forward], rtol=0.02)
    with pytest.raises(zt.InputError, match="save_every: must record the surface at least every"):
        spectra.flux_spectrum(run, basis, pulse, 12.0, [20.0])
    with pytest.raises(zt.InputError, match="radius: must be that of the Surface, 12, but is 10"):
        spectra.flux_spectrum(run, basis, pulse, 10.0, energies)
    with pytest.raises(zt.InputError, match="energies: must be positive"):
        spectra.flux_spectrum(run, basis, pulse, 12.0, [-0.1, 0.5])
    # 17.14 + 2 · 12/0.2
    with pytest.warns(spectra.ConvergenceWarning, match=r"ends at t = 60, .* run on to t = 137\.1"):
        spectra.flux_spectrum(run, basis, pulse, 12.0, [0.02])


@pytest.mark.filterwarnings("ignore:the run ends", "ignore:plane waves beyond")
def test_flux_knows_the_gauge_of_a_file(atom, states, tmp_path):
    """ψ_V = e^{−iA·r}ψ_L: of one run, in length gauge or said to be in velocity gauge."""
    H = zt.discretize(zt.Model([*ATOM, zt.LengthGauge(PULSE)]), BASIS)
    psi = states.on_parent(states.state(0))
    run = zt.evolve(H, psi, (0.0, 2.0), 0.1, observables=[zt.Surface(12.0)])
    run.save(tmp_path / "run.h5")
    asked = (BASIS, PULSE, 12.0, ENERGIES, [0.3, 1.0])
    here = spectra.flux_spectrum(run, *asked).density
    np.testing.assert_array_equal(
        spectra.flux_spectrum(zt.load(tmp_path / "run.h5"), *asked).density, here
    )
    run.info["surface_gauges"] = ["velocity"]
    other = spectra.flux_spectrum(run, *asked).density
    assert np.max(np.abs(other / here - 1)) > 1e-4  # A is 2e-3 here


@pytest.mark.parametrize("l", [0, 1, 2])
def test_the_wkb_form_is_of_second_order(l):
    """At E = 0 beside a charge u = √r C(√8r) with Bessel's C of order 2l + 1: φ′ = 1/(πM²) of
    M² = r(J² + Y²). Orders beyond the second leave 1/r², the second alone is 0.05/r."""
    order, h = 2 * l + 1, 1e-3

    def exact(r):
        x = np.sqrt(8 * r)
        return 1 / (np.pi * r * (jv(order, x) ** 2 + yv(order, x) ** 2))

    for r in (50.0, 100.0, 200.0):
        found, slope = wkb_wave_number(r, l, 0.0, 1.0)
        first = np.sqrt(2 / r - l * (l + 1) / r**2)
        assert found == pytest.approx(exact(r), rel=0.01 / r**2)
        assert abs(first / exact(r) - 1) > 0.03 / r
        expected = (exact(r + h) - exact(r - h)) / (2 * h * exact(r))
        assert slope == pytest.approx(expected, rel=0.05 / r**2)


def test_warnings_say_the_numbers(atom, states, final):
    with pytest.warns(spectra.ConvergenceWarning, match=r"lmax = 2 is too small: the last l holds"):
        spectra.check_lmax(states, final, limit=1e-15)
    # ΔE = π √1.4/90; 4 sin(π/8) e^{−2πγ sin(π/8)/ΔE} = 0.02 for γ = 1.81 ΔE.
    sentence = r"width = 0\.02 is too small: at 0\.7 hartree .* are 0\.041 apart; take 0\.075 or"
    with pytest.warns(spectra.ConvergenceWarning, match=sentence):
        spectra.window_spectrum(atom, states.on_parent(final), [0.5, 0.7], 0.02)
    with pytest.warns(
        spectra.ConvergenceWarning, match=r"rmax = 90 bohr is too small: an electron"
    ):
        spectra.check_box(states, PULSE, "100 eV")
    assert spectra.check_box(states, PULSE, 0.5) == pytest.approx(float(PULSE.duration))


def test_a_single_l_is_the_last_one():
    """Nothing watches its edge during a run, but the check still tells what it holds."""
    basis = zt.SphericalBasis(zt.RadialBSplines(30, 5, 20.0), 0)
    psi = basis.normalize(np.ones(basis.shape))
    with pytest.warns(spectra.ConvergenceWarning, match=r"lmax = 0 is too small: the last l holds"):
        assert spectra.check_lmax(basis, psi) == pytest.approx(1.0, rel=1e-12)


def test_refusals(atom, states, final):
    with pytest.raises(zt.InputError, match="psi: must have the shape of the basis"):
        spectra.ionization_yield(states, np.zeros((2, 2)))
    with pytest.raises(zt.InputError, match=r"must be an EigenBasis, but is a Hamiltonian$"):
        spectra.ionization_yield(atom, final)
    with pytest.raises(zt.InputError, match="energies: must be given for an atom on splines"):
        spectra.photoelectron_spectrum(atom, states.on_parent(final))
    with pytest.raises(zt.InputError, match="energies: must be positive"):
        spectra.angular_spectrum(atom, states.on_parent(final), [-0.1])
    with pytest.raises(zt.InputError, match="over the centrifugal barrier of l = 30"):
        wkb_wave_number(20.0, 30, 0.1, 1.0)
