"""Spectra and momenta from states on spinors, on states with known answers."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import spectra

BASIS = zt.SpinorBasis(zt.RadialBSplines(50, 7, 24.0, "graded", first=0.2, grading=5.0), 2)
ATOM = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), BASIS)


@pytest.fixture(scope="module")
def levels():
    return spectra.spinor_levels(ATOM)


@pytest.fixture(scope="module")
def ground():
    return zt.eigenstates(ATOM, 1)


def test_a_stationary_state_is_one_level(levels, ground):
    found = spectra.level_populations(levels, ground.states[0])
    assert found.bound == pytest.approx(1, abs=1e-12)
    assert found.ionization < 1e-20 and found.positrons < 1e-20
    assert found.per_kappa[0] == pytest.approx(1, abs=1e-12)
    assert np.abs(spectra.free_part(levels, ground.states[0])).max() < 1e-10


def test_its_transform_is_the_closed_form(ground):
    """φ̃ of the spline state against that of 1s½ for every component, signs and phases included."""
    channel = int(np.argmax(np.abs(np.asarray(ground.states[0])).max(axis=1)))
    state = spectra.SplineState(BASIS, ground.states[0], ground.energies[0])
    exact = spectra.HydrogenGroundState(mu=float(BASIS.mus[channel]), c=BASIS.c)
    q = 3 * np.random.default_rng(0).normal(size=(6, 3))
    q[0] = 0.0
    found, expected = state.transformed(q), exact.transformed(q)
    # The energy is right to 1e-9, so the state to about its root times the splines' share.
    assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()
    assert np.abs(expected[1:, 2:]).max() > 1e-5
    pulse = zt.SineSquared(amplitude=100.0, frequency=20.0, cycles=2, polarization="x")
    p = [[3.0, 1.0, 2.0], [-5.0, 0.5, -1.0]]
    amplitudes = [spectra.volkov_amplitudes(pulse, p, s) for s in (state, exact)]
    np.testing.assert_allclose(*amplitudes, rtol=0, atol=1e-5 * np.abs(amplitudes[1]).max())


def test_a_packet_of_known_energy(levels):
    """Levels weighted as √(g(E)/ρ) must give back dP/dE = g(E), for two κ in the ratio 3 : 1."""
    energies = np.asarray(levels.energies)
    rows = np.zeros(BASIS.shape, complex)
    for kappa, share in ((-1, 0.75), (2, 0.25)):
        place = list(BASIS.distinct_kappas).index(kappa)
        e = energies[place, : levels.sizes[place]]
        width = np.gradient(e)
        density = share * np.exp(-((e - 6) ** 2) / 8) / np.sqrt(8 * np.pi)
        rows[BASIS.channel(kappa, 0.5), : len(e)] = np.sqrt(density * np.where(e > 0, width, 0))
    psi = levels.to_splines(np.asarray(rows))
    wanted = np.linspace(1.0, 14.0, 131)
    found = spectra.spinor_spectrum(levels, psi, wanted)
    exact = np.exp(-((wanted - 6) ** 2) / 8) / np.sqrt(8 * np.pi)
    # Monotone cubics are flat around a maximum: (ΔE)²|g″|/8 = 6e-3 g for levels 0.45 apart.
    np.testing.assert_allclose(found.total, exact, rtol=0, atol=6e-3 * exact.max())
    share = dict(zip(found.kappas, found.per_kappa.sum(axis=1) / found.total.sum(), strict=True))
    assert share[-1] == pytest.approx(0.75, abs=2e-3) and share[2] == pytest.approx(0.25, abs=2e-3)
    shifted = spectra.SpinorSpectrum(wanted, 1.1 * found.per_kappa, found.kappas)
    error = spectra.spectrum_error(shifted, found, 2.0, 10.0)
    inside = (wanted >= 2) & (wanted <= 10)
    assert error == pytest.approx(
        np.trapezoid((0.1 * found.total[inside]) ** 2, wanted[inside]), rel=1e-10
    )
    # Cubics come back to the levels they go through up to rounding.
    rounding = np.finfo(float).eps * found.total
    assert spectra.spectrum_error(found, found) <= np.trapezoid(rounding**2, wanted)


def test_flight_moves_the_packet_and_not_its_spectrum(levels):
    place = list(BASIS.distinct_kappas).index(1)
    energies = np.asarray(levels.energies)[place]
    rows = np.zeros(BASIS.shape, complex)
    chosen = (energies > 3) & (energies < 7)
    rows[BASIS.channel(1, -0.5), chosen] = 1 / np.sqrt(chosen.sum())
    psi = levels.to_splines(np.asarray(rows))
    later = spectra.free_part(levels, psi, flight=2.0)
    wanted = np.linspace(2.0, 8.0, 61)
    before, after = (spectra.spinor_spectrum(levels, x, wanted).total for x in (psi, later))
    np.testing.assert_allclose(before, after, rtol=0, atol=1e-10 * before.max())
    assert float(BASIS.norm(later)) == pytest.approx(1, abs=1e-12)
    assert abs(complex(BASIS.inner(psi, later))) < 0.9


def test_refusals(levels):
    with pytest.raises(zt.InputError, match="psi: must have the shape of the basis"):
        spectra.level_populations(levels, np.zeros((3, 4)))
    with pytest.raises(zt.InputError, match="momenta: must be at least two numbers that rise"):
        spectra.MomentumGrid.spheres([3.0, 1.0])
    spectrum = spectra.SpinorSpectrum(np.arange(5.0), np.ones((1, 5)), np.array([-1]))
    with pytest.raises(zt.InputError, match="end: must leave at least two energies"):
        spectra.spectrum_error(spectrum, spectrum, 3.5)


@pytest.mark.slow
def test_the_first_free_level_of_a_kappa_without_bound_states():
    """Its lower neighbor is a positron: the density there follows from the level above it."""
    basis = zt.SpinorBasis(zt.RadialBSplines(30, 7, 10.0), 5, 0.5)
    levels = spectra.spinor_levels(zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis))
    place = list(basis.distinct_kappas).index(5)
    energies = np.asarray(levels.energies)[place, : levels.sizes[place]]
    first = int(np.searchsorted(energies, 0.0))
    assert energies[first - 1] < -(basis.c**2)  # l = 5 has no bound state within 10 bohr
    rows = np.zeros(basis.shape, complex)
    rows[basis.channel(5, 0.5), first] = 1.0
    found = spectra.spinor_spectrum(levels, levels.to_splines(rows), [energies[first]])
    spacing = energies[first + 1] - energies[first]
    assert found.total[0] == pytest.approx(1 / spacing, rel=1e-10)
    # Levels of a sphere, j₅(kr) = 0 at 9.356 and 12.967, shifted by 1/r alike: 0.40 apart.
    assert spacing == pytest.approx((12.967**2 - 9.356**2) / 200, rel=0.1)


def test_what_is_no_basis_or_grid_is_refused(levels, ground):
    grid = spectra.MomentumGrid.spheres([1.0, 2.0], 4, 4)
    with pytest.raises(zt.InputError, match="basis: must be a SpinorBasis"):
        spectra.momentum_distribution(ATOM, ground.states[0], grid)  # type: ignore[arg-type]
    with pytest.raises(zt.InputError, match="grid: must be a MomentumGrid"):
        spectra.momentum_distribution(BASIS, ground.states[0], [1.0])  # type: ignore[arg-type]


def test_default_spins_agree(ground):
    """The first of `eigenstates` and the default of the strong-field approximation: μ = ½."""
    channel = int(np.argmax(np.abs(np.asarray(ground.states[0])).max(axis=1)))
    assert BASIS.mus[channel] == spectra.HydrogenGroundState().mu == 0.5
