"""ψ and |ψ|² at places, and the ends of a basis, on each basis in its own way."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import sph_harm_y

import zitter as zt
from zitter.bases.edges import ConvergenceWarning

RADIAL = zt.RadialBSplines(40, 7, 24.0, "graded", first=0.3, grading=6.0)
PLACES = np.random.default_rng(1).normal(size=(3, 5, 4)) * 1.5
R = np.sqrt(np.sum(PLACES**2, axis=0))


def test_grid_at_its_own_points_and_between_them():
    grid = zt.Grid((48, 48, 40), 0.35)
    psi = grid.sample(lambda x, y, z: jnp.exp(-(x**2) / 2 - y**2 / 3 - z**2 / 2 + 0.4j * x))
    points = np.meshgrid(*(grid.points(axis)[10:30:7] for axis in range(3)), indexing="ij")
    own = grid.evaluate(psi, *points)
    np.testing.assert_allclose(own, psi[10:30:7, 10:30:7, 10:30:7], atol=1e-10)
    x, y, z = PLACES
    exact = np.exp(-(x**2) / 2 - y**2 / 3 - z**2 / 2 + 0.4j * x)
    # Quintic splines: h⁶ times a sixth derivative of order one.
    np.testing.assert_allclose(grid.evaluate(psi, x, y, z), exact, atol=2e-4)
    assert abs(grid.evaluate(psi, 100.0, 0.0, 0.0)) == 0
    with pytest.raises(zt.Unsupported, match="several particles"):
        zt.Grid((8, 8), 0.3, particles=2).evaluate(jnp.ones((8, 8)), 0.0, 0.0, 0.0)


def test_periodic_grid_goes_around():
    grid = zt.Grid(32, 2 * np.pi / 32, "periodic")
    psi = grid.sample(lambda x: jnp.exp(2j * x))
    x = np.array([0.123, 3.3, -40.0])
    np.testing.assert_allclose(grid.evaluate(psi, x, 0, 0), np.exp(2j * x), atol=1e-4)


def test_partial_waves_at_places():
    """Σ P_lm(r)/r Y_lm of any P; in a plane through the nucleus l is summed in another way."""
    basis = zt.SphericalBasis(zt.RadialBSplines(12, 7, 9.0), 2, m="all")
    rng = np.random.default_rng(3)
    psi = rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape)
    x, y, z = PLACES
    for height in (z, 0.0):
        r = np.sqrt(x**2 + y**2 + height**2)
        angles = np.arccos(height / r), np.arctan2(y, x)
        functions = (basis.radial.evaluate(r.ravel()) @ psi.T).T.reshape(-1, *r.shape) / r
        waves = [sph_harm_y(l, m, *angles) for l, m in basis.channels]
        expected = np.sum(functions * waves, axis=0)
        found = basis.evaluate(jnp.asarray(psi), x, y, np.broadcast_to(height, x.shape))
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.slow
def test_hydrogen_at_places():
    basis = zt.SphericalBasis(RADIAL, 2, m="all")
    s, p = (RADIAL.project(f) for f in (lambda r: 2 * r * np.exp(-r), lambda r: r**2 * np.exp(-r)))
    psi = jnp.zeros(basis.shape, complex).at[basis.row(0, 0)].set(s).at[basis.row(1, 1)].set(1j * p)
    x, y, _ = PLACES
    wave = np.exp(-R) * (1 / np.sqrt(np.pi) - 1j * np.sqrt(3 / (8 * np.pi)) * (x + 1j * y))
    np.testing.assert_allclose(basis.evaluate(psi, *PLACES), wave, atol=1e-7)
    origin = basis.evaluate(psi, 0.0, 0.0, 0.0)
    assert complex(origin) == pytest.approx(1 / np.sqrt(np.pi), abs=1e-5)
    states = zt.eigenbasis(
        zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb()]), zt.SphericalBasis(RADIAL, 1))
    )
    ground = states.evaluate(states.state(0).astype(complex), *PLACES)
    np.testing.assert_allclose(np.abs(ground), np.exp(-R) / np.sqrt(np.pi), atol=1e-6)


def test_spinors_at_places():
    basis = zt.SpinorBasis(zt.RadialBSplines(24, 7, 10.0), 2)
    rng = np.random.default_rng(5)
    psi = jnp.asarray(rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape))
    x, y, z = PLACES
    found = np.asarray(basis.evaluate(psi, x, y, z))
    assert found.shape == (4, *x.shape)
    for place in ((0, 1), (4, 3)):
        r, phi = R[place], np.arctan2(y[place], x[place])
        m, values = basis.spinor_values(psi, np.array([r]), np.arccos(z[place] / r))
        waves = np.exp(1j * m * phi) / np.sqrt(2 * np.pi)
        expected = np.einsum("amtr,m->a", np.asarray(values), waves)
        np.testing.assert_allclose(found[:, *place], expected, atol=1e-12 * np.abs(expected).max())


def test_density_of_spinors_adds_up():
    basis = zt.SpinorBasis(zt.RadialBSplines(60, 7, 14.0), 1)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    ground = zt.eigenstates(H, 1).states[0].astype(complex)
    r = basis.density_axes()["r"]
    # Hydrogen's 1s½ differs from 1s by (Z/c)².
    np.testing.assert_allclose(basis.density(ground), 4 * r**2 * np.exp(-2 * r), atol=1e-3)


def test_the_last_kappa_is_watched_under_light():
    basis = zt.SpinorBasis(zt.RadialBSplines(16, 7, 10.0), 2)
    assert basis.edges(driven=False, open_end=True) == ()
    [last] = basis.edges(driven=True, open_end=True)
    psi = jnp.zeros(basis.shape, complex).at[basis.channel(2, 0.5), 6].set(1.0)
    psi = basis.normalize(psi)
    assert float(last.population(psi)) == pytest.approx(1, abs=1e-12)
    small = psi.at[basis.channel(-1, 0.5), 6].set(3.0)
    assert 0 < float(last.population(basis.normalize(small))) < 0.5
    with pytest.warns(ConvergenceWarning, match="kappa_max = 2 is too small: the last κ holds 3.0"):
        last.warn(3e-3)
    assert zt.SpinorBasis(basis.radial, 1).edges(True, True) == ()


@pytest.mark.parametrize("kind", ["spherical", "spinor"])
def test_a_central_potential_may_change_with_time(kind):
    """V(r, t) at one time is V(r); the run sees it as it is then."""
    if kind == "spherical":
        basis, free = zt.SphericalBasis(RADIAL, 1), zt.Kinetic()
    else:
        basis, free = zt.SpinorBasis(zt.RadialBSplines(16, 7, 10.0), 1), zt.Dirac()
    psi = jnp.asarray(np.random.default_rng(2).normal(size=basis.shape), complex)
    changing = zt.Potential(expression="-exp(-r)*cos(t)")
    H = zt.discretize(zt.Model([free, changing]), basis)
    frozen = zt.Potential(lambda r: -np.exp(-r) * np.cos(0.7))
    there = zt.discretize(zt.Model([free, frozen]), basis)
    np.testing.assert_allclose(
        H.at(0.7).operator.apply(psi), there.operator.apply(psi), rtol=1e-12, atol=1e-9
    )
    assert H.time_dependent and H.at(0.7).hermitian
    function = zt.discretize(zt.Model([free, zt.Potential(lambda r, t: -jnp.exp(-r) * t)]), basis)
    double = function.at(2.0).operator.apply(psi) - function.at(1.0).operator.apply(psi)
    single = function.at(1.0).operator.apply(psi) - function.at(0.0).operator.apply(psi)
    np.testing.assert_allclose(double, single, atol=1e-9)


@pytest.mark.slow
def test_a_run_tells_what_is_in_the_last_kappa():
    basis = zt.SpinorBasis(zt.RadialBSplines(16, 7, 10.0), 2, 0.5)
    pulse = zt.SineSquared(amplitude=20.0, frequency=5.0, cycles=2)
    light = zt.DiracLight(pulse, 0)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    with pytest.warns(ConvergenceWarning, match="kappa_max = 2 is too small") as seen:
        found = zt.evolve(H, ground, (0.0, 0.4), 0.1, observables=[zt.KappaPopulations()])
    assert seen[-1].filename == __file__
    last = found.observables["kappa_populations"][:, 2:].sum(axis=1)
    assert found.info["last_kappa_population"] == pytest.approx(last.max(), rel=1e-10)
    assert last.max() > 1e-4
