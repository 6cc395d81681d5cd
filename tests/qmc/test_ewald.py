"""Ewald sums: Madelung constants, independence of γ, and sums done without Ewald."""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter.qmc import Cell, Ewald, madelung
from zitter.qmc.cells import LATTICES


@eqx.filter_jit
def energy_of(ewald, r, charges=None):
    return ewald.energy(r, charges)


@eqx.filter_jit
def potential(ewald, points):
    return jax.vmap(ewald.pair)(points)


@pytest.mark.parametrize(
    ("lattice", "value"),
    [
        # v_M·V^{1/d}, known to nine digits
        ("sc", -2.837297479),
        ("fcc", -2.888282119),
        ("bcc", -2.888461503),
        ("square", -3.900264920),
    ],
)
def test_madelung_constants(lattice, value):
    # Half a unit in the ninth decimal place is all the reference holds.
    assert madelung(Cell.of_volume(lattice, 1.0)) == pytest.approx(value, abs=5.01e-10)
    volume = 7.3
    cell = Cell.of_volume(lattice, volume)
    assert madelung(cell) * volume ** (1 / cell.dimension) == pytest.approx(value, abs=5.01e-10)


@pytest.mark.parametrize("lattice", LATTICES)
def test_energy_does_not_depend_on_gamma(lattice):
    cell = Cell.of_volume(lattice, 1.0)
    r = jnp.asarray(np.random.default_rng(0).uniform(-1, 2, (cell.dimension, 8)))
    energies = [float(energy_of(Ewald(cell, 1e-13, gamma), r)) for gamma in (None, 8.0, 20.0, 40.0)]
    assert np.ptp(energies) < 1e-10 * max(1.0, abs(energies[0]))


@pytest.mark.parametrize("lattice", LATTICES)
def test_the_tolerance_is_kept(lattice):
    """The pair potential itself, at its worst place (the faces of the Wigner–Seitz cell)."""
    cell = Cell.of_volume(lattice, 1.0)
    rng = np.random.default_rng(3)
    points = jnp.asarray(
        [
            0.5 * cell.vectors[0],
            0.5 * cell.vectors.sum(axis=0),
            *rng.uniform(-1, 1, (6, cell.dimension)),
        ]
    )
    tight = potential(Ewald(cell, 1e-13), points)
    for tolerance in (1e-4, 1e-6, 1e-8):
        loose = potential(Ewald(cell, tolerance), points)
        worst = float(jnp.max(jnp.abs(loose - tight)))
        # Each of the two series may lose `tolerance`; several images tie on edges and corners.
        assert worst * cell.inradius < 4 * tolerance


def test_rock_salt_against_the_direct_sum():
    """NaCl: Evjen's sum over neutral cubes (faces, edges, corners shared) needs no Ewald."""
    cell = Cell.of_volume("sc", 8.0)
    places = np.array(list(itertools.product((0, 1), repeat=3)), float)
    charges = 1.0 - 2 * (places.sum(axis=1) % 2)
    energy = float(energy_of(Ewald(cell, 1e-13), jnp.asarray(places.T), jnp.asarray(charges)))
    m = 40
    axis = np.arange(-m, m + 1)
    share = np.where(np.abs(axis) == m, 0.5, 1.0)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    w = share[:, None, None] * share[None, :, None] * share[None, None, :]
    distance = np.sqrt(x**2 + y**2 + z**2.0)
    distance[m, m, m] = np.inf
    direct = np.sum(w * (-1.0) ** (x + y + z) / distance)
    # The energy of 8 ions is 8·½ of the potential; Evjen's remainder falls as m⁻⁴ or faster.
    assert energy / 4 == pytest.approx(direct, abs=1e-5)
    assert energy / 4 == pytest.approx(-1.747564594633, abs=1e-11)


def test_chequerboard_against_the_direct_sum():
    """The two-dimensional analogue, where the constant is −1.61554262671."""
    cell = Cell.of_volume("square", 4.0)
    places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    charges = jnp.asarray([1.0, -1.0, -1.0, 1.0])
    energy = float(energy_of(Ewald(cell, 1e-13), jnp.asarray(places.T), charges))
    assert energy / 2 == pytest.approx(-1.61554262671, abs=1e-10)


@pytest.mark.parametrize("lattice", LATTICES)
def test_one_particle_move(lattice):
    cell = Cell.of_volume(lattice, 3.0)
    ewald = Ewald(cell)
    rng = np.random.default_rng(5)
    r = jnp.asarray(rng.uniform(-1, 1, (cell.dimension, 7)))
    new = jnp.asarray(rng.uniform(-1, 1, cell.dimension))
    after = r.at[:, 4].set(new)
    structure = eqx.filter_jit(lambda ewald, r: ewald.structure(r))
    change, rho = eqx.filter_jit(lambda ewald, *a: ewald.move(*a))(
        ewald, r, structure(ewald, r), 4, new
    )
    # Rounding only: both forms use the same truncated series.
    assert float(change) == pytest.approx(
        float(energy_of(ewald, after) - energy_of(ewald, r)), abs=1e-12
    )
    np.testing.assert_allclose(rho, structure(ewald, after), atol=1e-12)


@pytest.mark.slow
def test_single_precision_energy():
    cell = Cell.of_volume("sc", 54 * 4 * np.pi / 3)
    r = jnp.asarray(np.random.default_rng(2).uniform(0, 6, (3, 54)))
    ewald = Ewald(cell)
    exact, single = float(ewald.energy(r)), float(ewald.energy(r, dtype=jnp.float32))
    # 1431 pairs of ~1/r with relative rounding 6e-8 each, adding at random.
    assert abs(single - exact) < 1e-4
    assert single != exact
