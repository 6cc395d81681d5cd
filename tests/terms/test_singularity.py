"""−Z/r on grids: the smooth core has hydrogen's levels, and molecules converge as h⁵."""

import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.terms.singularity import regularized


def radial_levels(charge, spacing, n=6, lmax=2):
    # Knots dense near the nucleus are not needed: the core is as wide as two grid spacings.
    basis = zt.SphericalBasis(zt.RadialBSplines(300, 9, 60.0 / charge), lmax)
    term = zt.Potential(lambda r: regularized(jnp.asarray(charge), r**2, spacing, 1.0))
    return zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(), term]), basis), n).energies


@pytest.mark.parametrize(("charge", "spacing"), [(1.0, 0.3), (1.0, 0.6), (2.0, 0.25)])
def test_core_keeps_the_levels_of_hydrogen(charge, spacing):
    levels = radial_levels(charge, spacing) / charge**2
    # 1s, 2s and 2p are exact by construction; the table is good to 1e-7, the splines to 1e-8.
    np.testing.assert_allclose(levels[:3], [-0.5, -0.125, -0.125], atol=3e-7)
    # n = 3 (3s, 3p, 3d) was not asked for: it measures how far the core can be trusted.
    np.testing.assert_allclose(levels[3:], -1 / 18, atol=3e-5)


def energy(h, singularity, length=12.0):
    n = round(length / h) - 1
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0, singularity=singularity)])
    grid = zt.Grid((n,) * 3, length / (n + 1), center=0.1)
    return zt.eigenstates(zt.discretize(model, grid), 1, zt.LOBPCG(tol=1e-5)).energies[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::zitter.eigensolvers.errors.BoxWarning")
def test_each_treatment_on_the_same_grid():
    """At h = 0.5 with the nucleus off the grid points; the box of ±6 bohr alone adds 1e-4."""
    errors = {s: abs(energy(0.5, s) + 0.5) for s in ("cut", "cell-average", "regularized")}
    assert errors["regularized"] < 5e-4
    assert errors["cell-average"] > 20 * errors["regularized"]
    assert errors["cut"] > 20 * errors["regularized"]


def plane_levels(h, offset, n=4):
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0)])
    grid = zt.Grid((round(25.6 / h),) * 2, h, center=offset)
    return zt.eigenstates(zt.discretize(model, grid), n, zt.LOBPCG(tol=1e-6)).energies


@pytest.mark.parametrize(("h", "offset"), [(0.4, 0.0), (0.4, 0.13), (0.2, 0.07)])
def test_hydrogen_in_the_plane(h, offset):
    """−1/2(n − ½)²: exact but for how well the grid resolves the core, which is h⁵."""
    found = plane_levels(h, offset)
    np.testing.assert_allclose(found[0], -2.0, atol=0.01 * (h / 0.4) ** 5)
    np.testing.assert_allclose(found[1:], -2 / 9, atol=6e-4 * (h / 0.4) ** 5)


def test_other_treatments_in_the_plane_are_as_before():
    """−Z/r where it is finite, and the mean over the cell, 4 ln(1 + √2)/h, at the nucleus."""
    grid = zt.Grid((5, 5), 0.4)
    model = zt.Model([zt.Coulomb(1.0, singularity="cell-average")])
    values = np.asarray(zt.discretize(model, grid).operator.apply(jnp.ones(grid.shape)))
    assert values[2, 2] == pytest.approx(-4 * np.log(1 + np.sqrt(2)) / 0.4, rel=1e-12)
    assert values[2, 3] == pytest.approx(-2.5, rel=1e-12)
    H = zt.discretize(zt.Model([zt.Kinetic(), *model.terms]), zt.Grid((24, 24), 0.4))
    lowest = np.linalg.eigvalsh(np.asarray(H.operator.as_matrix()))[0]
    assert lowest == pytest.approx(-1.194, abs=1e-3)
    with pytest.raises(zt.InputError, match=r"spacing: must be at most 0.54 bohr .* but is 0.6"):
        zt.discretize(zt.Model([zt.Coulomb(1.0)]), zt.Grid((5, 5), 0.6))


def test_spacing_is_judged():
    H = zt.Model([zt.Kinetic(), zt.Coulomb(10.0)])
    with pytest.raises(
        zt.InputError, match=r"spacing: must be at most 0.072 bohr .* 10, but is 0.3"
    ):
        zt.discretize(H, zt.Grid((9, 9, 9), 0.3))


def test_repulsion_and_reduced_masses():
    """Scaling: −Z/r for mass m on a grid h is the unit atom on mZh, in units of mZ²."""
    r2 = jnp.linspace(0.0, 4.0, 9)
    unit = regularized(jnp.asarray(1.0), r2, 0.3, 1.0)
    scaled = regularized(jnp.asarray(2.0), r2 / 36, 0.05, 3.0)  # m Z = 6
    np.testing.assert_allclose(scaled, 12 * unit, rtol=1e-12)
    assert np.all(np.asarray(regularized(jnp.asarray(-1.0), r2, 0.3, 1.0)) > 0)


@pytest.mark.slow
def test_molecule_converges_with_the_fifth_power():
    exact = np.array([-1.102634214495, -0.667534392202])
    model = zt.Model([zt.Kinetic(), zt.Coulomb(1.0, centers=[[0, 0, -1.0], [0, 0, 1.0]])])
    errors = []
    for h in (0.4, 0.2):
        n = round(18 / h)
        H = zt.discretize(model, zt.Grid((n,) * 3, h))
        errors.append(np.abs(zt.eigenstates(H, 2, zt.LOBPCG(tol=1e-5)).energies - exact))
    orders = np.log2(errors[0] / errors[1])
    assert np.all(orders > 4) and np.all(errors[1] < 1e-5)


def test_charges_are_a_number_or_a_list():
    with pytest.raises(zt.InputError, match="Z: must be a number or a list of them, but has"):
        zt.Coulomb(Z=[[[1, 1]]], centers=[[0, 0, -1], [0, 0, 1]])
