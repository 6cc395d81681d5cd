"""Sums of cubic B-splines over 4 × 4 × 4 coefficients, for many points and all orbitals at once.

On a grid of n_i points along lattice vector i, with x_i = n_i s_i and fractional coordinates s,

    u(r) = Σ_j C_j Π_i b(x_i − j_i),     b(x) = ⅔ − x² + |x|³/2 (|x| ≤ 1), (2 − |x|)³/6 (≤ 2).

Value, slopes and Laplacian are sums of the same 64 rows of C with different weights, so memory is
read about once: on a GPU all sums of a row are one kernel of XLA's (where jax-triton is installed
`blip_waves` has its own); on a CPU the points go in batches whose rows stay in cache, one sum after
another, because that is what vectorizes.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime

CACHE = 2**19  # bytes of coefficients that a batch of points may touch on a CPU


def spline_weights(t: Any) -> tuple[Any, Any, Any]:
    """b, b' and b'' (…, 4) at the grid points −1, 0, 1, 2 around a point at t in [0, 1)."""
    s = 1 - t
    value = [s**3 / 6, 2 / 3 - t**2 + t**3 / 2, 2 / 3 - s**2 + s**3 / 2, t**3 / 6]
    first = [-(s**2) / 2, 1.5 * t**2 - 2 * t, 2 * s - 1.5 * s**2, t**2 / 2]
    second = [s, 3 * t - 2, 3 * s - 2, t]
    value, first, second = (jnp.stack(w, axis=-1) for w in (value, first, second))
    return value, first, second


def along_axes(t: Any, grid: tuple[int, ...]) -> list[tuple[Any, Any, Any]]:
    """For each axis the weights (P, 4) of u, ∂u and ∂²u in fractional coordinates."""
    value, first, second = spline_weights(t)
    n = np.asarray(grid, np.float64)[:, None].astype(t.dtype)
    return [(value[:, i], n[i] * first[:, i], n[i] ** 2 * second[:, i]) for i in range(3)]


def located(r: Any, inverse: Any, grid: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Indices (P, 3, 4) of the grid points around r (3, P), and the distances t (P, 3) from them.

    Fractional coordinates are made in double: in single precision a point far from the origin
    would not know its place between grid points.
    """
    n = np.asarray(grid)
    x = n * (r.T @ inverse)
    below = jnp.floor(x)
    corner = jnp.mod(below, n).astype(jnp.int32)
    around = (corner[:, :, None] + np.arange(-1, 3, dtype=np.int32)) % n[:, None].astype(np.int32)
    return around, (x - below).astype(dtype)


def weights(t: Any, inverse: Any, grid: tuple[int, ...], order: int) -> Any:
    """(P, sums, 64): the value; with `order` 1 also ∂x, ∂y, ∂z; with `order` 2 also ∇².

    ∇_a = Σ_i A⁻¹_ai ∂_i and ∇² = Σ_ij (A⁻ᵀA⁻¹)_ij ∂_i∂_j in fractional coordinates; A⁻¹ is
    `inverse`.
    """
    along = along_axes(t, grid)

    def product(*orders: int) -> Any:
        x, y, z = (along[i][d] for i, d in enumerate(orders))
        return (x[:, :, None, None] * y[:, None, :, None] * z[:, None, None, :]).reshape(-1, 64)

    sums = [product(0, 0, 0)]
    inverse = jnp.asarray(inverse, t.dtype)
    if order >= 1:
        slopes = [product(1, 0, 0), product(0, 1, 0), product(0, 0, 1)]
        for a in range(3):
            sums.append(sum(inverse[a, i] * slopes[i] for i in range(3)))
    if order == 2:
        metric = inverse.T @ inverse
        diagonal = [product(2, 0, 0), product(0, 2, 0), product(0, 0, 2)]
        mixed = {(0, 1): product(1, 1, 0), (0, 2): product(1, 0, 1), (1, 2): product(0, 1, 1)}
        total = sum(metric[i, i] * diagonal[i] for i in range(3))
        sums.append(total + sum(2 * metric[i, j] * term for (i, j), term in mixed.items()))
    return jnp.stack(sums, axis=1)


def rows_around(around: Any, grid: tuple[int, ...]) -> Any:
    """(P, 64): the rows of C (n₁n₂n₃, …) that hold the coefficients around each point."""
    x, y, z = around[:, 0], around[:, 1], around[:, 2]
    plane = x[:, :, None] * grid[1] + y[:, None, :]
    return (plane[..., None] * grid[2] + z[:, None, None, :]).reshape(-1, 64)


@jax.custom_jvp
def contract(table: Any, rows: Any, weights: Any) -> tuple[Any, ...]:
    """Σ_q w_oq C_(row q) for each sum o: tuple of (P, channels), in the type of the weights."""
    return _flattened(table, rows, weights)


@contract.defjvp
def _contract_slope(primals, tangents):
    table, rows, weights = primals
    d_table, _, d_weights = tangents
    change = _as_products(table, rows, d_weights), _as_products(d_table, rows, weights)
    return contract(*primals), tuple(a + b for a, b in zip(*change, strict=True))


def _as_products(table: Any, rows: Any, weights: Any) -> tuple[Any, ...]:
    """The same sums by matrix products: slower, but linear in both factors for derivatives."""
    found = jnp.einsum("poq,pqc->opc", weights, table[rows].astype(weights.dtype))
    return tuple(found)


@jax.custom_batching.custom_vmap
def _flattened(table, rows, weights):
    if runtime.settings().device.platform == "cpu":
        return sums_in_turn(table, rows, weights)
    return sums_together(table, rows, weights)


@_flattened.def_vmap
def _merge_axes(size, batched, table, rows, weights):
    """Walkers and electrons are points alike: one list, whatever was mapped over."""
    if batched[0]:
        spread = lambda x, b: x if b else jnp.broadcast_to(x, (size, *x.shape))  # noqa: E731
        each = (table, spread(rows, batched[1]), spread(weights, batched[2]))
        found = jax.lax.map(lambda one: _flattened(*one), each)
        return found, jax.tree.map(lambda _: True, found)
    rows, weights = (
        x if b else jnp.broadcast_to(x, (size, *x.shape))
        for x, b in zip((rows, weights), batched[1:], strict=True)
    )
    merged = _flattened(table, *(x.reshape(-1, *x.shape[2:]) for x in (rows, weights)))
    found = tuple(x.reshape(size, -1, x.shape[-1]) for x in merged)
    return found, tuple(True for _ in found)


@jax.jit
def sums_together(table: Any, rows: Any, weights: Any) -> tuple[Any, ...]:
    """All sums of a point from one read of its rows, where the compiler keeps outputs together."""
    totals = [jnp.zeros((), weights.dtype)] * weights.shape[1]
    for q in range(rows.shape[1]):
        row = table[rows[:, q]].astype(weights.dtype)
        totals = [total + weights[:, o, q, None] * row for o, total in enumerate(totals)]
    # What follows must not pull the sums apart into kernels that read everything again.
    return jax.lax.optimization_barrier(tuple(totals))


@jax.jit
def sums_in_turn(table: Any, rows: Any, weights: Any) -> tuple[Any, ...]:
    """One sum after another of a batch of points: plain loops over orbitals, which vectorize."""
    points, sums = weights.shape[:2]
    size = max(1, CACHE // (64 * table.shape[1] * table.dtype.itemsize))
    count = -(-points // size)
    size = -(-points // count)
    fill = [(0, count * size - points), (0, 0), (0, 0)]
    rows = jnp.pad(rows, fill[:2]).reshape(count, size, 64)
    weights = jnp.pad(weights, fill).reshape(count, size, sums, 64)
    weights = jnp.moveaxis(weights, 2, 1).reshape(count * sums, size, 64)

    def one(turn, found):
        around, weight = rows[turn // sums], weights[turn]
        total = jnp.zeros((), weight.dtype)
        for q in range(64):
            total = total + weight[:, q, None] * table[around[:, q]].astype(weight.dtype)
        return found.at[turn].set(total)

    # A loop whose length the compiler does not know: unrolled, the sums would be fused into one
    # loop over the orbitals that does not vectorize and takes long to compile.
    turns = jax.lax.optimization_barrier(jnp.int32(count * sums))
    found = jnp.zeros((count * sums, size, table.shape[1]), weights.dtype)
    found = jax.lax.fori_loop(0, turns, one, found).reshape(count, sums, size, -1)
    return tuple(found[:, o].reshape(count * size, -1)[:points] for o in range(sums))
