"""Bloch waves e^{ik·r}u with u a sum of B-splines, and their derivatives.

    ψ = e^{ik·r} u      ∇ψ = e^{ik·r}(∇u + ik u)      ∇²ψ = e^{ik·r}(∇²u + 2ik·∇u − k²u)

On a GPU with jax-triton sums and phases are one kernel; elsewhere `blip_sums` makes the sums and
the compiler the rest. Derivatives of these by positions or coefficients take the second way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.kernels import triton_calls
from zitter.qmc.orbitals.blip_sums import along_axes, contract, located, rows_around, weights
from zitter.qmc.trigonometry import cos_sin

Pair = tuple[Any, Any]
SUMS = (1, 4, 5)  # of order 0, 1 and 2
BLOCK = 128  # numbers a program of the kernel sums at a time, four in each thread


class Shape(NamedTuple):
    """What is to be evaluated, but for the numbers."""

    grid: tuple[int, int, int]
    count: int
    index: tuple[int, ...]  # which wave vector belongs to each orbital; empty for real orbitals
    order: int  # 0: ψ; 1: and ∇ψ; 2: and ∇²ψ
    dtype: Any


def bloch_waves(shape: Shape, table: Any, inverse: Any, waves: Any, points: Any) -> tuple[Any, ...]:
    """ψ and its derivatives, each (P, count), at points (3, P).

    `table` (n₁n₂n₃, channels) holds the coefficients, real parts of all orbitals before imaginary
    ones; columns of `inverse` are the reciprocal vectors over 2π; `waves` (…, 3) are in 1/bohr.
    """
    if triton_calls.has_triton():
        return _by_triton(shape)(table, jnp.asarray(inverse), jnp.asarray(waves), points)
    return _by_sums(shape, table, inverse, waves, points)


def _by_sums(shape: Shape, table: Any, inverse: Any, waves: Any, points: Any) -> tuple[Any, ...]:
    around, t = located(points, inverse, shape.grid, shape.dtype)
    each = weights(t, inverse, shape.grid, shape.order)
    sums = contract(table, rows_around(around, shape.grid), each)
    if not shape.index:
        return sums
    index = np.asarray(shape.index)
    phase = tuple(wave[:, index] for wave in cos_sin(points.T @ waves.T, shape.dtype))
    k = waves.astype(shape.dtype)[index].T
    found = _bloch([_parts(x, shape.count) for x in sums], phase, k)
    return tuple(jax.lax.complex(*parts) for parts in found)


def _parts(channels: Any, count: int) -> Pair:
    """Real and imaginary parts of u, or of a derivative."""
    real = channels[:, :count]
    return real, channels[:, count:] if channels.shape[1] > count else jnp.zeros_like(real)


def _bloch(periodic: list[Pair], phase: Pair, k: Any) -> list[Pair]:
    """ψ, ∇ψ and ∇²ψ of e^{ik·r}u from u, ∇u and ∇²u, as far as they are given."""
    u, *slopes = periodic
    found = [_times(phase, u)]
    for a, slope in enumerate(slopes[:3]):
        found.append(_times(phase, (slope[0] - k[a] * u[1], slope[1] + k[a] * u[0])))
    if len(slopes) == 4:
        square = sum(k[a] ** 2 for a in range(3))
        along = [sum(k[a] * slopes[a][part] for a in range(3)) for part in range(2)]
        real = slopes[3][0] - 2 * along[1] - square * u[0]
        imaginary = slopes[3][1] + 2 * along[0] - square * u[1]
        found.append(_times(phase, (real, imaginary)))
    return found


def _times(a: Pair, b: Pair) -> Pair:
    """A product of complex numbers, kept apart: who wants real parts alone computes no others."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@functools.lru_cache
def _by_triton(shape: Shape) -> Callable[..., tuple[Any, ...]]:
    """(table, inverse, waves, points): one kernel for all points, whatever is mapped over."""

    @jax.custom_batching.custom_vmap
    def merged(table, inverse, waves, points):
        return _launched(shape, table, inverse, waves, points)

    @merged.def_vmap
    def _merge_points(size, batched, table, inverse, waves, points):
        if any(batched[:3]):
            full = (
                x if b else jnp.broadcast_to(x, (size, *x.shape))
                for x, b in zip((table, inverse, waves, points), batched, strict=True)
            )
            found = jax.lax.map(lambda one: merged(*one), tuple(full))
            return found, tuple(True for _ in found)
        together = jnp.moveaxis(points, 1, 0).reshape(3, -1)
        found = merged(table, inverse, waves, together)
        return tuple(x.reshape(size, -1, x.shape[-1]) for x in found), tuple(True for _ in found)

    @jax.custom_jvp
    def evaluated(table, inverse, waves, points):
        return merged(table, inverse, waves, points)

    @evaluated.defjvp
    def _slope(primals, tangents):
        _, change = jax.jvp(functools.partial(_by_sums, shape), primals, tangents)
        return evaluated(*primals), change

    return evaluated


@functools.partial(jax.jit, static_argnums=0)
def _launched(shape: Shape, table: Any, inverse: Any, waves: Any, points: Any) -> tuple[Any, ...]:
    from zitter.qmc.orbitals.blip_sums_triton import kernel

    number, count, dtype = points.shape[1], shape.count, shape.dtype
    parts, sums, kinds = table.shape[1] // count, SUMS[shape.order], len(waves)
    around, t = located(points, inverse, shape.grid, dtype)
    inverse = inverse.astype(dtype)
    if shape.index:
        cosine, sine = cos_sin(points.T @ waves.T, dtype)
        out, index = (sums, 2, number, count), np.asarray(shape.index, np.int32)
    else:
        cosine = sine = jnp.zeros((1, 1), dtype)
        out, index, kinds = (sums, number, count), np.zeros(1, np.int32), 0
    block = min(BLOCK // parts, max(16, 1 << (count - 1).bit_length()))
    found = triton_calls.call(
        kernel, table, around, *_factors(t, inverse, shape.grid), inverse, cosine, sine,
        jnp.asarray(index), waves.astype(dtype), out=jax.ShapeDtypeStruct(out, dtype),
        grid=(number, -(-count // block)), warps=1, points=number, count=count, waves=kinds,
        parts=parts, sums=sums, ny=shape.grid[1], nz=shape.grid[2], block=block,
    )  # fmt: skip
    if not shape.index:
        return tuple(found)
    return tuple(jax.lax.complex(x[0], x[1]) for x in found)


def _factors(t: Any, inverse: Any, grid: tuple[int, ...]) -> Pair:
    """`blip_sums.weights` as products of weights of (x, y), (P, 5, 16), and of z, (P, 3, 4)."""
    x, y, z = along_axes(t, grid)
    metric = inverse.T @ inverse

    def pair(a: int, b: int) -> Any:
        return (x[a][:, :, None] * y[b][:, None, :]).reshape(-1, 16)

    flat = metric[0, 0] * pair(2, 0) + metric[1, 1] * pair(0, 2) + 2 * metric[0, 1] * pair(1, 1)
    mixed = 2 * metric[0, 2] * pair(1, 0) + 2 * metric[1, 2] * pair(0, 1)
    pairs = jnp.stack([pair(0, 0), pair(1, 0), pair(0, 1), flat, mixed], axis=1)
    return pairs, jnp.stack([z[0], z[1], metric[2, 2] * z[2]], axis=1)
