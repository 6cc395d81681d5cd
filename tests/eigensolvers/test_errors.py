"""Error estimates cover the true errors; boxes that are too small are named."""

import warnings
from typing import Any, cast

import numpy as np
import pytest

import zitter as zt
from zitter.bases.spherical.box import _NearWall
from zitter.eigensolvers.errors import BoxWarning, algebraic_errors
from zitter.linalg.sums import without_diagonal


def test_box_error_of_an_oscillator():
    """Walls at ±3.3 bohr: the estimate from the wall pressure against a large box."""
    model = zt.Model([zt.Kinetic(), zt.Harmonic(1.0)])
    small = zt.discretize(model, zt.Grid((21, 21), 0.3))
    with pytest.warns(BoxWarning, match="density at the boundary is .* too high"):
        found = zt.eigenstates(small, 3, zt.Direct())
    true = found.energies - np.array([1.0, 2.0, 2.0])
    estimate = np.array(found.info["box_errors"])
    # κ is taken at the wall, and ψ from the first point inside: good to a factor of two.
    assert np.all(estimate > 0.5 * true) and np.all(estimate < 3 * true)


@pytest.mark.parametrize("points", [331, 371, 401])
def test_the_wall_pressure_where_the_grid_is_fine(points):
    """Walls at ±3.32 to ±4.02 bohr: the first order in what a wall changes, to a few per cent."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), zt.Grid(points, 0.02))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoxWarning)
        found = zt.eigenstates(H, 1, zt.Direct())
    true = found.energies[0] - 0.5
    assert true > 1e-10
    assert found.info["box_errors"][0] == pytest.approx(true, rel=0.03)


@pytest.mark.parametrize(
    ("rmax", "n"), [(10.0, 3), pytest.param(15.0, 3, marks=pytest.mark.slow), (25.0, 6)]
)
def test_box_error_of_hydrogen_in_splines(rmax, n):
    """1s, 2p, 2s, 3d, 3p, 3s: the slope at rmax against the exact levels."""
    splines = zt.RadialBSplines(50, 7, rmax, "graded", first=0.15)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(splines, 2))
    with pytest.warns(BoxWarning, match="density at the boundary is .* too high"):
        found = zt.eigenstates(H, n)
    true = found.energies - np.array([-1 / 2, -1 / 8, -1 / 8, -1 / 18, -1 / 18, -1 / 18])[:n]
    estimate = np.array(found.info["box_errors"])
    # Beyond a wall inside the classically allowed region κ is set to a floor: up to twice too high.
    assert np.all(estimate >= true - 1e-10) and np.all(estimate < 2.5 * true + 1e-10)


@pytest.mark.parametrize("mass", [1.0, 2.0])
def test_the_barrier_at_the_wall_of_splines_has_its_centrifugal_part(mass):
    """½ω²r² + l(l+1)/2mr² at rmax, of which the fit is exact: r² is a polynomial."""
    radial = zt.RadialBSplines(30, 7, 6.0)
    H = zt.discretize(zt.Model([zt.Kinetic(mass), zt.Harmonic(0.5)]), zt.SphericalBasis(radial, 3))
    bands, near = np.asarray(cast(Any, H.operator).bands), _NearWall(radial)
    for l in range(4):
        inverse_mass, height, free = near.fit(bands[l], l)
        assert inverse_mass == pytest.approx(1 / mass, rel=1e-10) and not free
        expected = 0.5 * 0.25 * 36 + l * (l + 1) / (2 * mass * 36)
        assert height == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("order", ["spectral", 2, 8])
def test_mass_is_read_from_the_operator(order):
    """A heavier particle in the same box, scaled so that the physics is the same: E·m = const."""
    grid = zt.Grid((21, 20), (0.3, 0.4))
    H = zt.discretize(zt.Model([zt.Kinetic(3.0, order), zt.Harmonic(1.0)]), grid)
    kinetic: Any = without_diagonal(H.operator)
    found = kinetic.inverse_masses(grid.spacing)
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-12)


def test_no_warning_where_the_walls_are_the_physics(recwarn):
    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid((20, 20), 0.3))
    zt.eigenstates(H, 2, zt.Direct())
    ball = zt.SphericalBasis(zt.RadialBSplines(20, 7, 5.0), 1)
    zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(2.0)]), ball), 2)
    assert not [w for w in recwarn if issubclass(w.category, BoxWarning)]


def test_bounds_from_residuals_cover():
    potential = zt.Potential(expression="0.5*(x**2 + y**2) + x*y + 0.5*x**4")
    H = zt.discretize(zt.Model([zt.Kinetic(), potential]), zt.Grid((24, 24), 0.45))
    exact = zt.eigenstates(H, 3, zt.Direct()).energies
    for tol in (1e-2, 1e-4):
        found = zt.eigenstates(H, 3, zt.LOBPCG(tol=tol))
        assert np.all(np.abs(found.energies - exact) <= np.array(found.info["error_bounds"]))


@pytest.mark.parametrize("gap", [0.02, 50.0])
def test_the_bound_of_kato_and_temple_is_reached_by_two_levels(gap):
    """Levels 0 and g, and cos θ, sin θ of them: E = g sin²θ, with r = g sin θ cos θ left over, is
    r²/(g − E) too high."""
    H = zt.discretize(zt.Model([zt.Matrix(np.diag([0.0, gap]))]), zt.Levels(2))
    sine = 0.01
    energy, residual = gap * sine**2, gap * sine * np.sqrt(1 - sine**2)
    (bound,) = algebraic_errors(H, [energy], [residual], [gap])
    assert bound == pytest.approx(energy, rel=1e-10)  # rounding of g adds 2e-16 g
    (alone,) = algebraic_errors(H, [energy], [residual])
    assert alone == pytest.approx(residual, rel=1e-10)  # nothing is known of what lies above


@pytest.mark.slow
@pytest.mark.parametrize(("h", "n"), [(0.5, 28), (0.35, 44)])
@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_energy_errors_cover_the_true_error_of_a_molecule(h, n):
    """H2+ at R = 2: 1sσg and 2pσu to 13 digits from the literature."""
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0, centers=[[0, 0, -1.0], [0, 0, 1.0]])])
    grid = zt.Grid((n, n, n + 4), h)
    found = zt.eigenstates(zt.discretize(model, grid), 2, zt.LOBPCG(tol=1e-5))
    errors = zt.energy_errors(model, grid, found, zt.LOBPCG(tol=1e-5)).total
    true = np.abs(found.energies - [-1.102634214495, -0.667534392202])
    assert np.all(true <= errors)
    assert np.all(errors < 0.05)  # and they are not empty words


def test_energy_errors_know_the_order_of_the_kinetic_energy():
    """Second-order differences: the change to a grid with 4/3 of the spacing is too small."""
    model = zt.Model([zt.Kinetic(order=2), zt.Harmonic(1.0)])
    grid = zt.Grid(24, 0.45)
    found = zt.eigenstates(zt.discretize(model, grid), 3)
    true = np.abs(found.energies - [0.5, 1.5, 2.5])
    errors = zt.energy_errors(model, grid, found).total
    assert np.all(true <= errors) and errors[2] < 2 * true[2]


@pytest.mark.slow
def test_energy_errors_refine_where_a_coarser_grid_misses_the_nucleus():
    model, grid = zt.Model([zt.Kinetic(), zt.Coulomb(1.0)]), zt.Grid((22,) * 3, 0.7)
    found = zt.eigenstates(zt.discretize(model, grid), 1, zt.LOBPCG(tol=1e-5))
    errors = zt.energy_errors(model, grid, found, zt.LOBPCG(tol=1e-5))
    assert abs(found.energies[0] + 0.5) <= errors.total[0] < 1e-3
    # The finer grid is better indeed.
    assert abs(errors.coarse[0] + 0.5) < 0.5 * abs(found.energies[0] + 0.5)


@pytest.mark.slow
def test_energy_errors_of_a_nucleus_as_others_sample_it():
    """The pole cut off converges with the first power of the spacing."""
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0, singularity="cut")])
    grid = zt.Grid((30,) * 3, 0.5)
    found = zt.eigenstates(zt.discretize(model, grid), 1, zt.LOBPCG(tol=1e-5))
    errors = zt.energy_errors(model, grid, found, zt.LOBPCG(tol=1e-5)).total
    true = abs(found.energies[0] + 0.5)
    assert true <= errors[0] < 2 * true  # with the margin for kinks


def test_energy_errors_of_states_near_an_energy():
    """Compared with the states near that energy on the other grid, not with its lowest."""
    model, grid = zt.Model([zt.Kinetic(order=4), zt.Harmonic(1.0)]), zt.Grid(80, 0.2)
    eig = zt.eigenstates(zt.discretize(model, grid), 2, zt.Direct(near=5.4))
    errors = zt.energy_errors(model, grid, eig).total
    true = np.abs(np.asarray(eig.energies) - np.array([4.5, 5.5]))
    assert np.all(true <= errors) and np.all(errors < 10 * true)


def test_energy_errors_cannot_be_had_from_an_array():
    grid = zt.Grid((8, 8), 0.6)
    model = zt.Model([zt.Kinetic(), zt.Potential(array=np.ones(grid.shape))])
    found = zt.eigenstates(zt.discretize(model, grid), 1)
    with pytest.raises(zt.InputError, match=r"^model.terms\[1\]: must be .*given by its array"):
        zt.energy_errors(model, grid, found)
