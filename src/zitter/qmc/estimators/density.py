"""The density of electrons and of their spin on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell
from zitter.qmc.estimators.base import Estimator, Prepared, average

ROUNDING = 1e-12  # of the electrons: fewer are missed by sums of weights alone


class Density(Estimator):
    """n↑ + n↓ and n↑ − n↓ in the voxels of a grid, in electrons per bohr³.

    The grid of `shape` (a number for all axes, or one for each) divides the cell along its lattice
    vectors, or the smaller cell with the lattice `vectors`, into which all electrons are folded,
    such as the primitive one of a supercell. In directions without images it reaches `margin`
    beyond the nuclei; how many electrons were farther out is said by `outside`, with its error, and
    in the summary. `out.write_cube(file)` writes it for molecular viewers.

    A run keeps the grid of each block: 2·24³ numbers in 200 blocks are 44 MB.
    """

    margin: Any
    vectors: Any
    shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        shape: int | Sequence[int] = 24,
        margin: float | str = 6.0,
        vectors: Sequence[Sequence[float]] | np.ndarray | None = None,
    ):
        given = shape if isinstance(shape, list | tuple) else [shape]
        self.shape = tuple(checks.integer(f"shape.{i}", n, 1, 512) for i, n in enumerate(given))
        self.margin = checks.positive("margin", margin, "length")
        self.vectors = None if vectors is None else checks.array("vectors", vectors, (None, None))

    def prepare(self, system):
        d, cell = system.dimension, system.cell
        shape = self.shape * d if len(self.shape) == 1 else self.shape
        if len(shape) != d:
            raise checks.InputError(
                "estimators.shape", f"must be one number, or {d} of them, but is {self.shape}"
            )
        places = system.nuclei.positions if system.nuclei.count else np.zeros((1, d))
        periodic = 0 if cell is None else cell.dimension
        origin = np.min(places, axis=0) - self.margin
        edges = np.diag(np.ptp(places, axis=0) + 2 * self.margin)
        copies = 1
        if cell is not None:
            smaller = cell.vectors if self.vectors is None else self.vectors
            copies = _copies(cell, smaller)
            origin[:periodic] = 0.0
            edges[:periodic] = smaller
        elif self.vectors is not None:
            raise checks.InputError("estimators.vectors", "must be given with a cell only")
        nuclei = np.column_stack([system.nuclei.charges, system.nuclei.positions])
        return _Voxels(origin, edges, nuclei, shape, periodic, copies, system.spins)


def _copies(cell: Cell, vectors: Any) -> int:
    """How many of the smaller cells make up the cell."""
    checks.array("estimators.vectors", vectors, cell.vectors.shape)
    turns = cell.vectors @ np.linalg.pinv(vectors)
    if np.max(np.abs(turns - np.round(turns))) > 1e-6:
        raise checks.InputError(
            "estimators.vectors", "must be of a cell that fills the simulation cell, but are not"
        )
    return round(abs(np.linalg.det(turns)))


class _Voxels(Prepared):
    origin: Any
    edges: Any  # vectors along the axes of the grid
    inverse: Any
    nuclei: Any  # (nuclei, 1 + d): charges and positions
    shape: tuple[int, ...] = eqx.field(static=True)
    periodic: int = eqx.field(static=True)  # how many of the first axes are
    copies: int = eqx.field(static=True)  # of the grid in the cell
    spins: tuple[int, int] = eqx.field(static=True)
    name: ClassVar[str] = "density"

    def __init__(self, origin, edges, nuclei, shape, periodic, copies, spins):
        self.origin, self.edges, self.nuclei = origin, edges, nuclei
        self.inverse = np.linalg.inv(edges)
        self.shape, self.periodic, self.copies, self.spins = shape, periodic, copies, spins

    def evaluate(self, psi, walker, key):
        """The voxel of each electron; one that is outside has the number behind the last."""
        turns = self.inverse.T @ (walker.r - self.origin[:, None])
        place, inside = jnp.zeros(turns.shape[1], jnp.int32), True
        for axis, (along, n) in enumerate(zip(turns, self.shape, strict=True)):
            if axis < self.periodic:
                along = along - jnp.floor(along)
            step = jnp.floor(along * n).astype(jnp.int32)
            if axis < self.periodic:
                step = jnp.minimum(step, n - 1)  # −1e-17 + 1 is rounded to 1
            inside &= (step >= 0) & (step < n)
            place = place * n + step
        return jnp.where(inside, place, int(np.prod(self.shape)))

    def reduce(self, values, shares):
        """Electrons of each spin in each voxel; walkers give places instead of grids of zeros."""
        size, up = int(np.prod(self.shape)), self.spins[0]
        spin = np.where(np.arange(values.shape[1]) < up, 0, size + 1)
        weights = jnp.broadcast_to(shares[:, None], values.shape)
        counts = jnp.zeros(2 * (size + 1)).at[(values + spin).ravel()].add(weights.ravel())
        return counts.reshape(2, size + 1)[:, :-1].reshape(2, *self.shape)

    def finalize(self, blocks, weights):
        rows = np.stack([blocks[:, 0] + blocks[:, 1], blocks[:, 0] - blocks[:, 1]], axis=1)
        mean, error = average(rows, weights)
        steps = self.edges / np.asarray(self.shape)[:, None]
        voxel = self.copies * abs(np.linalg.det(steps))
        found = {
            "mean": mean / voxel,
            "error": error / voxel,
            "origin": self.origin + 0.5 * np.sum(steps, axis=0),  # the middle of the first voxel
            "steps": steps,
            "nuclei": np.asarray(self.nuclei),
        }
        if self.periodic < len(self.shape):
            missed = sum(self.spins) - blocks.reshape(len(blocks), -1).sum(axis=1)
            missed = np.where(np.abs(missed) < ROUNDING * sum(self.spins), 0.0, missed)
            outside, its_error = average(missed, weights)
            found |= {"outside": outside, "outside_error": its_error}
        return found
