"""Loops whose derivatives remember little: blocks of steps are done again on the way back.

A plain loop keeps some states of every step for its derivative. Here N steps are √N blocks of √N
steps each; a block is known by the state it begins with, and its steps are remembered while the
derivative goes through it. Memory grows with √N, for one more run (A. Griewank, Optim. Methods
Softw. 1, 35 (1992), has the general case). Without derivatives these are loops like others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.remade import parted

SHORT = 64  # steps that are remembered as they are


def repeated(body: Callable[[Any], Any], state: Any, count: int, unroll: int = 1) -> Any:
    """body(body(…(state))), `count` times."""

    def several(state: Any, steps: int) -> Any:
        if steps == 1:
            return body(state)
        return jax.lax.fori_loop(0, steps, lambda _, s: body(s), state, unroll=unroll)

    if count <= SHORT:
        return several(state, count)
    fixed, changing = parted(state)
    size = block(count)

    def carried(changing: Any) -> Any:
        return parted(several(eqx.combine(fixed, changing), size))[1]

    carried = jax.checkpoint(carried, prevent_cse=False)
    changing = jax.lax.fori_loop(0, count // size, lambda _, c: carried(c), changing)
    state, rest = eqx.combine(fixed, changing), count % size
    return several(state, rest) if rest else state


def scanned(step: Callable[[Any], tuple[Any, Any]], state: Any, count: int) -> tuple[Any, Any]:
    """(state, records) after `count` times state, record = step(state)."""
    fixed, first = parted(state)

    @jax.checkpoint
    def one(changing: Any, _: Any) -> tuple[Any, Any]:
        state, record = step(eqx.combine(fixed, changing))
        return parted(state)[1], record

    def several(changing: Any, steps: int) -> tuple[Any, Any]:
        return jax.lax.scan(one, changing, None, length=steps)

    if count <= SHORT:
        changing, records = several(first, count)
        return eqx.combine(fixed, changing), records
    size = block(count)
    blocks = jax.checkpoint(lambda c, _: several(c, size), prevent_cse=False)
    changing, records = jax.lax.scan(blocks, first, None, length=count // size)
    records = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), records)
    if count % size:
        changing, more = several(changing, count % size)
        records = jax.tree.map(lambda x, y: jnp.concatenate([x, y]), records, more)
    return eqx.combine(fixed, changing), records


def block(count: int) -> int:
    """Steps in a block: near the root, a divisor where there is one, as a rest is compiled anew."""
    root = math.isqrt(count)
    near = range(root, root // 2, -1)
    return next((size for size in near if count % size == 0), root)
