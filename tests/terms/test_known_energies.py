"""Energies known from elsewhere, to all digits given."""

from __future__ import annotations

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt


def levels(terms, grid, n):
    return np.asarray(zt.eigenstates(zt.discretize(zt.Model(terms), grid), n).energies)


@pytest.mark.parametrize(
    "softening, expected",
    [
        (1.0, [-0.66977714, -0.27489135, -0.15145467]),
        (2.0, [-0.50000000, -0.23290334]),  # −1/2 exactly
    ],
)
def test_soft_core_hydrogen(softening, expected):
    """±51 bohr hold the third state (e^{−0.55·51} at the wall); 6e-9 is half the last digit."""
    terms = [zt.Kinetic(), zt.SoftCoulomb(softening=softening)]
    found = levels(terms, zt.Grid(512, 0.2), len(expected))
    np.testing.assert_allclose(found, expected, atol=6e-9)


DOUBLE_WELL = zt.SoftCoulomb(Z=30, softening=0.1, centers=[-1.0, 1.0])


@pytest.mark.parametrize("order, spacing", [("spectral", 0.025), (8, 0.0125)])
def test_double_well_in_the_continuum(order, spacing):
    """Z = 30, a = 0.1, centres ±1, in a box of ±4 bohr."""
    found = levels([zt.Kinetic(order=order), DOUBLE_WELL], zt.Grid(round(8 / spacing), spacing), 3)
    np.testing.assert_allclose(found, [-96.70766813, -96.70757509, -75.13888332], atol=6e-9)


@pytest.mark.parametrize(
    "points, expected",
    [
        (1025, [-96.88418, -96.88406]),  # odd: x = i·h, and ±1 are grid points
        (1024, [-96.88416, -96.88404]),  # even: the nuclei lie halfway between grid points
    ],
)
def test_double_well_on_the_coarse_second_order_grid(points, expected):
    """h = 0.1: the grid error is 0.18, and where the nuclei lie shows in the fifth digit."""
    found = levels([zt.Kinetic(order=2), DOUBLE_WELL], zt.Grid(points, 0.1), 2)
    np.testing.assert_allclose(found, expected, atol=6e-6)


def test_harmonic_oscillator_in_one_to_three_dimensions():
    """E = Σ ω_a (n_a + ½); the box holds ψ to 1e-8 and more."""
    one = levels([zt.Kinetic(), zt.Harmonic(0.5, center=1.0)], zt.Grid(60, 0.4, center=1.0), 5)
    np.testing.assert_allclose(one, 0.5 * (np.arange(5) + 0.5), atol=1e-8)
    two = levels([zt.Kinetic(), zt.Harmonic([1.0, 2.0])], zt.Grid((26, 20), (0.45, 0.4)), 4)
    np.testing.assert_allclose(two, [1.5, 2.5, 3.5, 3.5], atol=2e-6)
    three = levels([zt.Kinetic(), zt.Harmonic(1.0)], zt.Grid((10, 10, 10), 0.8), 4)
    np.testing.assert_allclose(three, [1.5, 2.5, 2.5, 2.5], atol=1e-4)


def test_mass_and_periodic_box():
    """ω = √(k/m): the potential ½mω²x² of mass 4 with ω = 1, and plane waves k²/2m in a box."""
    found = levels([zt.Kinetic(mass=4.0), zt.Harmonic(1.0, mass=4.0)], zt.Grid(50, 0.2), 3)
    np.testing.assert_allclose(found, [0.5, 1.5, 2.5], atol=1e-8)
    waves = levels([zt.Kinetic(mass=2.0)], zt.Grid(16, 0.5, "periodic"), 3)
    np.testing.assert_allclose(
        waves, [0, (2 * np.pi / 8) ** 2 / 4, (2 * np.pi / 8) ** 2 / 4], atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the box is too small")
def test_coulomb_in_three_dimensions_is_roughly_hydrogen():
    """−0.5 to 2 % at h = 0.7 in a box of 7.7 bohr: neither resolves cusp nor tail."""
    found = levels([zt.Kinetic(order=4), zt.Coulomb(Z=1)], zt.Grid((11, 11, 11), 0.7), 1)
    assert found[0] == pytest.approx(-0.5, abs=0.01)


def test_cell_average_of_coulomb_in_the_plane():
    """The mean of 1/r over the unit square, cut into four triangles: 4 · ½ ∫ da/√(1+a²)."""
    a, w = np.polynomial.legendre.leggauss(40)
    mean = 2 * np.sum(w / np.sqrt(1 + a**2))
    grid = zt.Grid((5, 5), 0.3)
    nucleus = zt.Coulomb(Z=2, singularity="cell-average")
    values = zt.discretize(zt.Model([nucleus]), grid).fixed.full()
    assert float(values[2, 2]) == pytest.approx(-2 * mean / 0.3, rel=1e-12)
    assert float(values[2, 3]) == pytest.approx(-2 / 0.3, rel=1e-12)


def test_two_electrons_without_and_with_repulsion():
    """Without it twice the one-electron energy; with it the soft-core helium value −2.238."""
    grid = zt.Grid((32, 32), 0.45, particles=2)
    helium = [zt.Kinetic(), zt.SoftCoulomb(Z=2)]
    one = levels(helium, zt.Grid(32, 0.45), 1)[0]
    assert levels(helium, grid, 1)[0] == pytest.approx(2 * one, abs=1e-10)
    # Known value of the 1D helium model with softening 1 everywhere: −2.238 hartree.
    assert levels([*helium, zt.Repulsion()], grid, 1)[0] == pytest.approx(-2.238, abs=1e-3)


def test_your_own_potential_in_three_ways(tmp_path):
    """A JAX function, an expression, an array, and the array from HDF5 and npz files."""
    import h5py

    grid = zt.Grid((6, 7), 0.3)
    x, y = grid.coordinates()
    values = 0.3 * x**2 + np.cos(y) * x
    np.savez(tmp_path / "v.npz", potential=values)
    np.savez(tmp_path / "unnamed.npz", values)
    np.save(tmp_path / "v.npy", values)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["mine"] = values
    for term in (
        zt.Potential(lambda x, y: 0.3 * x**2 + jnp.cos(y) * x),
        zt.Potential(expression="0.3*x**2 + cos(y)*x"),
        zt.Potential(array=values),
        zt.Potential(file=str(tmp_path / "v.npz")),
        zt.Potential(file=str(tmp_path / "unnamed.npz")),
        zt.Potential(file=str(tmp_path / "v.npy")),
        zt.Potential(file=str(tmp_path / "v.h5"), dataset="mine"),
    ):
        found = zt.discretize(zt.Model([term]), grid).fixed.full()
        np.testing.assert_allclose(np.asarray(found), values, atol=1e-14)


def test_your_own_potential_with_time():
    """A function of one argument more than there are axes, or an expression that names t."""
    grid = zt.Grid(8, 0.3)
    terms = [zt.Potential(lambda x, t: x * t**2), zt.Potential(expression="x*t**2")]
    for term in terms:
        H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
        assert H.time_dependent
        values = np.asarray(H.changing[0].at(3.0).full())
        np.testing.assert_allclose(values, 9 * grid.points(0), rtol=1e-14)
    assert not zt.discretize(
        zt.Model([zt.Potential(lambda x, scale=2.0: scale * x)]), grid
    ).changing


def test_a_changing_potential_that_absorbs_stays_complex():
    grid = zt.Grid(8, 0.3)
    term = zt.Potential(lambda x, t: -1j * t * x**2)
    H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid).astype(np.float32)
    found = H.changing[0].at(2.0).full()
    assert found.dtype == jnp.complex64
    np.testing.assert_allclose(np.asarray(found), -2j * grid.points(0) ** 2, rtol=1e-6)


def test_refusals_of_potentials(tmp_path):
    grid = zt.Grid(8, 0.3)

    def discretized(term):
        return zt.discretize(zt.Model([zt.Kinetic(), term]), grid)

    with pytest.raises(zt.InputError, match="array: must have the grid's shape"):
        discretized(zt.Potential(array=np.zeros(9)))
    with pytest.raises(zt.InputError, match="expression: must use only x and t"):
        discretized(zt.Potential(expression="y**2"))
    with pytest.raises(zt.InputError, match="function: must be finite"):
        discretized(zt.Potential(lambda x: jnp.log(x)))
    with pytest.raises(zt.InputError, match="function: must take x, and t where"):
        discretized(zt.Potential(lambda x, y, z: x + y + z))
    with pytest.raises(zt.InputError, match="function: must take x, and t where"):
        discretized(zt.Potential(lambda: 1.0))
    with pytest.raises(zt.InputError, match="function: must give values that fit"):
        discretized(zt.Potential(lambda x: jnp.ones(5)))
    np.savez(tmp_path / "v.npz", potential=np.zeros(9))
    with pytest.raises(zt.InputError, match="file: must have the grid's shape"):
        discretized(zt.Potential(file=str(tmp_path / "v.npz")))
    whole = (tmp_path / "v.npz").read_bytes()
    for content in (whole[:100], whole[:-30], b"potential = 1", b""):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(zt.InputError, match="file: must be an npz file"):
            zt.Potential(file=str(tmp_path / "bad.npz"))
    with h5py.File(tmp_path / "group.h5", "w") as file:
        file.create_group("potential")["mine"] = np.zeros(8)
        file["other"] = np.zeros(8)
    with pytest.raises(zt.InputError, match="dataset: must be one of other in "):
        zt.Potential(file=str(tmp_path / "group.h5"))
    discretized(zt.Potential(file=str(tmp_path / "group.h5"), dataset="potential/mine"))
    with pytest.raises(zt.InputError, match="must be the only one"):
        zt.Potential(expression="x", array=np.zeros(8))
    with pytest.raises(zt.InputError, match="file: must name an HDF5 file"):
        zt.Potential(file=str(tmp_path / "missing.h5"))
    with pytest.raises(zt.Unsupported, match="on a line"):
        discretized(zt.Coulomb())
    with pytest.raises(zt.Unsupported, match="particles=2"):
        discretized(zt.Repulsion())
    with pytest.raises(zt.InputError, match="centers: must be a list of points"):
        discretized(zt.SoftCoulomb(centers=[[0.0, 1.0]]))
    with pytest.raises(zt.InputError, match="Z: must have 1 or 2"):
        discretized(zt.SoftCoulomb(Z=[1.0, 2.0, 3.0], centers=[0.0, 1.0]))
