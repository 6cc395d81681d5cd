"""Runs that differ in numbers only, carried together as one: the items of a sweep.

Plans of one form (the same operators, method, steps and records) become one program over an axis of
items. What all have in common is kept once; what differs lies along that axis, which the mesh axis
`batch` divides. The driver is that of single runs, with its progress, checkpoints and signals.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import batches, checks, loop, runtime, segments, solve
from zitter.remade import parted
from zitter.results import Solution
from zitter.solve import course, guards, trials


def same_form(one: solve.Plan, other: solve.Plan) -> bool:
    """Whether two runs could be carried together."""
    if not (one.all_in_loop and other.all_in_loop) or one.context.H.basis.shares:
        return False
    (numbers, rest), (others, others_rest) = map(_parts, (one.context, other.context))
    if any(isinstance(leaf, FunctionType) for leaf in jax.tree.leaves(rest)):
        return False  # what a function encloses is not seen
    try:
        return (
            (one.steps, one.dtype, one.checked_with is None)
            == (other.steps, other.dtype, other.checked_with is None)
            and jax.tree.structure(numbers) == jax.tree.structure(others)
            and jax.tree.map(_kind, numbers) == jax.tree.map(_kind, others)
            and bool(eqx.tree_equal(rest, others_rest))
        )
    except ValueError:  # of static arrays nobody can tell in one word whether they are equal
        return False


def shared(lead: solve.Plan, plan: solve.Plan) -> solve.Plan:
    """The same plan with arrays of `lead` in the place of equal ones, which are then kept once."""

    def first(ours: Any, theirs: Any) -> Any:
        return ours if _equal(ours, theirs) else theirs

    def merged(ours: Any, theirs: Any) -> Any:
        if jax.tree.structure(ours) != jax.tree.structure(theirs):
            return theirs
        return jax.tree.map(first, ours, theirs)

    H, context = merged(lead.H, plan.H), merged(lead.context, plan.context)
    H = eqx.tree_at(lambda h: h.origin, H, plan.H.origin, is_leaf=lambda x: x is H.origin)
    return dataclasses.replace(plan, H=H, context=context)


class _Items(eqx.Module):
    """What all items share, and what each has of its own, along a first axis."""

    common: course.Context
    own: course.Context
    made: Any  # of their states what is made once and is the same for all, such as factors
    on: Any = eqx.field(static=True)

    @classmethod
    def of(cls, contexts: Sequence[course.Context]) -> _Items:
        parts = [_parts(context) for context in contexts]
        (lead, rest), columns = parts[0], [numbers for numbers, _ in parts]

        def differ(*values: Any) -> bool:
            return not all(_equal(values[0], value) for value in values[1:])

        varied = jax.tree.map(differ, *columns)
        stacked = jax.tree.map(lambda *v: np.stack(v) if differ(*v) else None, *columns)
        fixed = jax.tree.map(lambda own, value: None if own else value, varied, lead)
        own = batches.spread(stacked, len(contexts))
        return cls(eqx.combine(fixed, rest), own, None, batches.mesh())

    def each(self, function: Any, *columns: Any, out_axes: Any = 0) -> Any:
        """function(context, *values) of every item, each on its own device."""

        def one(own: Any, *values: Any) -> Any:
            context = eqx.combine(own, self.common)
            return batches.local(function, self.on, context, *values)

        axis = None if self.on is None else batches.AXIS
        return jax.vmap(one, out_axes=out_axes, spmd_axis_name=axis)(self.own, *columns)

    def shortened(self, every: int) -> _Items:
        """For a trial, with `every` steps between records."""
        common, own = (trials.shortened(context, every) for context in (self.common, self.own))
        return dataclasses.replace(self, common=common, own=own)

    def whole(self, state: Any) -> Any:
        """The state of an item with what all share."""
        return state if self.made is None else eqx.combine(self.made, state)

    def changing(self, state: Any) -> Any:
        """The inverse."""
        return state if self.made is None else parted(state)[1]


def _step(items: _Items, states: Any) -> Any:
    # All are at the same step. Asked of each, all would be measured after each part.
    alike = items.on is None
    begins = states.steps[0] % items.common.save_every == 0 if alike else None

    def part(context: course.Context, state: Any) -> Any:
        state, values = course.part(context, items.whole(state), begins)
        return items.changing(state), values

    return items.each(part, states)


@eqx.filter_jit
def _begin(items: _Items, psi: Any) -> tuple[Any, Any]:
    """(what is made once for all items, or None where they differ in it; their states without)."""

    def begin(context: course.Context, psi: Any) -> Any:
        return parted(course.begin(context, psi))

    if items.on is None:
        try:
            return items.each(begin, psi, out_axes=(None, 0))
        except ValueError:  # JAX finds that it depends on the item
            pass
    return None, items.each(course.begin, psi)


@eqx.filter_jit
def _finish(items: _Items, states: Any, steps: int) -> Any:
    def advance(context: course.Context, state: Any) -> Any:
        return items.changing(course.advance(context, items.whole(state), steps))

    return items.each(advance, states)


@eqx.filter_jit
def _vitals(items: _Items, states: Any) -> Any:
    return items.each(course.vitals, states)


@eqx.filter_jit
def _look(items: _Items, psi: Any, ends: Any) -> Any:
    return items.each(course.look, psi, ends)


class _Watcher:
    """The host's part: which items failed on the way, by the sentences that end single runs.

    Others go on; what is left of a failed one goes along with them, and is not looked at again.
    """

    def __init__(self, items: _Items, plans: Sequence[solve.Plan], states: Any):
        self.items, self.plans = items, plans
        self.before = np.asarray(_vitals(items, states)["norm"])
        self.account = guards.Account.of(plans[0].context.H)  # alike for plans of one form
        self.failed: dict[int, checks.RunError] = {}
        self.judged = 0  # the last step that was

    def guard(self, states: Any, done: int) -> str | None:
        """A sentence once nothing is left to carry."""
        seen = jax.device_get(_vitals(self.items, states))
        for i, plan in enumerate(self.plans):
            if i not in self.failed:
                problem = self._problem(plan, i, states, jax.tree.map(lambda x, i=i: x[i], seen))
                if problem is not None:
                    self.failed[i] = checks.RunError(problem)
        self.judged = int(np.max(seen["steps"]))
        return "All items failed." if len(self.failed) == len(self.plans) else None

    def _problem(self, plan: solve.Plan, i: int, states: Any, seen: dict[str, Any]) -> str | None:
        before, after = float(self.before[i]), float(seen["norm"])
        if seen["failed_at"] < np.inf or np.isnan(seen["failed_at"]):  # the method knows more of it
            own = jax.tree.map(lambda x: x[i], states)
            return course.problem(plan.context, own, before, after, self.judged)
        if not np.isfinite(after):
            reason = course.spoilt(plan.context, self.judged, int(seen["steps"]))
            if reason is not None:
                return reason
        t = float(plan.context.start + seen["steps"] * plan.context.dt)
        return self.account.problem(t, before, after, seen["absorbed"])


def carried(
    plans: Sequence[solve.Plan],
    psi: Sequence[Any],
    *,
    label: str = "evolving",
    progress: bool = False,
    checkpoint: loop.Checkpoint | None = None,
    about: Callable[[int], AbstractContextManager[None]] | None = None,
) -> list[Solution | checks.RunError]:
    """The solution of each plan from its ψ, or what went wrong; plans are of one form.

    Warnings are of the worst item, or inside `about(i)` of each.
    """
    lead, count = plans[0], len(plans)
    items, stacked, states = _prepared(plans, psi)
    rest = lead.rest
    if about is None:
        lead.warn_of_unseen(psi)
    else:
        for i, (plan, one) in enumerate(zip(plans, psi, strict=True)):
            with about(i):
                plan.warn_of_unseen([one])
    with batches.alone():
        watcher = _Watcher(items, plans, states)
        try:
            outcome = loop.drive(
                _step,
                items,
                states,
                lead.parts,
                label=label,
                guard=watcher.guard,
                checkpoint=checkpoint,
                resume=checkpoint is not None,
                progress=progress,
                finish=(lambda states: _finish(items, states, rest)) if rest else None,
                **lead.driven,
            )
        except loop.Halted:
            return [watcher.failed[i] for i in range(count)]
        last = lead.last(outcome)
        seen = _look(items, stacked, last)
    ends, seen = jax.device_get((last, seen))
    found: list[Solution | checks.RunError] = []
    looks = []
    for i, plan in enumerate(plans):
        own, looked = jax.tree.map(lambda x, i=i: x[i], (ends, seen))
        looks.append(looked)
        if i in watcher.failed:
            found.append(watcher.failed[i])
            continue
        # A run that was resumed at its end has not been judged yet.
        problem = plan.problem(own[-1], looked)
        if problem is not None:
            found.append(checks.RunError(problem))
            continue
        recorded = jax.tree.map(lambda x, i=i: x[:, i], outcome.records)
        with nullcontext() if about is None else about(i):
            found.append(plan.solution(own, recorded, looked, outcome.seconds / count))
    _add_step_errors(plans, psi, found)
    if about is None:
        _warn(lead, found, looks)
    else:
        for i, one in enumerate(found):
            with about(i):
                _warn(lead, [one], looks[i : i + 1])
    return found


def _warn(lead: solve.Plan, found: Sequence[Solution | checks.RunError], looks: Any) -> None:
    """Of each edge of the basis, the norm and the steps once, with what the worst item has."""
    pairs = zip(found, looks, strict=True)
    good = [(one.info, looked) for one, looked in pairs if isinstance(one, Solution)]
    for edge in lead.context.edges:
        reached = [(info[edge.name], float(edge.limit(looked["left"]))) for info, looked in good]
        edge.warn(*max(reached, key=lambda pair: pair[0] / pair[1], default=(0.0, 1.0)))
    H = lead.context.H
    kept = [(float(a["before"]), float(a["after"]), info.get("absorbed")) for info, a in good]
    if kept:
        account = guards.Account.of(H)
        worst = max(kept, key=lambda norm: abs(account.lost(*norm) or 0.0))
        guards.warn_of_spoilt_norm(H, *worst)
    norms = [max(before, after) for before, after, _ in kept]
    lead.warn_of_steps([info for info, _ in good], norms)


def estimate(plans: Sequence[solve.Plan], psi: Sequence[Any]) -> tuple[int, float, float]:
    """Bytes that all items together take on each device, the time to compile and of all steps.

    The last is estimated by a few parts of the run, or by shorter ones.
    """
    items, _, states = _prepared(plans, psi)
    lead = plans[0]
    every = trials.interval(lead.context, len(plans))
    with batches.alone():
        program = tried = segments.compiled(_step, items, states, lead.parts)
        parts, looks = float(lead.parts), lead.looks
        if every != lead.context.part:
            items = items.shortened(every)
            parts = looks = parts * lead.context.part / every
            tried = segments.compiled(_step, items, states, math.ceil(parts))
        running, scratch = trials.tried(tried, items, states, parts, looks)
        return program.memory + scratch, program.seconds_to_compile, running


def _prepared(plans: Sequence[solve.Plan], psi: Sequence[Any]) -> tuple[_Items, Any, Any]:
    """(items, ψ of all of them, the states they start from)."""
    starts = {id(p): runtime.as_state(p, plans[0].dtype) for p in psi}
    # They go together, so none leaves out what another one reaches.
    items = _Items.of([plan.context.starting(*starts.values()) for plan in plans])
    stacked = batches.spread(jnp.stack([starts[id(p)] for p in psi]), len(psi))
    with batches.alone():
        made, states = _begin(items, stacked)
    return dataclasses.replace(items, made=made), stacked, states


def _add_step_errors(
    plans: Sequence[solve.Plan], psi: Sequence[Any], found: Sequence[Solution | checks.RunError]
) -> None:
    """What a run with twice the step says of each item, where there is one for all of them."""
    with batches.alone():
        coarse = [plan.coarse() for plan in plans]
    others: Sequence[Any] = coarse
    ready = [plan for plan in coarse if isinstance(plan, solve.Plan)]
    if len(ready) == len(plans) and all(same_form(ready[0], plan) for plan in ready):
        with guards.silence():
            others = carried([shared(ready[0], plan) for plan in ready], psi)
    for plan, end, other in zip(plans, found, others, strict=True):
        if not isinstance(end, Solution) or other is None:
            continue
        if isinstance(other, Solution):
            plan.compare(end, other)
        else:
            apart = "the items cannot be carried together with it"
            why = solve.Unchecked(apart if isinstance(other, solve.Plan) else other)
            end.info["step_check"] = str(other if isinstance(other, solve.Unchecked) else why)


def _parts(context: course.Context) -> tuple[Any, Any]:
    """(what may differ between items, what may not)."""
    return eqx.partition(
        context, lambda x: isinstance(x, jax.Array | np.ndarray | np.generic | float)
    )


def _kind(value: Any) -> tuple[Any, ...]:
    return np.shape(value), jnp.result_type(value)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if not isinstance(one, jax.Array | np.ndarray | np.generic | float):
        return False
    return _kind(one) == _kind(other) and np.array_equal(np.asarray(one), np.asarray(other))
