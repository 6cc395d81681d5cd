"""Walkers on the devices of a mesh.

The axis `walkers` cuts the walkers of every twist, `twists` cuts the twists, and each device works
on its own. Random numbers are made for all walkers at once, and the compiler cuts what makes them:
walker number i has the same ones on any number of devices. What is summed over walkers is summed
without regard to order (`exact_sum`). So walkers move by the same bits on any number of devices,
from three on each of them on. Energies agree to rounding: the compiler groups the sum over the
electrons of one walker by the number of walkers beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks, runtime

TWISTS = "twists"
AXES = ("walkers", "space")  # the first of them in the mesh cuts walkers
BITS = 40  # of each of the two integers that a number becomes


def mesh(twisted: bool = True) -> Mesh | None:
    """The mesh for walkers, at twists or not; refused where an axis would divide nothing."""
    axes = (*AXES, TWISTS) if twisted else AXES
    found = runtime.mesh_for(axes, "walkers at twists" if twisted else "a run without twists")
    if found is not None and all(axis in found.axis_names for axis in AXES):
        raise checks.InputError(
            "mesh.space", "must be left out where mesh.walkers divides the walkers already"
        )
    return found


def walker_axis() -> str | None:
    """The axis of the mesh that cuts the walkers of one twist."""
    found = runtime.settings().mesh
    names = () if found is None else found.axis_names
    return next((axis for axis in AXES if axis in names), None)


def twist_axis() -> str | None:
    found = runtime.settings().mesh
    return TWISTS if found is not None and TWISTS in found.axis_names else None


def shares(walkers: int, twists: int) -> dict[str, list[int]]:
    """What each device holds, for `info`."""
    found = runtime.settings().mesh
    if found is None:
        return {}
    counts = {TWISTS: twists}
    return {a: [counts.get(a, walkers) // n] * n for a, n in found.shape.items()}


def check_count(walkers: int, twists: int | None) -> None:
    """Refuse numbers of walkers, and of twists, that the mesh cannot cut evenly."""
    mesh(twists is not None)
    check_share(walkers)
    if twists is not None:
        _check_parts("twists", twists, twist_axis())


def check_share(walkers: int) -> None:
    _check_parts("walkers", walkers, walker_axis())


def _check_parts(key: str, count: int, axis: str | None) -> None:
    found = runtime.settings().mesh
    share = 1 if found is None or axis is None else found.shape[axis]
    if count % share:
        near = sorted({max(1, count // share) * share, -(-count // share) * share})
        such = f"a multiple of the mesh's {share} devices, such as {' or '.join(map(str, near))}"
        told = f"must be {such}, but is {count}"
        if key == TWISTS:  # what was given is a list, or a number along each axis
            told = (
                f"must be {such} once laid out, but is {count} of them: a number N stands for a "
                "grid of N along each axis, and those that the system refuses do not run"
            )
        raise checks.InputError(key, told)


def parts() -> int:
    """How many devices share the walkers of one twist."""
    found, axis = runtime.settings().mesh, walker_axis()
    return 1 if found is None or axis is None else found.shape[axis]


def filled_up(count: int) -> int:
    """The next number that the devices of the walkers divide."""
    return -(-count // parts()) * parts()


def placed(tree: Any, twisted: bool) -> Any:
    """Arrays with walkers as first axis, or twists and then walkers, each part where it belongs."""
    return _placed(tree, *((twist_axis(),) if twisted else ()), walker_axis())


def placed_rows(tree: Any) -> Any:
    """Arrays with walkers as second axis, each part where it belongs."""
    return _placed(tree, None, walker_axis())


def _placed(tree: Any, *axes: str | None) -> Any:
    found = runtime.settings().mesh
    if found is None:
        return tree

    def put(x: Any) -> Any:
        place = NamedSharding(found, PartitionSpec(*axes[: jnp.ndim(x)]))
        return runtime.placed(x, place)

    return jax.tree.map(put, tree)


def over_walkers(
    function: Callable[..., Any], shared: Any, each: Any, rows: Any = None, total: bool = False
) -> Any:
    """function(shared, each), or function(shared, each, rows), on every device for its walkers.

    `each` and what comes back have walkers as first axis, `rows` as second; `shared` is whole on
    every device. With `total` the results of all devices are added up instead.
    """
    axis, found = walker_axis(), runtime.settings().mesh
    arguments = (each,) if rows is None else (each, rows)
    if found is None:
        return function(shared, *arguments)
    whole, mine = PartitionSpec(), PartitionSpec(axis)
    specs = (whole, mine, PartitionSpec(None, axis))[: 1 + len(arguments)]
    arrays, static = eqx.partition((shared, *arguments), eqx.is_array)

    def local(*arrays):
        made = function(*eqx.combine(arrays, static))
        return jax.lax.psum(made, axis) if total and axis else made

    # No device hears of another here, but for the sum: what varies over them need not be followed.
    return jax.shard_map(
        local, mesh=found, in_specs=specs, out_specs=whole if total else mine, check_vma=False
    )(*arrays)


def each_walker(function: Callable[..., Any], shared: Any, *each: Any) -> Any:
    """function(shared, *each) of one walker, for all of them."""
    return over_walkers(
        lambda shared, each: jax.vmap(lambda *one: function(shared, *one))(*each), shared, each
    )


def exact_sum(values: Any) -> Any:
    """Σ over the first axis, the same bits in any order of up to 2²² numbers; NaN if one is not
    finite.

    x = s(h + l 2⁻⁴⁰) with integers h and l of 40 bits and s of the largest number: sums of integers
    are exact. Devices exchange their largest number, and then their sums.
    """
    whole, power = _whole(values)
    return _number(jnp.sum(whole, axis=0), power)


def exact_group_sums(values: Any, groups: int) -> tuple[Any, Any]:
    """(`exact_sum` of a table (walkers, …), the same of each of so many `groups` of neighbors)."""
    count = values.shape[0]
    whole, power = _whole(values)
    group = jnp.arange(count) * groups // count

    def local(_, each):
        numbers, own = each
        return jax.ops.segment_sum(numbers, own, groups, indices_are_sorted=True)

    sums = over_walkers(local, None, (whole, group), total=True)
    return _number(jnp.sum(sums, axis=0), power), _number(sums, power)


def _whole(values: Any) -> tuple[Any, Any]:
    """(h and l of each number, as (walkers, 2, …), the exponent of s or none where not finite)."""
    largest = jnp.max(jnp.where(jnp.isfinite(values), jnp.abs(values), jnp.inf), axis=0)
    finite = jnp.isfinite(largest)
    power = jnp.maximum(jnp.frexp(jnp.where(finite, largest, 0.0))[1], -900)
    scaled = jnp.where(finite, values, 0.0) * jnp.ldexp(1.0, BITS - power)
    high = jnp.round(scaled)
    low = jnp.round((scaled - high) * 2.0**BITS)
    return jnp.stack([high, low], axis=1).astype(jnp.int64), jnp.where(finite, power, 2**30)


def _number(sums: Any, power: Any) -> Any:
    """Back from the integers (…, 2, …) of `_whole`, summed over walkers."""
    axis = sums.ndim - power.ndim - 1
    high, low = jnp.moveaxis(sums, axis, 0).astype(jnp.float64)
    finite = power < 2**30
    total = (high + low * 2.0**-BITS) * jnp.ldexp(1.0, jnp.where(finite, power, 0) - BITS)
    return jnp.where(finite, total, jnp.nan)


def exact_sums(values: dict[Any, Any]) -> dict[Any, Any]:
    """`exact_sum` of several series over walkers, together."""
    table = jnp.stack([jnp.asarray(v, jnp.float64) for v in values.values()], axis=1)
    return dict(zip(values, exact_sum(table), strict=True))
