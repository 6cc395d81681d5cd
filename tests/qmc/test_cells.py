"""Cells: nearest images against all images, shells against the sizes the paper uses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from zitter import checks
from zitter.qmc import Cell, closed_shells
from zitter.qmc.cells import LATTICES, reduce_lattice

SKEWED = [[2.0, 0.1, 0.0], [1.7, 1.1, 0.2], [-0.9, 0.4, 1.3]]


def cells():
    named = [pytest.param(Cell.of_volume(name, 5.0), id=name) for name in LATTICES]
    return [*named, pytest.param(Cell(SKEWED), id="skewed")]


@pytest.mark.parametrize("cell", cells())
def test_nearest_image_is_the_shortest_of_all_images(cell):
    rng = np.random.default_rng(1)
    points = 1.5 * rng.uniform(-1, 1, (200, cell.dimension))
    found = np.stack(cell.nearest(list(points.T)), axis=-1)
    steps = np.array(list(itertools.product(range(-9, 10), repeat=cell.dimension)))
    images = points[:, None] - (steps @ cell.vectors)[None]
    shortest = np.min(np.linalg.norm(images, axis=-1), axis=1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), shortest, rtol=1e-12)
    # What was subtracted is a lattice vector.
    turns = (points - found) @ cell.inverse
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)


@pytest.mark.parametrize("cell", cells())
def test_reciprocal_vectors_are_dual(cell):
    n = cell.dimension
    np.testing.assert_allclose(cell.vectors @ cell.reciprocal.T, 2 * np.pi * np.eye(n), atol=1e-12)


def test_reduction_keeps_the_volume_and_finds_the_shortest_vector():
    reduced = reduce_lattice(np.array(SKEWED))
    assert abs(np.linalg.det(reduced)) == pytest.approx(abs(np.linalg.det(SKEWED)), rel=1e-12)
    steps = np.array(list(itertools.product(range(-6, 7), repeat=3)))
    lengths = np.linalg.norm(steps @ np.array(SKEWED), axis=1)
    shortest = np.min(lengths[lengths > 0])
    assert 2 * Cell(SKEWED).inradius == pytest.approx(shortest, rel=1e-12)


@pytest.mark.parametrize(
    ("lattice", "sizes"),
    [
        ("fcc", (118, 226, 678, 1290, 1642, 1930)),  # the paper's three-dimensional gases
        ("square", (98, 1642, 26, 50)),  # the paper's two-dimensional gases
        ("sc", (2, 14, 38, 54, 66, 114, 162, 186, 246)),
    ],
)
def test_closed_shells(lattice, sizes):
    assert set(sizes) <= set(closed_shells(lattice))


def test_closed_shells_of_lattice_vectors():
    """A lattice is the same however its vectors are chosen."""
    assert closed_shells([[2, 0, 0], [0, 2, 0], [4, 2, 2]], 200) == closed_shells("sc", 200)
    for wrong in (0, "many"):
        with pytest.raises(checks.InputError, match="maximum: must be"):
            closed_shells("sc", wrong)  # type: ignore[arg-type]


def test_closed_shells_of_one_spin_are_half_as_large():
    assert closed_shells("sc", 60, polarized=True) == [1, 7, 19, 27, 33, 57]


def test_dependent_vectors_are_refused():
    with pytest.raises(checks.InputError, match="linearly dependent"):
        Cell([[1.0, 0.0], [2.0, 0.0]])
