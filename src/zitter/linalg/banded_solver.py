"""Direct solution of banded systems, on any device, for right-hand sides in a loop.

Half-width 1: the device library's tridiagonal solver. Wider: the matrix is cut into p×p blocks and
solved by block cyclic reduction (log₂(n/p) rounds of batched small products, so a GPU is busy).
No pivoting: elimination in any order is stable for 1 + iX with Hermitian X, since every
principal minor of such a matrix is as well conditioned as the whole.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.linalg.base import Solver
from zitter.linalg.inverses import inverses


class Level(eqx.Module):
    """One round of the reduction: what turns odd rows into even ones, and back."""

    lower: jax.Array  # couplings of odd rows to the even row before them, B⁻¹A
    upper: jax.Array  # … to the even row after them, B⁻¹C
    inverse: jax.Array  # B⁻¹ of the odd rows
    before: jax.Array  # couplings of even rows to the odd row before them
    after: jax.Array  # … after them


class BandedSolver(Solver):
    """Factors of a banded matrix M; `solve(rhs)` gives M⁻¹ rhs."""

    tridiagonal: tuple[jax.Array, jax.Array, jax.Array] | None
    levels: tuple[Level, ...]
    last: jax.Array | None
    size: int = eqx.field(static=True)
    block: int = eqx.field(static=True)

    def __init__(self, bands: jax.Array):
        """`bands[p + k, j] = M[j, j + k]`, as in `Banded`."""
        p = bands.shape[0] // 2
        self.size, self.block = bands.shape[1], max(p, 1)
        self.tridiagonal, self.levels, self.last = None, (), None
        if p <= 1:
            zero = jnp.zeros_like(bands[0])
            low, high = (bands[0], bands[2]) if p else (zero, zero)
            self.tridiagonal = (low.at[0].set(0), bands[p], high.at[-1].set(0))
        else:
            self.levels, self.last = reduce_blocks(*split_into_blocks(bands))

    def solve(self, rhs: jax.Array) -> jax.Array:
        if self.tridiagonal is not None:
            return jax.lax.linalg.tridiagonal_solve(*self.tridiagonal, rhs[:, None])[:, 0]
        assert self.last is not None
        p, n = self.block, self.size
        x = jnp.pad(rhs, (0, padded_size(n, p) - n)).reshape(-1, p)
        return back_substitute(self.levels, self.last, x).reshape(-1)[:n]


def padded_size(n: int, p: int) -> int:
    """p·2^k ≥ n: cyclic reduction halves the number of blocks each round."""
    blocks = 1
    while blocks * p < n:
        blocks *= 2
    return blocks * p


def split_into_blocks(bands: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """(A, B, C): coupling of block row i to i−1, i, i+1; rows added at the end are those of 1."""
    p, n = bands.shape[0] // 2, bands.shape[1]
    total = padded_size(n, p)
    full = jnp.pad(bands, ((0, 0), (0, total - n))).at[p, n:].set(1)
    rows = full.T.reshape(total // p, p, 2 * p + 1)  # [block, row in block, k + p]
    # Row r of a block reaches columns r − p … r + p, counted from the block's first column.
    wide = jnp.zeros((total // p, p, 3 * p), bands.dtype)
    for r in range(p):
        wide = wide.at[:, r, r : r + 2 * p + 1].set(rows[:, r])
    lower, middle, upper = wide[:, :, :p], wide[:, :, p : 2 * p], wide[:, :, 2 * p :]
    return lower.at[0].set(0), middle, upper.at[-1].set(0)


def reduce_blocks(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[tuple[Level, ...], jax.Array]:
    """Eliminate the odd block rows, again and again, until one block is left."""
    levels = []
    while b.shape[0] > 1:
        inverse = inverses(b[1::2])
        lower, upper = inverse @ a[1::2], inverse @ c[1::2]
        before, after = a[0::2], c[0::2]
        levels.append(Level(lower, upper, inverse, before, after))
        # Even row i sees the odd row before it (index i−1 of the odd ones) and after it (i).
        lower_prev, upper_prev = _shift(lower), _shift(upper)
        b = b[0::2] - before @ upper_prev - after @ lower
        a, c = -before @ lower_prev, -after @ upper
    return tuple(levels), inverses(b[0])


def back_substitute(levels: tuple[Level, ...], last: jax.Array, x: Any) -> jax.Array:
    stack = []
    for level in levels:
        odd = jnp.einsum("bij,bj->bi", level.inverse, x[1::2])
        stack.append(odd)
        x = (
            x[0::2]
            - jnp.einsum("bij,bj->bi", level.before, _shift(odd))
            - jnp.einsum("bij,bj->bi", level.after, odd)
        )
    x = jnp.einsum("ij,bj->bi", last, x)
    for level, odd in zip(reversed(levels), reversed(stack), strict=True):
        following = jnp.concatenate([x[1:], jnp.zeros_like(x[:1])])
        odd = (
            odd
            - jnp.einsum("bij,bj->bi", level.lower, x)
            - jnp.einsum("bij,bj->bi", level.upper, following)
        )
        x = jnp.stack([x, odd], axis=1).reshape(-1, x.shape[1])
    return x


def _shift(blocks: jax.Array) -> jax.Array:
    """Block i−1 at place i, zero at the first."""
    return jnp.concatenate([jnp.zeros_like(blocks[:1]), blocks[:-1]])
