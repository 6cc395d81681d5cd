"""Which walkers survive when their weights have spread: a comb over all of them, wherever they are.

Weights become integers, q = round(2⁴⁰ w/max w), whose prefix sums are exact on any number of
devices. With T their total, tooth j of W stands at ⌊(jT + U)/W⌋, U < T drawn once; slot j is given
to the walker whose stretch of the prefix sums holds tooth j. From other devices this takes one
number each, their total.

Order is kept, so that a slot is filled from its own device or from one nearby. Walkers that are
wanted elsewhere travel on two conveyors, to the right and to the left: in every round each device
hands on a few of them, whole, with the slots that they fill, the nearest first. There are as many
rounds as the farthest walker needs, in practice few.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

from zitter import runtime
from zitter.qmc import spread

BITS = 40  # of the largest weight


def comb(key: Any, weights: Any, walkers: Any) -> Any:
    """Walkers drawn anew, arrays with walkers as first axis: each appears weight/mean times,
    rounded up or down at random.

    One uniform number places all teeth of the comb, which makes the least noise.
    """
    chance = jax.random.uniform(key, (), jnp.float64)
    scaled = weights / jnp.max(weights) * 2.0**BITS
    whole = jnp.round(jnp.where(jnp.isfinite(scaled), scaled, 0.0)).astype(jnp.int64)
    total = jnp.sum(whole)
    offset = jnp.minimum((chance * total).astype(jnp.int64), total - 1)
    axis, mesh, count = spread.walker_axis(), runtime.settings().mesh, weights.shape[0]
    if mesh is None or axis is None:
        alone = lambda teeth, each: _drawn(each[0], each[1], teeth, count)  # noqa: E731
        return spread.over_walkers(alone, (total, offset), (whole, walkers))
    here = PartitionSpec(axis)
    return jax.shard_map(
        lambda whole, walkers, teeth: _drawn(whole, walkers, teeth, count, mesh, axis),
        mesh=mesh,
        in_specs=(here, here, PartitionSpec()),
        out_specs=here,
        check_vma=False,
    )(whole, walkers, (total, offset))


def batch_size(walkers: int, devices: int) -> int:
    """Walkers that a device hands on in one round.

    Where weights of relative spread s are summed up, the sum strays by s√W/2: a round carries a
    fraction of that, since what is sent in vain costs as much as what is wanted.
    """
    return max(1, min(walkers // devices, math.ceil(math.sqrt(walkers) / 4)))


def _drawn(
    whole: Any, walkers: Any, teeth: Any, count: int, mesh: Mesh | None = None, axis: str = ""
) -> Any:
    """The walkers of one device's slots."""
    total, offset = teeth
    own = whole.shape[0]
    device = 0 if mesh is None else jax.lax.axis_index(axis)
    ends = jnp.cumsum(whole)
    if mesh is not None:
        sums = jax.lax.all_gather(ends[-1], axis)
        ends = ends + jnp.sum(jnp.where(jnp.arange(count // own) < device, sums, 0))
    # Walker i fills the slots first … last − 1.
    first = _slots_before(ends - whole, total, offset, count)
    last = _slots_before(ends, total, offset, count)
    slots = device * own + jnp.arange(own)
    chosen = jnp.minimum(jnp.searchsorted(last, slots, side="right"), own - 1)
    taken = jax.tree.map(lambda x: x[chosen], walkers)
    if mesh is None:
        return taken
    batch = batch_size(count, count // own)
    number = device * own + jnp.arange(own)
    wanted = last > first
    # How far beyond a device's end its slots reach into the walkers of others.
    right = jnp.where(wanted, (last - 1) // own * own - number, 0)
    left = jnp.where(wanted, number - (first // own + 1) * own + 1, 0)
    # As many rounds everywhere, at other twists too: one operation moves walkers on all devices.
    farthest = jax.lax.pmax(jnp.stack([jnp.max(right), jnp.max(left)]), mesh.axis_names)
    rounds = -(-farthest // batch)
    load = (first, last, walkers)
    backwards = jax.tree.map(lambda x: x[::-1], load)
    taken = _conveyed(taken, backwards, slots, rounds[0], batch, axis, 1)
    return _conveyed(taken, load, slots, rounds[1], batch, axis, -1)


def _conveyed(taken: Any, load: Any, slots: Any, rounds: Any, batch: int, axis: str, way: int):
    """`taken` with the slots filled that belong to walkers from one side.

    A device sends its own load, the nearest to its neighbor first, and then what it was sent.
    """
    own, devices = slots.shape[0], jax.lax.axis_size(axis)
    pairs = [(d, d + way) for d in range(devices) if 0 <= d + way < devices]

    def one(turn, state):
        taken, load = state
        places = (turn * batch + jnp.arange(batch)) % own
        sent = jax.tree.map(lambda x: x[places], load)
        first, last, here = jax.tree.map(lambda x: jax.lax.ppermute(x, axis, pairs), sent)
        fits = (first <= slots[:, None]) & (slots[:, None] < last)  # none where nobody sent
        hit, which = jnp.any(fits, axis=1), jnp.argmax(fits, axis=1)

        def filled(old, new):
            return jnp.where(hit.reshape(-1, *(1,) * (old.ndim - 1)), new[which], old)

        load = jax.tree.map(lambda x, got: x.at[places].set(got), load, (first, last, here))
        return jax.tree.map(filled, taken, here), load

    return jax.lax.fori_loop(0, rounds, one, (taken, load))[0]


def _slots_before(place: Any, total: Any, offset: Any, count: int) -> Any:
    """How many teeth stand before each place: bisection, since j W overflows what would divide."""
    low, high = jnp.zeros_like(place), jnp.full_like(place, count)

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        tooth = middle * (total // count) + (middle * (total % count) + offset) // count
        before = (tooth < place) & (low < high)
        return jnp.where(before, middle + 1, low), jnp.where(before, high, middle)

    return jax.lax.fori_loop(0, math.ceil(math.log2(count + 1)) + 1, halve, (low, high))[0]
