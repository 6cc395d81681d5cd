"""Error estimates cover the true errors; boxes that are too small are named."""

import numpy as np
import pytest

import zitter as zt
from zitter.eigensolvers.errors import BoxWarning


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


@pytest.mark.parametrize("order", ["spectral", 2, 8])
def test_mass_is_read_from_the_operator(order):
    """A heavier particle in the same box, scaled so that the physics is the same: E·m = const."""
    from zitter.eigensolvers.errors import _inverse_masses

    grid = zt.Grid((21, 20), (0.3, 0.4))
    H = zt.discretize(zt.Model([zt.Kinetic(3.0, order), zt.Harmonic(1.0)]), grid)
    np.testing.assert_allclose(_inverse_masses(H, grid), 1 / 3, rtol=1e-12)


def test_no_warning_where_the_walls_are_the_physics(recwarn):
    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid((20, 20), 0.3))
    zt.eigenstates(H, 2, zt.Direct())
    assert not [w for w in recwarn if issubclass(w.category, BoxWarning)]


def test_bounds_from_residuals_cover():
    potential = zt.Potential(expression="0.5*(x**2 + y**2) + x*y + 0.5*x**4")
    H = zt.discretize(zt.Model([zt.Kinetic(), potential]), zt.Grid((24, 24), 0.45))
    exact = zt.eigenstates(H, 3, zt.Direct()).energies
    for tol in (1e-2, 1e-4):
        found = zt.eigenstates(H, 3, zt.LOBPCG(tol=tol))
        assert np.all(np.abs(found.energies - exact) <= np.array(found.info["error_bounds"]))


@pytest.mark.parametrize(("h", "n"), [(0.5, 28), pytest.param(0.35, 44, marks=pytest.mark.slow)])
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
