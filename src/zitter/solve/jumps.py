"""Edges of a potential between the points of a grid, and what they cost an energy.

A grid does not know where between two points V jumps from one value to the other: the edge may be
off by half a spacing, which shifts a level by up to h/2·|ΔV|·|ψ|² there. Coarser grids need not
show it, since on each of them the edge falls elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.sums import diagonal_of
from zitter.terms import Model, Potential, discretize

STEPS = 65  # from one point to the next, at which V is looked at: an odd number, since many an edge
# lies in the middle
LEAST = 1e-9  # of the largest change of V: what is less is rounding, or a tail that does not count
SUDDEN = 1 / 2  # of what V changes by within two steps: if four add less to it, that is a jump


def shifts(H: Hamiltonian, states: Any) -> np.ndarray | None:
    """How far the edges of the user's own potentials may shift each level, None without edges."""
    grid, own = H.basis, [term for term in H.model.terms if _may_jump(term)]
    if grid.lattice is None or not own:
        return None
    heights = [_heights(H, Model([Potential(expression="0"), *own]), axis) for axis in _axes(grid)]
    if not any(np.any(height) for height in heights):
        return None
    return np.array([_shift(np.abs(np.asarray(psi)) ** 2, heights) for psi in states])


def _may_jump(term: Any) -> bool:
    """Most expressions say that they do not: looking for jumps takes as long as many potentials."""
    if not isinstance(term, Potential):
        return False
    return term.expression is None or term.expression.may_jump


def _shift(density: np.ndarray, heights: list[np.ndarray]) -> float:
    """½ Σ |ΔV| w over neighbours, with the larger of their weights w."""
    pairs = [np.maximum(density, np.roll(density, -1, axis)) for axis in _axes(density)]
    products = (np.sum(h * pair) for h, pair in zip(heights, pairs, strict=True))
    return 0.5 * float(sum(products)) / float(np.sum(density))


def _heights(H: Hamiltonian, model: Model, axis: int) -> np.ndarray:
    """|ΔV| of the jumps on the way from each point to the next along one axis, 0 where V is steady.

    Where V is steady four steps change it twice as much as two. Two, since one of them may end
    upon the edge.
    """
    of_two, of_four, variation = (np.zeros(H.basis.shape) for _ in range(3))
    last: np.ndarray | None = None
    steps: list[np.ndarray] = []
    for values in _on_the_way(H, model, axis):
        if last is not None:
            steps = [*steps[-3:], np.abs(values - last)]
            of_two = np.maximum(of_two, sum(steps[-2:]))
            of_four = np.maximum(of_four, sum(steps))
            variation = variation + steps[-1]
        last = values
    steady = of_four - of_two  # for each two steps
    height = np.clip(variation - 0.5 * STEPS * steady, of_two - steady, None)
    jumps = of_two - steady > np.maximum(SUDDEN * of_two, LEAST * variation.max())
    return np.where(jumps, height, 0.0)


def _on_the_way(H: Hamiltonian, model: Model, axis: int) -> Iterator[np.ndarray]:
    """V at all points, moved by a part of the spacing each time."""
    grid: Any = H.basis
    for part in np.linspace(0.0, 1.0, STEPS + 1):
        center = list(grid.center)
        center[axis] += part * grid.spacing[axis]
        moved = dataclasses.replace(grid, center=tuple(center))
        try:
            operator = H.origin.remade(discretize(model, moved)).operator
        except checks.InputError:  # a pole between the points, seen from both sides of it
            continue
        yield np.asarray(diagonal_of(operator))


def _axes(of: Basis | np.ndarray) -> range:
    return range(len(of.shape))
