"""Momentum, κ weights and probability in a sphere on spinors, against Fourier transforms."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.bases.spinor.levels import SpinorLevels
from zitter.observables.space import density_in_plane
from zitter.spectra import MomentumDistribution, MomentumGrid, momentum_distribution

BASIS = zt.SpinorBasis(zt.RadialBSplines(32, 7, 14.0), 3)
SIDES = np.array([0.6, 0.8])
H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), BASIS)


@pytest.fixture(scope="module")
def psi():
    """Electrons of low energy in every channel, with random phases."""
    levels = SpinorLevels(H.fixed, BASIS)
    energies = np.asarray(levels.per_channel(levels.energies))
    rng = np.random.default_rng(3)
    rows = (rng.normal(size=(2, *BASIS.shape)) * np.array([1, 1j])[:, None, None]).sum(axis=0)
    rows = np.where((energies > -1) & (energies < 12), rows * np.exp(-np.abs(energies) / 3), 0)
    return BASIS.normalize(levels.to_splines(jnp.asarray(rows)))


def test_along_the_axis_integrals_begin_between_momenta():
    """∫ p dp dφ from |p_z| on, not from the next momentum of the grid: 1 on a ball gives π(p² −
    p_z²)."""
    grid = MomentumGrid.spheres(np.linspace(1.0, 2.0, 5), 4, 2)
    found = MomentumDistribution(grid, np.ones((5, 4, 2)))
    pz = np.array([0.3, 1.1, -1.37, 1.9])
    expected = np.pi * (4 - np.maximum(1, pz**2))
    np.testing.assert_allclose(found.along_axis(pz), expected, rtol=1e-12)


def test_momentum_is_that_of_the_distribution(psi):
    """⟨p⟩ by gradients of spinors and by ∫ p |ψ̃|²; the part of positrons in |ψ̃|² is (p/2c)²."""
    found = np.asarray(zt.Momentum().evaluate(H, psi, 0.0))
    grid = MomentumGrid.spheres(np.linspace(1e-3, 13.0, 600), 12, 16)
    distribution = momentum_distribution(BASIS, psi, grid)
    weights = grid.weights[:, None] * (2 * np.pi / 16)
    measure = (grid.momenta**2)[:, None, None, None] * weights[..., None] * grid.vectors
    shells = np.sum(distribution.density[..., None] * measure, axis=(1, 2))
    expected = np.trapezoid(shells, grid.momenta, axis=0)
    assert np.abs(found).min() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(found).max())
    # Trapezoids with a step of 0.02 and the splines' tail beyond p = 13.
    assert distribution.probability == pytest.approx(1, abs=1e-3)
    assert distribution.mean_along_axis == pytest.approx(expected[2], abs=1e-12)


@pytest.mark.parametrize("channel", [(1, 0.5), (1, -0.5), (-1, 0.5)], ids=str)
def test_the_density_in_a_plane_is_of_all_components(channel):
    """j = ½ is a sphere: dP/dr over 4πr² in every plane. Of p½ spin up has cos²θ of the large
    components and spin down the rest; the small ones are those of an s."""
    kappa, mu = channel
    rows = (BASIS.kappas == kappa) & (BASIS.mus == mu)
    psi = BASIS.normalize(jnp.zeros(BASIS.shape, complex).at[rows, 3:16].set(1.0))
    r = BASIS.density_axes()["r"]
    here = np.searchsorted(r, [1.0, 2.0, 3.0])
    expected = np.asarray(BASIS.density(psi) / (4 * np.pi * r**2))[here]
    assert expected.min() > 1e-4
    for plane in ([0, 2], [1, 0]):
        square = [np.asarray(density_in_plane(BASIS, psi, np.eye(3)[plane], x * SIDES))
                  for x in r[here]]  # fmt: skip
        for i, j in ((0, 1), (1, 0)):  # at (0.6, 0.8) and (0.8, 0.6) of each radius
            np.testing.assert_allclose([one[i, j] for one in square], expected, rtol=1e-10)


def test_weights_of_kappa(psi):
    weights = np.asarray(zt.KappaPopulations().evaluate(H, psi, 0.0))
    assert weights.sum() == pytest.approx(1, abs=1e-13)
    one = psi * jnp.asarray(BASIS.kappas == -2)[:, None]
    only = np.asarray(zt.KappaPopulations().evaluate(H, one, 0.0))
    assert np.count_nonzero(only) == 1 and only[2] == pytest.approx(weights[2], rel=1e-14)


def test_ionization_is_what_lies_outside():
    """1s: ∫_R^∞ (P² + Q²) dr = Γ(2γ + 1, 2R)/Γ(2γ + 1) at the knot nearest to R."""
    from scipy.special import gammaincc

    ground = zt.eigenstates(H, 1).states[0].astype(complex)
    knots = np.asarray(BASIS.radial.knots)
    edge = knots[np.argmin(np.abs(knots - 5.0))]
    gamma = np.sqrt(1 - BASIS.c**-2)
    found = float(zt.Ionization(5.0).evaluate(H, ground, 0.0))
    assert found == pytest.approx(gammaincc(2 * gamma + 1, 2 * edge), rel=1e-3)


def test_refusals():
    grid = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(31, 0.3))
    with pytest.raises(zt.Unsupported, match=r"Kappa\w+ cannot .* a Grid: it needs a Spinor"):
        zt.KappaPopulations().prepare(grid, None)
    for observable in (zt.Position(), zt.Dipole(), zt.Acceleration()):
        name = type(observable).__name__
        with pytest.raises(zt.Unsupported, match=f"{name} cannot be measured on a SpinorBasis: .*"):
            observable.prepare(H, None)
    light = zt.DiracLight(zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=4), 0)
    driven = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), BASIS)
    with pytest.raises(zt.Unsupported, match="use Populations"):
        zt.InstantaneousPopulations(2).prepare(driven, None)
    assert zt.InstantaneousPopulations(2).prepare(H, None)
    assert zt.Momentum().prepare(H, None) and zt.Ionization(5.0).prepare(H, None)
