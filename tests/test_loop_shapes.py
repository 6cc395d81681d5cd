"""The driver traces a step once for each form of its arguments."""

from __future__ import annotations

import jax.numpy as jnp

from zitter import loop

TRACED: list[int] = []


def counted(context, state):
    TRACED.append(1)
    return context * state, {"value": state[: len(state) // 2]}


def value_shape(size: int, factor: float) -> tuple[int, ...]:
    outcome = loop.drive(counted, jnp.float64(factor), jnp.ones(size), 4)
    return outcome.records["value"].shape


def test_a_second_run_of_the_same_shapes_traces_nothing():
    """Whatever its numbers; other shapes are traced, and records have theirs."""
    assert value_shape(6, 1.0) == (4, 3)
    TRACED.clear()
    assert value_shape(6, 2.0) == (4, 3)
    assert not TRACED
    assert value_shape(8, 2.0) == (4, 4)
    assert TRACED
