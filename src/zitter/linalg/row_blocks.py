"""A matrix of blocks along its diagonal, between rows of an array.

    (Bψ)_g = B_g ψ_g        each block from some neighboring rows to as many or others

Blocks are taken in a few batches, filled up with zeros to the largest of the batch: all in one on
GPUs, which pay for each product, and more on CPUs, which pay for each zero. One product for each
block would take many seconds to compile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime


class RowBlocks(eqx.Module):
    """⊕ B_g on arrays (rows, …), in so many `batches`."""

    blocks: tuple[jax.Array, ...]  # of each batch (blocks, most, most)
    after: Groups  # of the rows of Bψ
    before: Groups  # of the rows of ψ

    def __init__(self, blocks: Sequence[np.ndarray], batches: int, dtype: Any):
        self.after, self.before = (
            Groups([block.shape[side] for block in blocks], batches) for side in (0, 1)
        )
        filled, first = [], 0
        for rows, columns in zip(self.after.shapes, self.before.shapes, strict=True):
            batch = np.zeros((*rows, columns[1]))
            for place, block in zip(batch, blocks[first : first + len(batch)], strict=True):
                place[: block.shape[0], : block.shape[1]] = block
            filled.append(jnp.asarray(batch, dtype))
            first += len(batch)
        self.blocks = tuple(filled)

    def times(self, psi: jax.Array, transposed: bool = False) -> jax.Array:
        """⊕ B_g ψ, or ⊕ B_gᵀ ψ."""
        columns = psi.reshape(psi.shape[0], math.prod(psi.shape[1:]))
        before, after = (self.after, self.before) if transposed else (self.before, self.after)
        how = "gij,gic->gjc" if transposed else "gij,gjc->gic"
        products = zip(self.blocks, before.filled(columns), strict=True)
        image = after.joined([jnp.einsum(how, block, rows) for block, rows in products])
        return image.reshape(image.shape[0], *psi.shape[1:])


class Groups(eqx.Module):
    """Neighboring rows in groups of different size, filled up to one size in each batch."""

    taken: tuple[np.ndarray, ...]  # (groups, most): the row at each place, any where there is none
    kept: np.ndarray  # the place of each row among all places
    shapes: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __init__(self, counts: Sequence[int], batches: int):
        first = np.cumsum(counts) - counts
        taken, there = [], []
        for groups in np.array_split(np.arange(len(counts)), min(batches, len(counts))):
            numbers = np.arange(max(counts[g] for g in groups))
            inside = numbers < np.asarray(counts)[groups, None]
            taken.append(np.where(inside, first[groups, None] + numbers, 0))
            there.append(inside.ravel())
        self.taken = tuple(taken)
        self.kept = np.flatnonzero(np.concatenate(there))
        self.shapes = tuple(rows.shape for rows in taken)

    def filled(self, rows: jax.Array) -> list[jax.Array]:
        """(rows, …) as (groups, most, …) of each batch; what fills up counts for nothing."""
        return [rows[places] for places in self.taken]

    def joined(self, batches: Sequence[jax.Array]) -> jax.Array:
        """The inverse."""
        places = [batch.reshape(math.prod(batch.shape[:2]), *batch.shape[2:]) for batch in batches]
        return jnp.concatenate(places)[self.kept]


def batches_here() -> int:
    """Into how many batches this device likes blocks of growing size to be put."""
    return 4 if runtime.on_host() else 1
