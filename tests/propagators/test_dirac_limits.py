"""The Dirac equation in pulses against Schrödinger, known cross-sections and its mirror image."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter import spectra, units
from zitter.bases import angular

pytestmark = [
    pytest.mark.filterwarnings("ignore:rmax"),
    pytest.mark.filterwarnings("ignore:.*too few for Z"),
]


def ground_state(H, mu: float = 0.5):
    basis = H.basis
    energies, vectors = zt.spinor_states(H.static, -1)
    state = np.zeros(basis.shape, complex)
    state[basis.channel(-1, mu)] = vectors[:, np.searchsorted(energies, -(basis.c**2))]
    return jnp.asarray(state)


@pytest.mark.slow
def test_light_a_hundred_times_faster_gives_schroedinger():
    """c → 100c in dipole approximation: populations agree to 1e-6 with those in length gauge.

    The spin-orbit and mass terms left are of order (Zα/100)² = 5e-9. The light takes 7 % out of the
    ground state, so higher orders of the field enter, in two gauges.
    """
    pulse = {"amplitude": 0.15, "frequency": 0.8, "cycles": 2}
    radial = zt.RadialBSplines(32, 7, 22.0, "graded", first=0.3, grading=6.0)
    along_z = zt.SineSquared(**pulse)
    end = float(along_z.duration)
    schroedinger = zt.discretize(
        zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(along_z)]),
        zt.SphericalBasis(radial, 4),
    )
    start = zt.eigenstates(schroedinger.static, 1).states[0]
    weights = []
    for steps in (800, 1600):
        final = zt.evolve(
            schroedinger, start, (0.0, end), end / steps, zt.AngularSplit(4), save_every=10**9
        ).final
        image = schroedinger.basis.overlap(final)
        survival = jnp.abs(schroedinger.basis.inner(start.astype(complex), final)) ** 2
        weights.append([float(survival), *np.real(np.sum(np.conj(final) * image, axis=1))])
    # Its step is of second order: the error at 1600 steps is a third of the difference.
    exact = np.asarray(weights[1]) + (np.asarray(weights[1]) - np.asarray(weights[0])) / 3

    along_x = zt.SineSquared(**pulse, polarization="x")
    basis = zt.SpinorBasis(radial, 4, c=100 * units.SPEED_OF_LIGHT)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(along_x, 0)]), basis)
    psi = ground_state(H)
    observables = [zt.Populations(psi[None]), zt.KappaPopulations()]
    run = zt.evolve(H, psi, (0.0, end), end / 40, zt.GaussCollocation(3), observables, 10**9)
    survival = run.observables["populations"][-1, 0]
    assert survival == pytest.approx(exact[0], abs=1e-6) and survival < 0.95
    l = angular.orbital(basis.distinct_kappas)
    found = run.observables["kappa_populations"][-1]
    for order in range(3):
        assert found[l == order].sum() == pytest.approx(exact[1 + order], abs=1e-6)


@pytest.fixture(scope="module")
def one_photon():
    """Hydrogen in six weak cycles of ω = 50, with retardation, for two opposite fields."""
    basis = zt.SpinorBasis(zt.RadialBSplines(72, 7, 14.0), 3, mu_max=1.5)
    runs = []
    for cep in (0.0, np.pi):
        pulse = zt.SineSquared(amplitude=5.0, frequency=50.0, cycles=6, cep=cep, polarization="x")
        H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(pulse, 3)]), basis)
        observables = [zt.Momentum(), zt.KappaPopulations()]
        end = float(pulse.duration)
        method = zt.GaussCollocation(3, 1e-10)
        run = zt.evolve(H, ground_state(H), (0.0, end), end / 60, method, observables, 60)
        runs.append((pulse, H, run))
    return runs


@pytest.mark.slow
def test_one_photon_at_fifty_hartree(one_photon):
    """dP/dE = σ(ω)|Ẽ(ω)|²c/(4π²ω), ω = E + ½, with the exact non-relativistic σ of 1s (Stobbe).

    Relativity and retardation change the yield by E/c² = 0.3 % and less.
    """
    pulse, H, run = one_photon[0]
    levels = spectra.spinor_levels(H)
    energies = np.linspace(25.0, 90.0, 131)
    found = spectra.spinor_spectrum(levels, run.final, energies)
    times = np.linspace(0.0, float(pulse.duration), 20001)
    field = np.asarray(pulse.electric_field(times))
    omega = energies + 0.5
    transform = np.trapezoid(np.exp(1j * omega[:, None] * times) * field, times, axis=1)
    expected = cross_section(omega) / omega * H.basis.c / (4 * np.pi**2) * np.abs(transform) ** 2
    total = np.trapezoid(expected, energies)
    assert np.trapezoid(found.total, energies) == pytest.approx(total, rel=0.01)
    peak = energies[np.argmax(found.total)]
    assert peak == pytest.approx(energies[np.argmax(expected)], abs=0.5)
    # One photon makes p waves: κ = 1 (p½) and −2 (p3/2) in the ratio 1 : 2.
    share = dict(zip(found.kappas, found.per_kappa.sum(axis=1) / found.total.sum(), strict=True))
    assert share[1] + share[-2] > 0.9
    assert share[-2] / share[1] == pytest.approx(2, rel=0.02)


@pytest.mark.slow
def test_momentum_of_the_photon(one_photon):
    """Photoelectrons carry (8/5)E/c forward (Sommerfeld), up to Ip/ω and v/c: a few per cent."""
    _, H, run = one_photon[0]
    free = spectra.free_part(spectra.spinor_levels(H), run.final)
    grid = spectra.MomentumGrid.spheres(np.linspace(6.0, 14.0, 81), 12, 8)
    found = spectra.momentum_distribution(H.basis, free, grid)
    energies, spectrum = found.energy_spectrum(H.basis.c)
    mean = np.trapezoid(energies * spectrum, energies) / np.trapezoid(spectrum, energies)
    assert found.mean_along_axis / found.probability == pytest.approx(
        1.6 * mean / H.basis.c, rel=0.05
    )


@pytest.mark.slow
def test_the_opposite_field_is_the_mirror_image(one_photon):
    """A → −A (CEP + π) is a turn by π about z: p_x and p_y change sign, all else stays."""
    (_, _, first), (_, _, second) = one_photon
    one, other = (run.observables["momentum"][-1] for run in (first, second))
    np.testing.assert_allclose(one * [-1, -1, 1], other, rtol=0, atol=1e-9)
    weights = [run.observables["kappa_populations"] for run in (first, second)]
    np.testing.assert_allclose(*weights, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_no_positrons_are_left_behind_a_pulse_that_passes():
    """Virtual pairs, (A/2c)² = 2e-3 at the peak, go back; plane waves end suddenly off z = 0.

    Steps are 100 times longer than 1/2c². Both forms of the light ionize alike: the pulse is near
    its zeros where they differ.
    """
    pulse = zt.SineSquared(
        amplitude=600.0, frequency=50.0, cycles=3, phase_origin="start", polarization="x"
    )
    basis = zt.SpinorBasis(zt.RadialBSplines(40, 7, 9.0), 2)
    found = {}
    for waves in ("plane", "retarded"):
        light = zt.DiracLight(pulse, 2, waves)
        H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), basis)
        delay = 9.0 / basis.c if waves == "retarded" else 0.0
        span = (-delay, float(pulse.duration) + delay)
        dt = (span[1] - span[0]) / 100
        run = zt.evolve(H, ground_state(H), span, dt, zt.GaussCollocation(3), save_every=10)
        found[waves] = spectra.level_populations(spectra.spinor_levels(H), run.final)
    assert found["retarded"].positrons < 1e-11 < 1e-9 < found["plane"].positrons < 1e-6
    assert found["plane"].ionization == pytest.approx(found["retarded"].ionization, rel=2e-3)


def cross_section(omega: np.ndarray) -> np.ndarray:
    """Photoionization of 1s: (2⁹π²/3) α a₀² (Ip/ω)⁴ e^{−4ζ arccot ζ}/(1 − e^{−2πζ}), ζ = 1/k."""
    zeta = 1 / np.sqrt(2 * omega - 1)
    turn = np.exp(-4 * zeta * np.arctan(1 / zeta)) / (1 - np.exp(-2 * np.pi * zeta))
    return 2**9 * np.pi**2 / 3 / units.SPEED_OF_LIGHT * (0.5 / omega) ** 4 * turn
