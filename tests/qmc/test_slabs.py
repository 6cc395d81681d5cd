"""Slabs: Ewald sums with extent in z against direct sums, the plane, and thick periodic cells."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, erfc

from zitter import checks
from zitter.qmc import Cell, Crystal, Ewald, Nucleus, Orbitals, SlaterJastrow, vmc

A = 4.7458  # boron nitride, bohr
HEXAGONAL = [[A, 0.0, 0.0], [-A / 2, A * math.sqrt(0.75), 0.0]]
EXTENT = 12.0


@pytest.fixture(scope="module")
def points():
    drawn = np.random.default_rng(0).uniform(-1, 1, (6, 3)) * np.array([6.0, 6.0, EXTENT])
    drawn[0, 2] = 0.0
    drawn[1, 2] = EXTENT
    return drawn


@eqx.filter_jit
def potential(ewald, points):
    return jax.vmap(ewald.pair)(points)


@eqx.filter_jit
def energy_of(ewald, r, charges):
    return ewald.energy(r, charges)


def by_equation_5(cell, r, gamma):
    """Thorpe et al., Eq. (5), pair by pair."""
    area, root, z = float(cell.volume), math.sqrt(gamma), r[2]
    g = cell.reciprocal_points(12 * root + 3)[1][1:]
    n = np.linalg.norm(g, axis=1)
    up = np.exp(z * n) * erfc(n / (2 * root) + z * root)
    down = np.exp(-z * n) * erfc(n / (2 * root) - z * root)
    waves = np.pi / area * np.sum((up + down) / n * np.cos(g @ r))
    apart = np.linalg.norm(r - cell.lattice_points(8 / root + 10), axis=1)
    flat = z * erf(z * root) + math.exp(-gamma * z * z) / math.sqrt(gamma * np.pi)
    return waves + np.sum(erfc(root * apart) / apart) - 2 * np.pi / area * flat


def test_the_potential_is_that_of_the_paper(points):
    cell = Cell(HEXAGONAL)
    exact = np.array([by_equation_5(cell, r, 0.3) for r in points])
    other = np.array([by_equation_5(cell, r, 0.1) for r in points])
    np.testing.assert_allclose(exact, other, atol=1e-13)
    for gamma in (None, 0.4):
        found = potential(Ewald(cell, 1e-13, gamma, EXTENT), jnp.asarray(points))
        np.testing.assert_allclose(found, exact, atol=1e-12)
    for tolerance in (1e-4, 1e-6, 1e-8):
        found = potential(Ewald(cell, tolerance, extent=EXTENT), jnp.asarray(points))
        # Three neglected parts may lose `tolerance` each.
        assert np.max(np.abs(found - exact)) * cell.inradius < 3 * tolerance


def test_the_potential_against_the_direct_sum():
    """Differences of potentials as plain sums over 1/r, the far circle added by its multipoles.

    Averaged over angles 1/|r − R| is 1/R + (ρ²/4 − z²/2)/R³ + O(R⁻⁵); beyond the radius R the
    second term sums to (2π/A)(ρ²/4 − z²/2)/R.
    """
    cell = Cell(HEXAGONAL)
    a, b = np.array([1.0, 0.4, 0.7]), np.array([0.3, -1.1, -2.0])
    lattice = cell.lattice_points(150 * A)
    radius = 150 * A
    found = potential(Ewald(cell, 1e-12, extent=EXTENT), jnp.asarray([a, b]))

    def direct(r):
        near = np.sum(1 / np.linalg.norm(r - lattice, axis=1))
        tail = (r[0] ** 2 + r[1] ** 2) / 4 - r[2] ** 2 / 2
        return near + 2 * np.pi / float(cell.volume) * tail / radius

    # The rim of the circle is ragged: its points scatter by R^½, each with the weight ρ²/R³.
    assert float(found[0] - found[1]) == pytest.approx(direct(a) - direct(b), abs=2e-6)


def test_flat_slabs_are_two_dimensional():
    flat = [row[:2] for row in HEXAGONAL]
    points = np.random.default_rng(1).uniform(-5, 5, (5, 2))
    plane = potential(Ewald(Cell(flat), 1e-12), jnp.asarray(points))
    raised = jnp.asarray(np.pad(points, [(0, 0), (0, 1)]))
    slab = potential(Ewald(Cell(HEXAGONAL), 1e-12, extent=1.0), raised)
    np.testing.assert_allclose(slab, plane, atol=1e-11)


def test_thick_cells_tend_to_slabs_once_their_dipole_is_taken_out():
    """E_slab = E_3D + (2π/V) M_z², but for e^{−G(c−|z|)} (Yeh and Berkowitz 1999)."""
    rng = np.random.default_rng(3)
    r = rng.uniform(-2, 2, (3, 6))
    charges = np.array([2.0, -1.0, 1.5, -1.0, -1.0, -0.5])
    slab = float(energy_of(Ewald(Cell(HEXAGONAL), 1e-12, extent=4.0), r, charges))
    c = 24.0
    cell = Cell([*HEXAGONAL, [0.0, 0.0, c]])
    dipole = charges @ r[2]
    thick = float(energy_of(Ewald(cell, 1e-12), r, charges))
    assert abs(2 * np.pi / float(cell.volume) * dipole**2) > 1e-3
    # e^{−G(c − 4)} with G = 1.53 is 6e-14.
    assert slab == pytest.approx(thick + 2 * np.pi / float(cell.volume) * dipole**2, abs=1e-9)


@pytest.mark.parametrize(
    ("height", "value"),
    [
        # PySCF 2.14: cell.energy_nuc() with dimension=2 and precision 1e-12
        (0.0, -19.967440819234906),
        (0.9, -21.213552923259144),
    ],
)
def test_boron_nitride(height, value):
    nuclei = [Nucleus(3), Nucleus(5, (0, A / math.sqrt(3), height))]
    crystal = Crystal(HEXAGONAL, nuclei, (4, 4), tolerance=1e-12)
    assert float(crystal.coulomb.repulsion) == pytest.approx(value, abs=1e-9)
    assert crystal.start(jax.random.PRNGKey(0), 3).shape == (3, 3, 8)
    np.testing.assert_array_equal(crystal.twist, [0.0, 0.0])


def test_extents():
    with pytest.raises(checks.InputError, match="extent: must be given for a slab"):
        Ewald(Cell(HEXAGONAL))
    with pytest.raises(checks.InputError, match="extent: must be given for slabs only"):
        Ewald(Cell(np.eye(3).tolist()), extent=3.0)


class Sheet(Orbitals):
    """e^{−az²}: an electron anywhere in the plane."""

    a: float = 0.3
    count: int = eqx.field(static=True, default=1)
    is_complex: bool = eqx.field(static=True, default=False)

    def values(self, r, dtype=jnp.float64):
        return self.derivatives(r, dtype)[0]

    def derivatives(self, r, dtype=jnp.float64):
        z = r[2].astype(dtype)
        value = jnp.exp(-self.a * z**2)
        slope = jnp.stack([0 * z, 0 * z, -2 * self.a * z * value])
        laplacian = (4 * self.a**2 * z**2 - 2 * self.a) * value
        return value[..., None], slope[..., None], laplacian[..., None]


@pytest.mark.slow
def test_a_sheet_of_electrons_before_protons():
    """Averaged over the plane v_E is −2π|z|/A, so the attraction is 2π⟨|z|⟩/A, exactly."""
    a = 0.3
    crystal = Crystal(HEXAGONAL, [Nucleus(1)], (1, 0), cells=1)
    run = vmc(
        SlaterJastrow(crystal, orbitals=Sheet(a=a)),
        walkers=128,
        blocks=60,
        stride=4,
        equilibration=40,
    )
    area = float(crystal.cell.volume)
    mean = 1 / math.sqrt(2 * np.pi * a)  # ⟨|z|⟩ of e^{−2az²}
    parts = run.parts
    exact = {"kinetic": a / 2, "electron_nucleus": 2 * np.pi * mean / area}
    for name, value in exact.items():
        assert abs(parts[name].mean - value) < 4 * parts[name].error
        assert parts[name].error < 0.05 * value
    images = 0.5 * float(crystal.coulomb.ewald.madelung)
    assert parts["electron_electron"].mean == pytest.approx(images, abs=1e-9)
    assert parts["nucleus_nucleus"].mean == pytest.approx(images, abs=1e-9)
