"""Plane waves with the symmetry of a crystal: silicon, zinc blende and slabs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from zitter.qmc import Nucleus
from zitter.qmc.cells import Cell
from zitter.qmc.jastrow.crystal_symmetry import operations, symmetric_waves
from zitter.qmc.systems.nuclei import Nuclei

A = 10.26
PRIMITIVE = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]) * A
ORIGIN = np.array([0.1, 0.2, 0.3])


def crystal(symbols: tuple[str, str], repeat: int = 1) -> tuple[Cell, Nuclei]:
    basis = [ORIGIN, ORIGIN + A / 4]
    nuclei = [
        Nucleus(4, (place + np.array(n) @ PRIMITIVE).tolist(), symbol)
        for n in itertools.product(range(repeat), repeat=3)
        for place, symbol in zip(basis, symbols, strict=True)
    ]
    return Cell((repeat * PRIMITIVE).tolist()), Nuclei(nuclei)


def values(G, C, r):
    phase = r @ G.T
    return np.cos(phase) @ C[:, 0].T + np.sin(phase) @ C[:, 1].T


@pytest.mark.parametrize(
    ("symbols", "count", "squares"),
    [
        # 48 operations of Fd3̄m and 24 of F4̄3m, modulo translations. (2π/a)² times 3 is {111}; {200}
        # is extinct in diamond.
        (("Si", "Si"), 48, [3, 8, 11]),
        (("Ga", "As"), 24, [3, 4, 8]),
    ],
)
def test_waves_of_primitive_and_supercells(symbols, count, squares):
    cell, nuclei = crystal(symbols)
    ops = operations(cell, nuclei)
    assert len(ops) == count
    G, C = symmetric_waves(cell, nuclei, 3)
    found = np.unique(np.round(np.sum(G**2, axis=1) * (A / (2 * np.pi)) ** 2, 6))
    np.testing.assert_allclose(found, squares, atol=1e-5)
    r = np.random.default_rng(0).uniform(0, A, (20, 3))
    for R, t in ops:
        np.testing.assert_allclose(values(G, C, r @ R.T + t), values(G, C, r), atol=1e-10)
    # A supercell has the same functions: those of its own lattice alone are no symmetric ones.
    larger = symmetric_waves(*crystal(symbols, 2), 3)
    assert larger[1].shape[0] == C.shape[0]
    both = np.concatenate([values(G, C, r), values(*larger, r)], axis=1)
    assert np.linalg.matrix_rank(both, tol=1e-8) == C.shape[0]


@pytest.mark.parametrize(
    ("lift", "count"),
    [
        # p6mm of a flat honeycomb; buckled, three of its six rotations and half of its mirrors
        # change what is above, and are left: p3m1.
        (0.0, 12),
        (0.9, 6),
    ],
)
def test_waves_of_a_slab_have_the_symmetry_of_its_plane(lift, count):
    a = 4.6
    cell = Cell([[a, 0, 0], [-a / 2, a * 3**0.5 / 2, 0]])
    middle = np.array([0.3, 0.1, 0.5])
    other = middle + np.array([0, a / 3**0.5, lift])
    nuclei = Nuclei([Nucleus(4, place.tolist(), "C") for place in (middle, other)])
    ops = operations(cell, nuclei)
    assert len(ops) == count
    for R, t in ops:
        np.testing.assert_allclose(R[2], [0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
        assert abs(t[2]) < 1e-12
    G, C = symmetric_waves(cell, nuclei, 3)
    np.testing.assert_array_equal(G[:, 2], 0)
    found = np.unique(np.round(np.sum(G**2, axis=1) * (3**0.5 * a / (4 * np.pi)) ** 2, 6))
    np.testing.assert_allclose(found, [1, 3, 4], atol=1e-5)
    r = np.random.default_rng(0).uniform(0, a, (20, 3))
    for R, t in ops:
        np.testing.assert_allclose(values(G, C, r @ R.T + t), values(G, C, r), atol=1e-10)
    # Of waves cos and sin of six vectors, p6mm leaves one function; p3m1 a second, odd one.
    assert len(symmetric_waves(cell, nuclei, 1)[1]) == (1 if lift == 0 else 2)
