"""The course of a run, from record to record: what `evolve` and sweeps compile.

A `Context` stays the same, a `State` changes; `record` is one step of the driver (`loop`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import batches, loop, runtime
from zitter.bases import edges
from zitter.hamiltonian import Hamiltonian
from zitter.observables.base import Observable
from zitter.propagators.base import Propagator


class Context(eqx.Module):
    """All that stays the same from step to step."""

    H: Hamiltonian
    propagator: Propagator
    observables: tuple[Observable, ...]
    start: np.float64
    dt: np.float64
    save_every: int = eqx.field(static=True)
    save_states: bool = eqx.field(static=True)

    @property
    def edges(self) -> tuple[edges.Edge, ...]:
        """The ends of the basis that this run may reach."""
        open_end = self.H.absorber is None and self.H.mask is None
        return self.H.basis.edges(self.H.time_dependent, open_end)


class State(eqx.Module):
    """What changes: how many steps are done, ψ, the propagator's own memory, and the largest
    populations at the edges of the basis, at the records so far.
    """

    steps: jax.Array
    psi: jax.Array
    memory: Any
    reached: dict[str, jax.Array]


@eqx.filter_jit
def begin(context: Context, psi: jax.Array) -> State:
    psi = context.H.basis.keep(psi)
    memory = context.propagator.init(context.H, psi, context.start, context.dt)
    return State(jnp.zeros((), jnp.int32), psi, memory, edges.begin(context.edges))


def advance(context: Context, state: State, steps: int) -> State:
    """`steps` time steps; the mask, if any, after each."""
    H, dt, method = context.H, context.dt, context.propagator

    def body(_, state):
        t = context.start + state.steps * dt
        psi, memory = method.step(H, state.psi, t, dt, state.memory)
        if H.mask is not None:
            psi = method.enter(H.mask.apply(method.leave(psi), dt))
        return State(state.steps + 1, psi, memory, state.reached)

    state = State(state.steps, method.enter(state.psi), state.memory, state.reached)
    if steps == 1:
        state = body(0, state)
    else:
        # Long bodies take minutes to compile and gain nothing from being repeated.
        unroll = max(1, runtime.unroll() // method.stages)
        state = jax.lax.fori_loop(0, steps, body, state, unroll=unroll)
    return State(state.steps, method.leave(state.psi), state.memory, state.reached)


def record(context: Context, state: State) -> tuple[State, dict[str, jax.Array]]:
    """One record interval: observables of the state at its start, then the steps."""
    values = measure(context, context.observables, state)
    if context.save_states:
        values["states"] = state.psi
    reached = edges.largest(context.edges, state.psi, state.reached)
    state = State(state.steps, state.psi, state.memory, reached)
    return advance(context, state, context.save_every), values


def course(context: Context, psi: jax.Array, records: int, tail: int, on: Any) -> Any:
    """All of a run that somebody traces: (the states that end it, records).

    Kept compiled by its shapes, for all runs of a scan and for later scans; `on` is their mesh.
    """

    def carried(context: Context, psi: jax.Array) -> Any:
        state, recorded = loop.scan(record, context, begin(context, psi), records)
        return [state, advance(context, state, tail)] if tail else [state], recorded

    return batches.local(carried, on, context, psi)


def measure(context: Context, observables, state: State) -> dict[str, jax.Array]:
    t = context.start + state.steps * context.dt
    return {o.name: o.evaluate(context.H, state.psi, t) for o in observables}


measure_compiled = eqx.filter_jit(measure)
advance_compiled = eqx.filter_jit(advance)
course_compiled = eqx.filter_jit(course)


def look(context: Context, psi: jax.Array, ends: Sequence[State]) -> dict[str, Any]:
    """What can be told of a run from ψ by its last states: norms, edges, observables."""
    basis, end = context.H.basis, ends[-1]
    return {
        "before": basis.norm(psi),
        "after": basis.norm(end.psi),
        "reached": edges.populations(context.edges, end.psi, end.reached),
        "lasts": [measure(context, context.observables, state) for state in ends],
    }


def problem(context: Context, state: State, before: float, norm: float) -> str | None:
    """A sentence that ends a run, by its state, and its norm before and now."""
    problem = context.propagator.problem(context.H, state.memory, context.dt)
    if problem is not None:
        return problem
    t = float(context.start + state.steps * context.dt)
    if not math.isfinite(norm):
        return f"The state became infinite or NaN before t = {t:g}: take a smaller dt."
    if norm > 1.5 * before + 1e-3:
        return f"The norm grew from {before:g} to {norm:g} by t = {t:g}: take a smaller dt."
    return None
