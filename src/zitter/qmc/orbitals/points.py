"""Functions of single points, evaluated for all points at once however they are mapped.

A walk asks for orbitals at r (3, …) of one walker and maps that over walkers. Left to `vmap`, the
walkers become the first axis of every array and the short axes of centers and functions the last
ones, which no processor likes. Here mapped axes join the points instead: what runs is always one
call for (3, M), points innermost. Differentiation goes through the plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def over_points(function: Callable[[Any, Any], Any], data: Any, r: Any) -> Any:
    """function(data, r (3, M)) at r (3, …).

    Arrays of the result end in (M, orbitals), which become (…, orbitals).
    """

    def plain(data: Any, r: Any) -> Any:
        shape = r.shape[1:]
        found = function(data, r.reshape(3, -1))
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
