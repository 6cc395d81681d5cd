"""The product with dense blocks between neighbouring channels.

    (Dψ)_l = D_l ψ_{l+1} + s D_{l−1}ᵀ ψ_{l−1},    s = ±1, real D_l, complex ψ

Reading the blocks is the cost. XLA makes two batched products of it and reads them twice; the
Triton kernel through jax-triton (NVIDIA and AMD GPUs, where it is installed) uses each tile for
both and reads them once. Under `vmap` many states share the blocks, and derivatives need the
transposed maps: both use the XLA form.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from zitter import runtime
from zitter.linalg.kernels import triton_calls
from zitter.linalg.pairs import as_parts, joined

SMALLEST = 128  # states per channel below which the kernel's fixed cost is more than it saves
CACHE_BYTES = 26_214_400  # of blocks kept in the second-level cache: half of what an H200 has
# columns and rows of a tile, rows walked by one program, warps: the fastest on an H200 of those
# that `--tune` of benchmarks/atoms_gpu.py compares
TILE = {"block_c": 128, "block_r": 16, "rows": 64, "warps": 1}


def product(upper: jax.Array, psi: jax.Array, sign: float) -> jax.Array:
    """Dψ for real or complex ψ (channels, n)."""
    suits = jnp.iscomplexobj(psi) and not jnp.iscomplexobj(upper) and psi.shape[1] >= SMALLEST
    if suits and triton_calls.has_triton() and runtime.settings().mesh is None:
        return product_once(sign, upper, psi)
    return product_xla(upper, psi, sign)


def product_xla(upper: jax.Array, psi: jax.Array, sign: float) -> jax.Array:
    """Two batched real products; a complex ψ is two real columns."""
    columns = as_parts(psi)
    below = jnp.einsum("lij,ljk->lik", upper, columns[1:])
    above = sign * jnp.einsum("lji,ljk->lik", upper, columns[:-1])
    edge = jnp.zeros_like(columns[:1])
    return joined(jnp.concatenate([below, edge]) + jnp.concatenate([edge, above]))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def product_once(sign: float, upper: jax.Array, psi: jax.Array) -> jax.Array:
    """The product by the Triton kernel, with derivatives by the XLA form."""
    return _batchable(sign)(upper, psi)


@product_once.defjvp
def _product_jvp(sign, primals, tangents):
    (upper, psi), (d_upper, d_psi) = primals, tangents
    change = product_xla(upper, d_psi, sign) + product_xla(d_upper, psi, sign)
    return product_once(sign, upper, psi), change


@functools.lru_cache(maxsize=2)
def _batchable(sign: float) -> Any:
    @jax.custom_batching.custom_vmap
    @jax.jit  # lowered once, however often a step calls it
    def once(upper, psi):
        return product_triton(upper, psi, sign)

    @once.def_vmap
    def several(size, batched, upper, psi):
        axes = tuple(0 if b else None for b in batched)
        return jax.vmap(lambda u, p: product_xla(u, p, sign), in_axes=axes)(upper, psi), True

    return once


def product_triton(
    upper: jax.Array, psi: jax.Array, sign: float, tile: dict[str, int] = TILE
) -> jax.Array:
    """The kernel, then the sum over its programs: plain adds of slices, which XLA fuses into one
    pass.
    """
    from zitter.linalg.kernels.block_tridiagonal_triton import kernel

    blocks, n = upper.shape[0], upper.shape[1]
    column_programs, row_programs = -(-n // tile["block_c"]), -(-n // tile["rows"])
    planes = jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1)
    shapes = [
        jax.ShapeDtypeStruct((blocks, count, 2, n), upper.dtype)
        for count in (column_programs, row_programs)
    ]
    below, above = triton_calls.call(
        kernel,
        upper,
        planes.astype(upper.dtype),
        out=shapes,
        grid=(column_programs, row_programs, blocks),
        warps=tile["warps"],
        n=n,
        rows=tile["rows"],
        block_r=tile["block_r"],
        block_c=tile["block_c"],
        column_programs=column_programs,
        row_programs=row_programs,
        kept=CACHE_BYTES // (n * n * upper.dtype.itemsize),
    )
    low = functools.reduce(jnp.add, [below[:, i] for i in range(column_programs)])
    high = sign * functools.reduce(jnp.add, [above[:, i] for i in range(row_programs)])
    edge = jnp.zeros_like(low[:1])
    sums = jnp.concatenate([low, edge]) + jnp.concatenate([edge, high])
    return jax.lax.complex(sums[:, 0], sums[:, 1])
