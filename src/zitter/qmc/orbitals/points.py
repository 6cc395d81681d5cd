"""Functions of single points, evaluated for all points at once however they are mapped.

A walk asks for orbitals at r (3, …) of one walker and maps that over walkers. Left to `vmap`, the
walkers become the first axis of every array and the short axes of centers and functions the last
ones, which no processor likes. Here mapped axes join the points instead: what runs is always one
call for (3, M), points innermost. Where tables of all points would not fit into fast memory, they
are made for some points at a time. Differentiation goes through the plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from zitter import runtime

# Numbers in tables that are worked on at a time: a CPU's cache, a small part of a GPU's memory.
CACHE, MEMORY = 1 << 18, 1 << 27


def points_at_a_time(numbers: int) -> int:
    """How many points are evaluated together, if each needs tables of so many numbers."""
    room = CACHE if runtime.settings().device.platform == "cpu" else MEMORY
    return max(room // max(numbers, 1), 16)


def over_points(function: Callable[[Any, Any], Any], data: Any, r: Any, together: int) -> Any:
    """function(data, r (3, M)) at r (3, …), at most `together` points at a time.

    Arrays of the result end in (M, orbitals), which become (…, orbitals).
    """

    def plain(data: Any, r: Any) -> Any:
        shape = r.shape[1:]
        found = _in_pieces(lambda r: function(data, r), r.reshape(3, -1), together)
        return jax.tree.map(lambda x: x.reshape(*x.shape[:-2], *shape, x.shape[-1]), found)

    @jax.custom_batching.custom_vmap
    def gathered(data: Any, r: Any) -> Any:
        return plain(data, r)

    @gathered.def_vmap
    def joined(size: int, batched: Any, data: Any, r: Any) -> Any:
        of_data, of_r = batched
        if any(jax.tree.leaves(of_data)) or not of_r:
            axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, batched)
            found = jax.vmap(plain, tuple(axes), axis_size=size)(data, r)
            return found, jax.tree.map(lambda _: True, found)
        points = r.ndim - 2
        found = gathered(data, jnp.moveaxis(r, 0, 1))
        # The mapped axis stands before those of the points: bring it to the front.
        found = jax.tree.map(lambda x: jnp.moveaxis(x, x.ndim - 2 - points, 0), found)
        return found, jax.tree.map(lambda _: True, found)

    @jax.custom_jvp
    def evaluate(data: Any, r: Any) -> Any:
        return gathered(data, r)

    @evaluate.defjvp
    def tangents(primals: Any, changes: Any) -> Any:
        return jax.jvp(plain, primals, changes)

    return evaluate(data, r)


def _in_pieces(function: Callable[[Any], Any], r: Any, together: int) -> Any:
    """function(r) of r (3, M) piece by piece."""
    points = r.shape[1]
    pieces = -(-points // together)
    if pieces < 2:
        return function(r)
    # A piece takes every pieces-th point: walkers that lie on several devices stay there.
    each = -(-points // pieces)
    padded = jnp.pad(r, [(0, 0), (0, pieces * each - points)], mode="edge")
    found = jax.lax.map(function, jnp.moveaxis(padded.reshape(3, each, pieces), 2, 0))

    def joined(x: Any) -> Any:
        x = jnp.moveaxis(x, 0, -2)  # (…, each, pieces, orbitals)
        return x.reshape(*x.shape[:-3], each * pieces, x.shape[-1])[..., :points, :]

    return jax.tree.map(joined, found)
