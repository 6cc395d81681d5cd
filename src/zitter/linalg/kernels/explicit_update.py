"""The explicit imaginary-time update on a 3D grid with zero boundary.

    ψ'_i = (4 g_i − 1) ψ_i + g_i Σ_a k_a (ψ_{i+a} + ψ_{i−a} − 2ψ_i)

with g = 1/(2 + δτV) and k_a = δτ/(m h_a²): the b and c of Liu, Liu and Hou are 4g − 1 and k g, so
one array stands for two and an update reads ψ and g and writes ψ'. That traffic is the cost.

Three forms of the same function. XLA's runs anywhere and is traced into larger programs; it makes
one pass over memory for each update. The others work on arrays in memory and make fewer: numba's on
CPUs, CUDA's on NVIDIA GPUs, each where what it needs is installed. Two updates make a turn of the
loop: with one, XLA copies the carried array each turn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter.linalg.slabs import Slabs

Advance = Callable[[jax.Array, jax.Array, jax.Array, int], Any]


def kernel_for(psi: jax.Array) -> Advance | None:
    """What advances a ψ in the memory of one device outside of compiled programs, if anything."""
    (device, *others) = psi.devices()
    if others:
        return None
    if device.platform == "cpu" and importlib.util.find_spec("numba"):
        return advance_numba
    nvidia = device.platform == "gpu" and "cuda" in device.client.platform_version
    if nvidia and importlib.util.find_spec("cupy"):
        return advance_cuda
    return None


def advance_numba(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: int) -> np.ndarray:
    """`updates` (even) updates of one ψ on all cores."""
    from zitter.linalg.kernels import explicit_update_numba

    arrays = np.asarray(psi), np.asarray(g), np.asarray(weights)
    return explicit_update_numba.advance(*arrays, updates)


def advance_cuda(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: int) -> jax.Array:
    """`updates` updates of one ψ on its GPU."""
    from zitter.linalg.kernels import explicit_update_cuda

    return explicit_update_cuda.advance(psi, g, weights, updates)


def advance_xla(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: Any) -> jax.Array:
    """`updates` (even) updates of one ψ.

    Two buffers with a shell of zeros, each written in place from the other: no copy is made.
    """
    here = jnp.pad(psi, 1)

    def body(_, pair):
        here, there = pair
        there = jax.lax.dynamic_update_slice(there, _interior(here, g, weights), (1, 1, 1))
        here = jax.lax.dynamic_update_slice(here, _interior(there, g, weights), (1, 1, 1))
        return here, there

    here, _ = jax.lax.fori_loop(0, updates // 2, body, (here, jnp.zeros_like(here)))
    return here[1:-1, 1:-1, 1:-1]


def advance_slabs(
    layout: Slabs, psi: jax.Array, g: jax.Array, weights: jax.Array, updates: Any
) -> jax.Array:
    """`updates` (even) updates of one ψ in slabs on many devices.

    Two updates for each exchange of two planes: the first also updates the plane next to the slab,
    which the second one needs.
    """

    def local(slab, g, weights, turns):
        near = layout.with_halo(g, 1, periodic=False)

        def turn(_, slab):
            once = _interior(_walled(layout.with_halo(slab, 2, periodic=False)), near, weights)
            once = layout.without_padding(once, halo=1)
            return layout.without_padding(_interior(_walled(once), g, weights))

        return jax.lax.fori_loop(0, turns, turn, slab)

    mine, all_of_it = PartitionSpec(layout.axis), PartitionSpec()
    specs = (mine, mine, all_of_it, all_of_it)
    spread = jax.shard_map(local, mesh=layout.mesh, in_specs=specs, out_specs=mine)
    return spread(psi, g, weights, updates // 2)


def _walled(slab: jax.Array) -> jax.Array:
    """Zeros around the second and third axis."""
    return jnp.pad(slab, ((0, 0), (1, 1), (1, 1)))


def _interior(psi: jax.Array, g: jax.Array, weights: jax.Array) -> jax.Array:
    """The new values inside the shell; plain slices of one array vectorize."""
    inner = psi[1:-1, 1:-1, 1:-1]
    around = (
        weights[0] * (psi[2:, 1:-1, 1:-1] + psi[:-2, 1:-1, 1:-1])
        + weights[1] * (psi[1:-1, 2:, 1:-1] + psi[1:-1, :-2, 1:-1])
        + weights[2] * (psi[1:-1, 1:-1, 2:] + psi[1:-1, 1:-1, :-2])
    )
    return g * (around + (4 - 2 * jnp.sum(weights)) * inner) - inner
