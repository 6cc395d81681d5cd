"""The explicit imaginary-time update on a 3D grid with zero boundary.

    ψ'_i = (4 g_i − 1) ψ_i + g_i Σ_a k_a (ψ_{i+a} + ψ_{i−a} − 2ψ_i)

with g = 1/(2 + δτV) and k_a = δτ/(m h_a²): the b and c of Liu, Liu and Hou are 4g − 1 and k g, so
one array stands for two and an update reads ψ and g and writes ψ'. That traffic is the cost.

Three forms of the same function: XLA (any device), a Triton kernel through jax-triton (NVIDIA and
AMD GPUs, where it is installed), and numba (CPUs, where it is installed). The first two are traced
into larger programs; the third works on arrays in memory, `advance_numba`. Two updates make a turn
of the loop: with one, XLA copies the carried array each turn, and numba does both in one pass.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.operators.kernels import triton_calls

BLOCK_Y, BLOCK_Z = 4, 128  # points of one Triton program: rows along y, and the contiguous axis


def advance(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: Any) -> jax.Array:
    """`updates` (even) updates of one ψ."""
    if triton_calls.has_triton():
        return advance_triton(psi, g, weights, updates)
    return advance_xla(psi, g, weights, updates)


def has_numba(psi: jax.Array) -> bool:
    """Whether ψ lies in the memory of one CPU and numba is installed."""
    (device, *others) = psi.devices()
    return not others and device.platform == "cpu" and importlib.util.find_spec("numba") is not None


def advance_numba(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: int) -> np.ndarray:
    """`updates` (even) updates of one ψ, outside of compiled programs."""
    from zitter.operators.kernels import explicit_update_numba

    arrays = np.asarray(psi), np.asarray(g), np.asarray(weights)
    return explicit_update_numba.advance(*arrays, updates)


def advance_xla(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: Any) -> jax.Array:
    """Two buffers with a shell of zeros, each written in place from the other: no copy is made."""
    here = jnp.pad(psi, 1)

    def body(_, pair):
        here, there = pair
        there = jax.lax.dynamic_update_slice(there, _interior(here, g, weights), (1, 1, 1))
        here = jax.lax.dynamic_update_slice(here, _interior(there, g, weights), (1, 1, 1))
        return here, there

    here, _ = jax.lax.fori_loop(0, updates // 2, body, (here, jnp.zeros_like(here)))
    return here[1:-1, 1:-1, 1:-1]


def update(psi: jax.Array, g: jax.Array, weights: jax.Array) -> jax.Array:
    """One update in XLA."""
    return _interior(jnp.pad(psi, 1), g, weights)


def _interior(psi: jax.Array, g: jax.Array, weights: jax.Array) -> jax.Array:
    """The new values inside the shell; plain slices of one array vectorize."""
    inner = psi[1:-1, 1:-1, 1:-1]
    around = (
        weights[0] * (psi[2:, 1:-1, 1:-1] + psi[:-2, 1:-1, 1:-1])
        + weights[1] * (psi[1:-1, 2:, 1:-1] + psi[1:-1, :-2, 1:-1])
        + weights[2] * (psi[1:-1, 1:-1, 2:] + psi[1:-1, 1:-1, :-2])
    )
    return g * (around + (4 - 2 * jnp.sum(weights)) * inner) - inner


def advance_triton(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: Any) -> jax.Array:
    def body(_, psi):
        return update_triton(update_triton(psi, g, weights), g, weights)

    return jax.lax.fori_loop(0, updates // 2, body, psi)


def update_triton(psi: jax.Array, g: jax.Array, weights: jax.Array) -> jax.Array:
    """One update as a Triton kernel."""
    from zitter.operators.kernels.explicit_update_triton import kernel

    nx, ny, nz = psi.shape
    return triton_calls.call(
        kernel, psi, g, weights,
        out=jax.ShapeDtypeStruct(psi.shape, psi.dtype),
        grid=(-(-nz // BLOCK_Z), -(-ny // BLOCK_Y), nx),
        warps=4, nx=nx, ny=ny, nz=nz, block_y=BLOCK_Y, block_z=BLOCK_Z,
    )  # fmt: skip
