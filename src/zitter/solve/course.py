"""The course of a run, from record to record: what `evolve` and sweeps compile.

A `Context` stays the same, a `State` changes; `record` is one step of the driver (`loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from zitter.solve import guards


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
    """What changes: how many steps are done, ψ, the propagator's own memory, the largest
    populations at the edges of the basis, at the records so far, and the probability that was
    absorbed (None where nothing absorbs).
    """

    steps: jax.Array
    psi: jax.Array
    memory: Any
    reached: dict[str, jax.Array]
    absorbed: jax.Array | None = None


@eqx.filter_jit
def begin(context: Context, psi: jax.Array) -> State:
    psi = context.H.basis.keep(psi)
    memory = context.propagator.init(context.H, psi, context.start, context.dt)
    absorbed = jnp.zeros((), jnp.float64) if guards.absorbs(context.H) else None
    return State(jnp.zeros((), jnp.int32), psi, memory, edges.begin(context.edges), absorbed)


def advance(context: Context, state: State, steps: int) -> State:
    """`steps` time steps; the mask, if any, after each."""
    H, method = context.H, context.propagator
    state = eqx.tree_at(lambda s: s.psi, state, method.enter(state.psi))
    if state.absorbed is None or H.hermitian:
        state = _stepped(context, state, steps)
    else:
        stride = guards.stride(steps)
        state = _repeated(lambda s: _counted(context, s, stride), state, steps // stride)
    return eqx.tree_at(lambda s: s.psi, state, method.leave(state.psi))


def _counted(context: Context, state: State, steps: int) -> State:
    """A few steps, with what is absorbed meanwhile at the rate that they begin with."""
    assert state.absorbed is not None
    H, dt = context.H, context.dt
    t = context.start + state.steps * dt
    rate = guards.rate(H, context.propagator.leave(state.psi), t)
    state = eqx.tree_at(lambda s: s.absorbed, state, state.absorbed + steps * dt * rate)
    return _stepped(context, state, steps)


def _stepped(context: Context, state: State, steps: int) -> State:
    H, dt, method = context.H, context.dt, context.propagator

    def body(state):
        t = context.start + state.steps * dt
        psi, memory = method.step(H, state.psi, t, dt, state.memory)
        absorbed = state.absorbed
        if H.mask is not None:
            whole = method.leave(psi)
            masked = H.mask.apply(whole, dt)
            psi = method.enter(masked)
            if absorbed is not None:
                absorbed = absorbed + guards.difference(H.basis, whole, masked)
        return State(state.steps + 1, psi, memory, state.reached, absorbed)

    # Long bodies take minutes to compile and gain nothing from being repeated.
    return _repeated(body, state, steps, unroll=max(1, runtime.unroll() // method.stages))


def _repeated(body: Callable[[State], State], state: State, count: int, unroll: int = 1) -> State:
    if count == 1:
        return body(state)
    return jax.lax.fori_loop(0, count, lambda _, s: body(s), state, unroll=unroll)


def record(context: Context, state: State) -> tuple[State, dict[str, jax.Array]]:
    """One record interval: observables of the state at its start, then the steps."""
    values = measure(context, context.observables, state)
    if context.save_states:
        values["states"] = state.psi
    reached = edges.largest(context.edges, state.psi, state.reached)
    state = State(state.steps, state.psi, state.memory, reached, state.absorbed)
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
    return guards.problem(context.H, t, before, norm, state.absorbed)
