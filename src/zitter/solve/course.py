"""The course of a run, from record to record: what `evolve` and sweeps compile.

A `Context` stays the same, a `State` changes; `part` is one step of the driver (`loop`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import batches
from zitter.bases import edges
from zitter.hamiltonian import Hamiltonian
from zitter.observables.base import Observable
from zitter.propagators.base import Propagator, Repeat, repeated
from zitter.remade import parted
from zitter.solve import guards, remembering
from zitter.terms import model_guards


class Context(eqx.Module):
    """All that stays the same from step to step."""

    H: Hamiltonian
    propagator: Propagator
    observables: tuple[Observable, ...]
    start: np.float64
    dt: np.float64
    save_every: int = eqx.field(static=True)
    save_states: bool = eqx.field(static=True)

    def starting(self, *psi: jax.Array) -> Context:
        """The same for runs from ψ, or from any of several."""
        return dataclasses.replace(self, propagator=self.propagator.starting(*psi))

    @property
    def part(self) -> int:
        """Steps that the driver counts as one."""
        return guards.part(self.save_every)

    @property
    def apart(self) -> int:
        """How many of these lie between two records."""
        return self.save_every // self.part

    @property
    def edges(self) -> tuple[edges.Edge, ...]:
        """The ends of the basis that this run may reach."""
        open_end = self.H.absorber is None and self.H.mask is None
        return self.H.basis.edges(self.H.time_dependent, open_end)


class State(eqx.Module):
    """What changes: how many steps are done, ψ, the propagator's own memory, the largest
    populations at the edges of the basis so far, as often as was looked, and the probability that
    was absorbed (None where nothing absorbs).
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


def advance(context: Context, state: State, steps: int, repeat: Repeat = repeated) -> State:
    """`steps` time steps; the mask, if any, after each."""
    H, method = context.H, context.propagator
    state = eqx.tree_at(lambda s: s.psi, state, method.enter(state.psi))
    if state.absorbed is None or H.hermitian:
        # A record has just looked at the edges; a derivative would remember more looks.
        often = bool(state.reached) and repeat is repeated
        stride = guards.looks(steps) if often else steps
        if stride == steps:
            state = _stepped(context, state, steps, repeat)
        else:
            state = repeat(lambda s: _watched(context, s, stride), state, steps // stride)
            state = _watched(context, state, steps % stride) if steps % stride else state
    else:
        stride = guards.stride(steps)
        begun = state, _rate(context, state)
        state, _ = repeat(lambda s: _counted(context, s, stride), begun, steps // stride)
    return eqx.tree_at(lambda s: s.psi, state, method.leave(state.psi))


def _watched(context: Context, state: State, steps: int) -> State:
    """Some steps, after a look at the edges of the basis."""
    if state.reached:
        psi = context.propagator.leave(state.psi)
        reached = edges.largest(context.edges, psi, state.reached)
        state = eqx.tree_at(lambda s: s.reached, state, reached)
    return _stepped(context, state, steps, repeated)


def _counted(
    context: Context, begun: tuple[State, jax.Array], steps: int
) -> tuple[State, jax.Array]:
    """(state, rate) after a few steps, which absorb by the mean of the rates before and after."""
    state, rate = begun
    state = _watched(context, state, steps)
    assert state.absorbed is not None
    after = _rate(context, state)
    absorbed = state.absorbed + 0.5 * steps * context.dt * (rate + after)
    return eqx.tree_at(lambda s: s.absorbed, state, absorbed), after


def _rate(context: Context, state: State) -> jax.Array:
    t = context.start + state.steps * context.dt
    return guards.rate(context.H, context.propagator.leave(state.psi), t)


def _stepped(context: Context, state: State, steps: int, repeat: Repeat) -> State:
    """The mask, if any, after each step; without one a method may join them."""
    H, dt, method, mask = context.H, context.dt, context.propagator, context.H.mask
    if mask is None:

        def time(k):
            return context.start + (state.steps + k) * dt

        psi, memory = method.march(H, state.psi, time, dt, state.memory, steps, repeat)
        return State(state.steps + steps, psi, memory, state.reached, state.absorbed)

    def body(state):
        t = context.start + state.steps * dt
        psi, memory = method.step(H, state.psi, t, dt, state.memory)
        whole = method.leave(psi)
        masked = mask.apply(whole, dt)
        absorbed = state.absorbed
        if absorbed is not None:
            absorbed = absorbed + guards.difference(H.basis, whole, masked)
        return State(state.steps + 1, method.enter(masked), memory, state.reached, absorbed)

    return repeat(body, state, steps, unroll=method.unroll(H))


def record(
    context: Context, state: State, repeat: Repeat = repeated
) -> tuple[State, dict[str, jax.Array]]:
    """One record interval: observables of the state at its start, then the steps."""
    return _looked_and_advanced(context, state, context.save_every, repeat), _seen(context, state)


def part(
    context: Context, state: State, begins: jax.Array | None = None
) -> tuple[State, dict[str, jax.Array]]:
    """The same of a part of an interval. Only the first of each looks (`begins`, where states that
    are carried together know it of all of them): those after it return zeros, which nobody keeps.
    """
    seen = functools.partial(_seen, context, state)
    if context.apart == 1:
        values = seen()
    else:
        begins = state.steps % context.save_every == 0 if begins is None else begins
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(seen))
        values = jax.lax.cond(begins, seen, lambda: nothing)
    return _looked_and_advanced(context, state, context.part, repeated), values


def _seen(context: Context, state: State) -> dict[str, jax.Array]:
    values = measure(context, context.observables, state)
    return values | {"states": state.psi} if context.save_states else values


def _looked_and_advanced(context: Context, state: State, steps: int, repeat: Repeat) -> State:
    reached = edges.largest(context.edges, state.psi, state.reached)
    state = State(state.steps, state.psi, state.memory, reached, state.absorbed)
    return advance(context, state, steps, repeat)


def course(context: Context, psi: jax.Array, records: int, tail: int, on: Any) -> Any:
    """All of a run that somebody traces: (the states that end it, records).

    Kept compiled by its shapes, for all runs of a scan and for later scans; `on` is their mesh.
    What a gradient remembers of its steps grows with the root of their number (`remembering`).
    """
    step = functools.partial(record, repeat=remembering.repeated)

    def carried(context: Context, psi: jax.Array) -> Any:
        begun = begin(context, psi)
        state, recorded = remembering.scanned(lambda s: step(context, s), begun, records)
        if not tail:
            return [state], recorded
        return [state, advance(context, state, tail, remembering.repeated)], recorded

    return batches.local(carried, on, context, psi)


def measure(context: Context, observables, state: State) -> dict[str, jax.Array]:
    t = context.start + state.steps * context.dt
    return {o.name: o.evaluate(context.H, state.psi, t) for o in observables}


measure_compiled = eqx.filter_jit(measure)
course_compiled = eqx.filter_jit(course)


def advance_compiled(context: Context, state: State, steps: int) -> State:
    """The same as `advance`; what nothing changes is not copied."""
    made, changing = parted(state)
    return eqx.combine(made, _advanced(context, made, changing, steps))


@eqx.filter_jit
def _advanced(context: Context, made: Any, changing: Any, steps: int) -> Any:
    return parted(advance(context, eqx.combine(made, changing), steps))[1]


def look(context: Context, psi: jax.Array, ends: Sequence[State]) -> dict[str, Any]:
    """What can be told of a run from ψ by its last states: norms, edges, observables."""
    basis, end = context.H.basis, ends[-1]
    return {
        "before": basis.norm(psi),
        "after": basis.norm(end.psi),
        "reached": edges.populations(context.edges, end.psi, end.reached),
        "left": edges.gone(basis, psi, end.psi),
        "lasts": [measure(context, context.observables, state) for state in ends],
    }


def vitals(context: Context, state: State) -> dict[str, Any]:
    """What tells whether a run goes on well, in few numbers."""
    return {
        "steps": state.steps,
        "norm": context.H.basis.norm(state.psi),
        "absorbed": state.absorbed,
        "failed_at": context.propagator.failed_at(state.memory),
    }


def problem(
    context: Context, state: State, before: float, norm: float, since: int = 0
) -> str | None:
    """A sentence that ends a run, by its state, its norm before and now, and the step since which
    something may be wrong."""
    problem = context.propagator.problem(context.H, state.memory, context.dt)
    if problem is not None:
        return problem
    if not np.isfinite(norm) and (reason := spoilt(context, since, int(state.steps))):
        return reason
    t = float(context.start + state.steps * context.dt)
    return guards.Account.of(context.H).problem(t, before, norm, state.absorbed)


def spoilt(context: Context, since: int, steps: int) -> str | None:
    """Whether it is H that has made a state infinite or NaN between two steps, as a sentence."""
    # At the ends and in the middle of these steps, or of as many as take no time to speak of.
    count = int(np.clip(2**25 // context.H.basis.size, 2**8, 2**15))
    count = min(count, 2 * (steps - since) + 1)
    halves = np.linspace(2 * since, 2 * steps, count).round()
    when = model_guards.first_spoilt(context.H, context.start + halves * context.dt / 2)
    if when is None:
        return None
    return (
        f"The state became infinite or NaN before t = {context.start + steps * context.dt:g}, as H "
        f"is at t = {when:g}: give a potential and light that are finite until the end, or an "
        "earlier end."
    )
