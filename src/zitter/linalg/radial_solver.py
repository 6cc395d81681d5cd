"""Direct solution of many banded systems of one size, one for each channel.

The unknowns are cut into K chunks of q, with p unknowns between neighbours (p: half-width of the
band), so that chunks touch only these separators. Inverses of the chunks and of the separators'
Schur complement are stored; a solution is then three batched matrix products, with no sequential
recurrence: they run at the speed of memory on CPUs and GPUs alike (nested dissection with one
level; George, SIAM J. Numer. Anal. 10, 345 (1973)).

Factors are kept as stacked real and imaginary parts: each number is read once.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.base import Solver
from zitter.linalg.inverses import inverses
from zitter.linalg.pairs import as_parts, joined, stacked, stacked_product


class RadialSolver(Solver):
    """Factors of the matrices bands[c, p + k, j] = M_c[j, j + k]; `solve` gives M_c⁻¹ rhs_c."""

    chunks: jax.Array  # (C, K, 2(q + 2p), q): M⁻¹ of the chunk, and what it sends to separators
    schur: jax.Array  # (C, 2(K−1)p, (K−1)p): inverse of the Schur complement
    spread: jax.Array  # (C, K, 2q, 2p): what the separators send back
    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)

    def __init__(self, bands: jax.Array):
        self.p, self.n = bands.shape[1] // 2, bands.shape[2]
        p = max(self.p, 1)
        count = chunk_count(self.n, p)
        q = -(-(self.n + p) // count) - p
        chunks, schur, spread = _factor(_padded(bands, count * (q + p)), count, q, p)
        self.chunks, self.schur, self.spread = map(stacked, (chunks, schur, spread))

    def solve(self, rhs: jax.Array) -> jax.Array:
        """One right-hand side for each matrix, (channels, n)."""
        return joined(self._solve(as_parts(self._cut(rhs))))

    def solve_planes(self, rhs: jax.Array) -> jax.Array:
        """The same for real and imaginary parts, (channels, 2, n), as they come out."""
        return jnp.moveaxis(self._solve(jnp.moveaxis(self._cut(rhs), 1, -1)), -1, 1)

    def solve_many(self, rhs: jax.Array) -> jax.Array:
        """Several right-hand sides for each matrix, (channels, m, n)."""
        m = rhs.shape[1]
        rows = jnp.moveaxis(self._cut(rhs), 1, -1)
        parts = self._solve(jnp.concatenate([jnp.real(rows), jnp.imag(rows)], axis=-1))
        return jnp.swapaxes(jax.lax.complex(parts[..., :m], parts[..., m:]), 1, 2)

    def _cut(self, rows: jax.Array) -> jax.Array:
        """(…, n) to (…, chunk, unknowns of the chunk and of the separator after it)."""
        count, length = self.chunks.shape[1], self.chunks.shape[3] + self.spread.shape[3] // 2
        ends = [(0, 0)] * (rows.ndim - 1) + [(0, count * length - self.n)]
        return jnp.pad(rows, ends).reshape(*rows.shape[:-1], count, length)

    def _solve(self, columns: jax.Array) -> jax.Array:
        """(channels, chunk, unknown, 2m) to (channels, n, 2m): real parts, then imaginary ones."""
        channels, count, _, width = columns.shape
        q, p = self.chunks.shape[3], self.spread.shape[3] // 2
        sent = stacked_product(self.chunks, columns[:, :, :q])
        inside, right, left = sent[:, :, :q], sent[:, :, q : q + p], sent[:, :, q + p :]
        if count > 1:
            at = columns[:, :-1, q:] - right[:, :-1] - left[:, 1:]
            flat = at.reshape(channels, -1, width)
            at = stacked_product(self.schur, flat).reshape(at.shape)
            around = jnp.concatenate(
                [jnp.pad(at, ((0, 0), (1, 0), (0, 0), (0, 0))), _appended(at)], axis=2
            )
            inside = inside - stacked_product(self.spread, around)
            inside = jnp.concatenate([inside, _appended(at)], axis=2)
        return inside.reshape(channels, -1, width)[:, : self.n]


def chunk_count(n: int, p: int) -> int:
    """K that minimizes the numbers read, n²/K + (Kp)² + …, with chunks of at least p."""
    best = round((n * n / (2.0 * p * p)) ** (1 / 3))
    return max(1, min(best, (n + p) // (2 * p)))


def _appended(at: jax.Array) -> jax.Array:
    return jnp.pad(at, ((0, 0), (0, 1), (0, 0), (0, 0)))


def _padded(bands: jax.Array, size: int) -> jax.Array:
    """Rows of the unit matrix added at the end; at least one side diagonal."""
    if bands.shape[1] == 1:
        bands = jnp.pad(bands, ((0, 0), (1, 1), (0, 0)))
    p, n = bands.shape[1] // 2, bands.shape[2]
    full = jnp.pad(bands, ((0, 0), (0, 0), (0, size - n)))
    return full.at[:, p, n:].set(1)


def _windows(bands: jax.Array, starts: np.ndarray, height: int) -> jax.Array:
    """Rows start … start + height of each matrix, with the p columns on either side of them."""
    p = bands.shape[1] // 2
    row, column = np.arange(height)[:, None], np.arange(height + 2 * p)[None, :]
    diagonal = column - row
    places = starts[:, None, None] + row + 0 * column
    picked = bands[:, np.clip(diagonal, 0, 2 * p), places]
    return jnp.where((diagonal >= 0) & (diagonal <= 2 * p), picked, 0)


def _factor(bands: jax.Array, count: int, q: int, p: int):
    starts = np.arange(count) * (q + p)
    rows = _windows(bands, starts, q)
    inverse = inverses(rows[..., p : p + q])
    spread = inverse @ jnp.concatenate([rows[..., :p], rows[..., p + q :]], axis=-1)
    if count == 1:
        nothing = jnp.zeros((*inverse.shape[:2], 2 * p, q), inverse.dtype)
        empty = jnp.zeros((inverse.shape[0], 0, 0), inverse.dtype)
        return jnp.concatenate([inverse, nothing], axis=2), empty, spread
    between = _windows(bands, starts[:-1] + q, p)  # (C, K−1, p, 3p)
    before, own, after = between[..., :p], between[..., p : 2 * p], between[..., 2 * p :]
    ends = ((0, 0), (0, 1), (0, 0), (0, 0)), ((0, 0), (1, 0), (0, 0), (0, 0))
    to_right = jnp.pad(before, ends[0]) @ inverse[:, :, -p:]
    to_left = jnp.pad(after, ends[1]) @ inverse[:, :, :p]
    schur = _schur(before, own, after, spread, p)
    return jnp.concatenate([inverse, to_right, to_left], axis=2), inverses(schur), spread


def _schur(before, own, after, spread, p: int) -> jax.Array:
    """The separators' matrix after the chunks are eliminated: block-tridiagonal, filled in full."""
    channels, m = own.shape[:2]
    last, first = spread[:, :-1, -p:], spread[:, 1:, :p]
    diagonal = own - before @ last[..., p:] - after @ first[..., :p]
    lower = -before @ last[..., :p]  # separator s to s − 1, through chunk s
    upper = -after @ first[..., p:]
    full = jnp.zeros((channels, m, p, m, p), own.dtype)
    s = np.arange(m)
    full = full.at[:, s, :, s].set(jnp.moveaxis(diagonal, 1, 0))
    full = full.at[:, s[1:], :, s[:-1]].set(jnp.moveaxis(lower[:, 1:], 1, 0))
    full = full.at[:, s[:-1], :, s[1:]].set(jnp.moveaxis(upper[:, :-1], 1, 0))
    return full.reshape(channels, m * p, m * p)
