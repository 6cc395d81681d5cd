"""Many items at once, spread over the mesh axis `batch` where there is one.

Every device has as many items; the last one is repeated to fill up, and what it gives is cut off.
Inside, an item sees one device: its own part of the mesh is not its business.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import runtime

AXIS = "batch"
_inside: list[Mesh] = []  # the mesh of the items that are being carried


def mesh() -> Mesh | None:
    """The mesh over which items are spread, None where `batch` is no axis of it."""
    now = runtime.settings().mesh
    if now is None or AXIS not in now.axis_names:
        return None
    return runtime.mesh_for((AXIS,), "a scan")


def shares(count: int) -> dict[str, list[int]]:
    """How many items each device has, without those that fill up."""
    on = mesh()
    if on is None:
        return {}
    each = math.ceil(count / on.size)
    return {AXIS: [max(0, min(each, count - part * each)) for part in range(on.size)]}


def filled(items: Any, count: int) -> Any:
    """Items, along the first axis of every array, with the last one repeated up to `count`."""

    def fill(array: Any) -> Any:
        array = jnp.asarray(array)
        more = count - len(array)
        return jnp.concatenate([array, jnp.repeat(array[-1:], more, axis=0)]) if more else array

    return jax.tree.map(fill, items)


def spread(items: Any, count: int) -> Any:
    """`count` items, filled up, on their devices."""
    on = mesh()
    if on is None:
        return items
    items = filled(items, math.ceil(count / on.size) * on.size)
    place = NamedSharding(on, PartitionSpec(AXIS))
    return jax.tree.map(lambda x: jax.device_put(x, place), items)


def mapped(function: Callable[[Any], Any], items: Any) -> Any:
    """function(item) for all items, which are `spread`."""
    on = mesh()
    with alone():
        return jax.vmap(function, spmd_axis_name=None if on is None else AXIS)(items)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Inside, each item sees one device."""
    on = mesh()
    if on is None:
        yield
        return
    _inside.append(on)
    try:
        with runtime.one_device():
            yield
    finally:
        _inside.pop()


def around() -> Mesh | None:
    """The mesh of the items of which this is one."""
    return _inside[-1] if _inside else None


def local(function: Callable[..., Any], on: Mesh | None, *arguments: Any) -> Any:
    """function(*arguments) such that under `mapped` each device computes its own items and nothing
    passes between devices, whatever a compiler would make of it.
    """
    if on is None:
        return function(*arguments)
    arrays, rest = eqx.partition(arguments, eqx.is_array)

    def call(arrays: Any) -> Any:
        return function(*eqx.combine(arrays, rest))

    # Under `mapped` the axis of the items, which is not seen here, is divided.
    nowhere = PartitionSpec()
    return jax.shard_map(call, mesh=on, in_specs=nowhere, out_specs=nowhere, check_vma=False)(
        arrays
    )
