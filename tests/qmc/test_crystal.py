"""Crystals: ions of known lattices, electrons and ions together, what the system says."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter import checks
from zitter.qmc import Crystal, Ewald, Nucleus, SlaterJastrow
from zitter.qmc.cells import Cell
from zitter.qmc.wavefunction import Walker

A = 10.263  # silicon, bohr
FCC = np.array([[0, A / 2, A / 2], [A / 2, 0, A / 2], [A / 2, A / 2, 0]])
SKEWED = [[5, 0.3, 0], [0.2, 6.1, 0.4], [-1.0, 0.5, 7.0]]


def silicon(tolerance=1e-12):
    return Crystal(FCC, [Nucleus(4), Nucleus(4, (A / 4,) * 3)], (4, 4), tolerance=tolerance)


def skewed(tolerance=1e-12):
    nuclei = [
        Nucleus(3, (0.1, 0.2, 0.3)),
        Nucleus(1, (2.4, 2.9, 3.1)),
        Nucleus(1, (1.0, 4.5, -0.5)),
    ]
    return Crystal(SKEWED, nuclei, (3, 2), tolerance=tolerance)


@eqx.filter_jit
def parts(term, r, dtype=jnp.float64):
    return term.evaluate(None, Walker(r, jnp.ones(()), jnp.zeros(())), None, dtype)


@eqx.filter_jit
def total(ewald, r, charges):
    return ewald.energy(r, charges)


@pytest.mark.parametrize(
    ("crystal", "value"),
    [
        # PySCF 2.14, cell.energy_nuc() with precision 1e-12
        (silicon, -8.398009227932302),
        (skewed, -3.0157725950859424),
    ],
)
def test_energy_of_ions_equals_that_of_pyscf(crystal, value):
    assert float(crystal().coulomb.repulsion) == pytest.approx(value, abs=1e-9)
    # The default tolerance, 1e-6 for a pair of unit charges at the faces of the cell.
    assert float(crystal(1e-6).coulomb.repulsion) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize(
    ("vectors", "places", "shortest", "constant"),
    [
        # Madelung constants by the distance of neighbours, CsCl and NaCl
        (np.eye(3), [[0, 0, 0], [0.5, 0.5, 0.5]], 3**0.5 / 2, -1.762674773070),
        (FCC / A, [[0, 0, 0], [0.5, 0.5, 0.5]], 0.5, -1.747564594633),
    ],
)
def test_ionic_crystals(vectors, places, shortest, constant):
    ewald = Ewald(Cell(vectors), 1e-13)
    energy = total(ewald, jnp.asarray(places, float).T, jnp.asarray([1.0, -1.0]))
    assert float(energy) * shortest == pytest.approx(constant, abs=1e-11)


def test_parts_add_up_to_the_energy_of_all_charges():
    crystal = skewed()
    term = crystal.coulomb
    r = jnp.asarray(np.random.default_rng(1).uniform(-3, 8, (3, 5)))
    found = parts(term, r)
    everything = jnp.concatenate([r, term.positions.T], axis=1)
    charges = jnp.concatenate([-jnp.ones(5), term.charges])
    for gamma in (None, 0.15, 0.6):
        ewald = Ewald(crystal.cell, 1e-12, gamma)
        assert float(sum(found.values())) == pytest.approx(
            float(total(ewald, everything, charges)), abs=1e-9
        )
    # All moved together, or one by a lattice vector: nothing changes.
    moved = eqx.tree_at(lambda t: t.positions, term, term.positions + np.array([0.3, -1.2, 2.0]))
    moved = type(term)(moved.ewald, moved.charges, moved.positions)
    again = parts(moved, r + jnp.array([[0.3], [-1.2], [2.0]]))
    around = parts(term, r.at[:, 2].add(jnp.asarray(SKEWED[1])))
    for name, value in found.items():
        assert float(again[name]) == pytest.approx(float(value), abs=1e-10)
        assert float(around[name]) == pytest.approx(float(value), abs=1e-10)


def test_single_precision():
    crystal = silicon(1e-6)
    r = jnp.asarray(np.random.default_rng(4).uniform(0, 9, (3, 8)))
    exact, single = parts(crystal.coulomb, r), parts(crystal.coulomb, r, jnp.float32)
    for name in ("electron_electron", "electron_nucleus"):
        # Tens of pairs of about 1 hartree, each with a relative rounding of 6e-8.
        assert 0 < abs(float(single[name] - exact[name])) < 2e-5


def test_what_the_system_says():
    crystal = Crystal(
        2 * FCC,
        [Nucleus(4, tuple(t + s)) for t in np.vstack([0 * FCC[0], FCC]) for s in (0 * t, A / 4)],
        (16, 16),
        twist=(0.5, 0.0, 0.0),
        cells=4,
    )
    assert crystal.units == (4, "hartree per cell")
    assert crystal.charge == 0
    assert crystal.length == 0.25
    r = crystal.start(jax.random.PRNGKey(0), 5)
    assert r.shape == (5, 3, 32)
    # Every nucleus gets its four electrons, two of each spin.
    near = np.linalg.norm(
        np.asarray(r[0].T[:, None] - crystal.nuclei.positions[None]), axis=-1
    ).argmin(axis=1)
    np.testing.assert_array_equal(np.bincount(near[:16]), 2)
    np.testing.assert_array_equal(np.bincount(near[16:]), 2)
    with pytest.raises(checks.InputError, match="orbitals: must be given for a Crystal"):
        SlaterJastrow(crystal)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"vectors": [[1.0, 0, 0], [2.0, 0, 0], [0, 0, 1.0]]}, "vectors: must span the space"),
        ({"vectors": [[1.0, 0], [0, 1.0]]}, "vectors: must"),
        ({"vectors": [[1.0, 0, 0]]}, "vectors: must be 3, or 2 of a slab, but are 1"),
        ({"vectors": [[4.0, 0, 0], [0, 4.0, 1.0]]}, "vectors: must have z = 0 in a slab"),
        ({"vectors": 4 * np.eye(3)[:2], "spins": (1, 1)}, "spins: must make a slab neutral"),
        ({"vectors": 4 * np.eye(3)[:2], "twist": (0.5, 0.5, 0.0)}, "twist: must"),
        ({"nuclei": []}, "nuclei: must hold one"),
        ({"nuclei": [Nucleus(1), Nucleus(1, (0, 0, 4.0))]}, "nuclei: must be at different places"),
        ({"spins": (0, 1)}, "spins: must hold electrons"),
        ({"twist": (0.5, 0.5)}, "twist: must"),
        ({"cells": 0}, "cells: must"),
    ],
)
def test_what_is_refused(change, sentence):
    good = {"vectors": 4 * np.eye(3), "nuclei": [Nucleus(1)], "spins": (1, 0)}
    with pytest.raises(checks.InputError, match=sentence):
        Crystal(**(good | change))
