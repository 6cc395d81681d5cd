"""Cells: nearest images against all images, shells against the sizes the paper uses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from zitter import checks
from zitter.qmc import Cell, closed_shells
from zitter.qmc.cells import LATTICES, reduce_lattice

HEXAGONAL = [[1.0, 0.0, 0.0], [-0.5, 0.75**0.5, 0.0], [0.0, 0.0, 1.7]]
SKEWED = [[2.0, 0.1, 0.0], [1.7, 1.1, 0.2], [-0.9, 0.4, 1.3]]


def cells():
    named = [pytest.param(Cell.of_volume(name, 5.0), id=name) for name in LATTICES]
    others = {
        "skewed": SKEWED,
        "hexagonal": HEXAGONAL,
        "fcc by other vectors": [[0.5, 0.5, 0], [1, 0.5, 0.5], [0, 0.5, 0.5]],
        "rectangular": [[1.0, 0, 0], [0, 0.7, 0], [3.0, 0, 1.2]],
    }
    return [*named, *(pytest.param(Cell(v), id=name) for name, v in others.items())]


def slabs():
    return [
        pytest.param(Cell([[*x, 0.0] for x in vectors]), id=name)
        for name, vectors in (("skewed", [[1.0, 0.3], [0.8, 1.1]]), ("square", np.eye(2)))
    ]


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


@pytest.mark.parametrize("cell", slabs())
def test_a_slab_has_images_in_its_plane_alone(cell):
    flat = Cell([row[:2] for row in cell.vectors.tolist()])
    points = 3 * np.random.default_rng(2).uniform(-1, 1, (50, 3))
    found = np.stack(cell.nearest(list(points.T)), axis=-1)
    np.testing.assert_array_equal(found[:, 2], points[:, 2])
    expected = np.stack(flat.nearest(list(points.T[:2])), axis=-1)
    np.testing.assert_allclose(found[:, :2], expected, atol=1e-14)
    assert cell.volume == pytest.approx(flat.volume, rel=1e-14)
    assert cell.inradius == pytest.approx(flat.inradius, rel=1e-14)
    np.testing.assert_allclose(cell.reciprocal[:, :2], flat.reciprocal, atol=1e-13)
    np.testing.assert_allclose(cell.reciprocal[:, 2], 0, atol=1e-13)
    with pytest.raises(checks.InputError, match="vectors: must have z = 0 in a slab"):
        Cell([[1.0, 0.0, 0.0], [0.0, 1.0, 0.1]])


@pytest.mark.parametrize(
    ("vectors", "copies"),
    [
        (HEXAGONAL, 2),
        ([[0.5, 0.5, 0], [1, 0.5, 0.5], [0, 0.5, 0.5]], 4),
        ([[1.0, 0, 0], [0, 0.7, 0], [3.0, 0, 1.2]], 1),
    ],
)
def test_lattices_along_the_axes_are_few_copies_of_a_box(vectors, copies):
    """However their vectors are chosen; a hexagonal cell compares 2 images instead of 27."""
    cell = Cell(vectors)
    assert cell.rectangular
    assert len(cell.shifts) == copies


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
