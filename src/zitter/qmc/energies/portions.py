"""Sums over the few entries of a list that count, without shapes that depend on how many do."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

FEWEST = 8  # entries that are not worth dividing
PORTIONS = 8  # at least so many otherwise
LARGEST = 32  # entries of a portion: with their walkers enough for any device


class Entries(eqx.Module):
    """A list as arrays with its entries as first axis."""

    inside: eqx.AbstractVar[Any]  # (M,): which count


def portioned_sum(function: Any, moving: Any, term: Any, dtype: Any, entries: Entries) -> Any:
    """Σ function(moving, term, dtype, some entries) over portions that hold all entries that count.

    Entries that are not `inside` must add nothing: they fill the last portion. The sum can be
    differentiated backwards with respect to `moving`, which a loop of unknown length cannot.
    """
    number = entries.inside.shape[0]
    if number <= FEWEST:
        return function(moving, term, dtype, entries)
    size = min(-(-number // PORTIONS), LARGEST)
    # Those that count first. What fills the last portion does not count, by its place if need be.
    order = jnp.argsort(~entries.inside, stable=True)
    order = jnp.pad(order, (0, -number % size))
    used = jnp.sum(entries.inside)
    return _sum(moving, term, dtype, function, entries, (order, used), size)


def _portion(entries: Any, schedule: Any, index: Any, size: int) -> Any:
    order, used = schedule
    chosen = jax.lax.dynamic_slice_in_dim(order, index * size, size)
    taken = jax.tree.map(lambda x: x[chosen], entries)
    valid = index * size + jnp.arange(size) < used
    return eqx.tree_at(lambda e: e.inside, taken, taken.inside & valid)


def _added(one: Any, zero: Any, schedule: Any, size: int) -> Any:
    """Σ one(index) over the portions that are needed."""

    def body(state):
        index, total = state
        return index + 1, jax.tree.map(jnp.add, total, one(index))

    more = lambda state: state[0] * size < schedule[1]  # noqa: E731
    return jax.lax.while_loop(more, body, (jnp.zeros((), jnp.int32), zero))[1]


@eqx.filter_custom_vjp
def _sum(moving, term, dtype, function, entries, schedule, size):
    one = lambda i: function(moving, term, dtype, _portion(entries, schedule, i, size))  # noqa: E731
    return _added(one, jnp.zeros(()), schedule, size)


@_sum.def_fwd
def _forward(perturbed, moving, term, dtype, function, entries, schedule, size):
    return _sum(moving, term, dtype, function, entries, schedule, size), None


@_sum.def_bwd
def _backward(residuals, slope, perturbed, moving, term, dtype, function, entries, schedule, size):
    varied, fixed = eqx.partition(moving, perturbed)

    def one(index):
        part = _portion(entries, schedule, index, size)
        value = lambda v: function(eqx.combine(v, fixed), term, dtype, part)  # noqa: E731
        return jax.vjp(value, varied)[1](slope)[0]

    return _added(one, jax.tree.map(jnp.zeros_like, varied), schedule, size)
