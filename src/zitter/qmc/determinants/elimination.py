"""Which moves of a block are accepted, when all its proposals are known beforehand.

T = ΦM_·B holds the determinant ratio of move p at T_pp; `jastrow` what J changes. An accepted move
changes T, and Q with it (see `slater`), as Sherman and Morrison say,

    T ← T − T_·p (T_p· − e_p)/T_pp,   Q ← Q − Q_·p (T_p· − e_p)/T_pp,

and adds its pair couplings to the changes of J of later moves. K moves on K × K numbers: far too
little work for one kernel per operation, so there are two forms of the same function: XLA (any
device) and a Triton kernel that takes one walker through all K moves (NVIDIA and AMD GPUs where
jax-triton is installed; real orbitals).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from zitter.linalg.kernels import triton_calls

LARGEST = 700.0  # exponent a double holds


class Eliminated(NamedTuple):
    """For each walker, and each of the K moves."""

    accepted: Any  # (walkers, K)
    probability: Any  # (walkers, K)
    Q: Any  # (walkers, K, K)
    log: Any  # (walkers,) change of ln|Ψ| by all accepted moves
    phase: Any  # (walkers,) factor of the phase


def decide(T: Any, jastrow: Any, pairs: Any, allowed: Any, chance: Any) -> Eliminated:
    """T and pairs (walkers, K, K), jastrow and chance (walkers, K), allowed (K,).

    A chance may exceed 1: it is what |Ψ'/Ψ|² is compared with.
    """
    if triton_calls.has_triton() and not jnp.iscomplexobj(T):
        return decide_triton(T, jastrow, pairs, allowed, chance)
    return decide_xla(T, jastrow, pairs, allowed, chance)


def decide_xla(T: Any, jastrow: Any, pairs: Any, allowed: Any, chance: Any) -> Eliminated:
    walkers, k, _ = T.shape
    unit = jnp.broadcast_to(jnp.eye(k, dtype=T.dtype), T.shape)
    take = jax.lax.dynamic_index_in_dim

    def move(carry, entry):
        stack, jastrow, log, phase = carry
        place, may, chance = entry
        products = take(stack, place, 1, keepdims=False)
        ratio = take(products, place, 1, keepdims=False)
        size = jnp.abs(ratio)
        log_ratio = jnp.log(size) + take(jastrow, place, 1, keepdims=False)
        square = jnp.exp(jnp.minimum(2 * log_ratio, LARGEST))
        square = jnp.where(jnp.isfinite(log_ratio), square, 0.0)
        accept = may & (chance < square)
        stack = jax.vmap(replace_row, (0, None, 0, 0, 0))(stack, place, products, ratio, accept)
        coupled = take(pairs, place, 2, keepdims=False)
        jastrow = jastrow + jnp.where(accept[:, None], coupled, 0)
        log = log + jnp.where(accept, log_ratio, 0)
        phase = phase * jnp.where(accept, ratio / size, 1)
        return (stack, jastrow, log, phase), (accept, jnp.minimum(square, 1.0))

    stack = jnp.concatenate([T, unit], axis=1)  # one update serves T and Q
    start = (stack, jastrow, jnp.zeros(walkers), jnp.ones(walkers, T.dtype))
    entries = (jnp.arange(k), allowed, chance.T)
    (stack, _, log, phase), (accepted, probability) = jax.lax.scan(move, start, entries)
    return Eliminated(accepted.T, probability.T, stack[:, k:], log, phase)


def decide_triton(T: Any, jastrow: Any, pairs: Any, allowed: Any, chance: Any) -> Eliminated:
    from zitter.qmc.determinants.elimination_triton import kernel

    walkers, k, _ = T.shape
    block = max(16, 1 << (k - 1).bit_length())
    # Moves that are not allowed have no chance.
    chance = jnp.where(allowed, chance, jnp.inf)
    many, one = ((walkers, k), jnp.float64), ((walkers,), jnp.float64)
    shapes = [many, many, (T.shape, jnp.float64), one, one]
    accepted, probability, Q, log, phase = triton_calls.call(
        kernel, T, jastrow, jnp.swapaxes(pairs, 1, 2), chance,
        out=[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes],
        grid=(walkers,), warps=4 if block <= 32 else 8, k=k, block=block,
    )  # fmt: skip
    return Eliminated(accepted > 0.5, probability, Q, log, phase)


def replace_row(stack: Any, place: Any, products: Any, ratio: Any, accept: Any) -> Any:
    """Sherman–Morrison on anything times M_·B, (…, K), when row `place` of the block is replaced.

    `products` (K,) is the new row times the present M_·B.
    """
    k = stack.shape[1]
    column = jax.lax.dynamic_index_in_dim(stack, place, 1, keepdims=False)
    change = products - (jnp.arange(k) == place)
    factor = jnp.where(accept, 1 / jnp.where(accept, ratio, 1), 0)
    return stack - (factor * column)[:, None] * change[None, :]
