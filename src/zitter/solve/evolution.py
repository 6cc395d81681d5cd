"""`evolve`: a state carried through time, its records, and what became of it."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import batches, checks, loop, runtime, same_run, segments, traced
from zitter.bases import edges
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.observables.base import Observable, prepared
from zitter.propagators.base import Propagator
from zitter.propagators.recommended import recommended as recommended_propagator
from zitter.remade import parted
from zitter.results import Eigenstates, Solution
from zitter.solve import course, guards, requests, step_errors, trials, unseen, watching
from zitter.solve.course import Context, State
from zitter.solve.stationary import eigenstates
from zitter.stored import Kept
from zitter.terms import model_guards


def evolve(
    H: Hamiltonian,
    psi0: Any,
    t: tuple[float, float],
    dt: float | str,
    propagator: Propagator | None = None,
    observables: Sequence[Observable] = (),
    save_every: int | None = None,
    *,
    save_states: bool = False,
    step_check: bool = False,
    step_limit: float = guards.STEP_LIMIT,
    progress: bool = False,
    checkpoint: str | Path | loop.Checkpoint | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
) -> Solution:
    """Solve i dψ/dt = H(t)ψ from t[0] to t[1] in steps of (at most) `dt`.

    Without a `propagator` it is Lanczos, on radial splines AngularSplit or CrankNicolson.
    Observables (and with `save_states` ψ itself) are recorded at the start, after every
    `save_every` steps (default: about 1000 records) and at the end. Precision follows `psi0`.
    `step_check` repeats the run with twice the step, at half the cost, and puts an estimate of the
    final state's error by the step size into `info["step_error"]`; above `step_limit` that error,
    or the propagator's own estimate, is warned of. Probability lost beyond what absorbers account
    for is warned of as well, and ends the run where it is more than a tenth.
    Inside `jax.grad` or `jax.vmap` the run is one compiled scan without progress, guards or
    checkpoints; `zt.scan` judges what became of its runs when they are done.
    """
    checks.resume(resume, checkpoint)
    checks.non_negative("checkpoint_every", checkpoint_every)
    if checkpoint is not None and not isinstance(checkpoint, loop.Checkpoint):
        checkpoint = checks.path("checkpoint", checkpoint)
    H, psi, propagator = requests.checked(H, psi0, propagator)
    plan = prepare(
        H,
        psi.dtype,
        t,
        dt,
        propagator,
        observables,
        save_every,
        save_states,
        step_check,
        step_limit=step_limit,
    )
    return plan.run(psi, progress, checkpoint, checkpoint_every, resume)


def prepare(
    H: Hamiltonian,
    dtype: Any,
    t: tuple[float, float],
    dt: float | str,
    propagator: Propagator | None = None,
    observables: Sequence[Observable] = (),
    save_every: int | None = None,
    save_states: bool = False,
    step_check: bool = False,
    find_eigenstates: Callable[..., Eigenstates] = eigenstates,
    step_limit: float = guards.STEP_LIMIT,
    like: Propagator | None = None,
) -> Plan:
    """All of `evolve` that can be refused, for states of `dtype`; nothing is carried in time yet.

    Observables that need eigenstates ask `find_eigenstates` for them. `like` is the method as it
    was prepared for the same run with another step.
    """
    propagator = recommended_propagator(H) if propagator is None else propagator
    checks.instance("propagator", propagator, Propagator)
    first, last = requests.span(t)
    dt = float(checks.positive("dt", dt, "time"))
    model_guards.warn_without_motion(H.model)
    model_guards.check_start(H, first)
    steps = requests.count_steps(last - first, dt)
    dt = (last - first) / steps
    save_every = requests.record_interval(save_every, steps)
    requests.check_observables(observables)
    # At least the time and one number for each observable.
    runtime.require_memory("save_every", 8 * (1 + len(observables)) * (steps // save_every))
    save_states = checks.boolean("save_states", save_states)
    if save_states and runtime.on_host():  # where records wait
        states = math.prod(H.basis.shape) * jnp.dtype(dtype).itemsize
        runtime.require_memory("save_states", states * (steps // save_every))
    step_check = checks.boolean("step_check", step_check)
    step_limit = float(checks.positive("step_limit", step_limit))
    H = H.astype(jnp.finfo(dtype).dtype)
    spread = propagator.divided(H)
    given = propagator
    if like is not None and like.any_step:
        propagator = like
    else:
        propagator = given.prepare(spread, (first, last), dt)
    ready = prepared(observables, H, find_eigenstates)
    undivided = ready
    if spread is not H:
        ready = requests.divide_states(spread.basis, ready)
        requests.check_divided(ready, spread, dtype)
    inside = tuple(o for o in ready if requests.in_loop(o))
    context = Context(
        spread, propagator, inside, np.float64(first), np.float64(dt), save_every, save_states
    )
    checked = given if step_check else None
    return Plan(H, context, ready, jnp.dtype(dtype), steps, undivided, checked, step_limit)


class Unchecked(str):
    """Why there is no error by the step size, though one was asked for."""

    def __new__(cls, why: Any) -> Unchecked:
        told = str(why).removesuffix(" Nothing was saved.")
        return str.__new__(cls, f"could not be checked with twice the step: {told}")


@dataclasses.dataclass(frozen=True)
class Plan:
    """A run that has passed every check and waits for its initial state.

    On a mesh the context holds H and observables in parts, one for each device.
    """

    H: Hamiltonian
    context: Context
    observables: tuple[Observable, ...]
    dtype: Any
    steps: int
    undivided: tuple[Observable, ...]  # as on one device
    checked_with: Propagator | None = None  # the method as given, where the step is to be checked
    step_limit: float = guards.STEP_LIMIT
    checks_another: bool = False  # what there is to say is said of that one

    @property
    def records(self) -> int:
        """Whole record intervals, with a record at the start of each."""
        return self.steps // self.context.save_every

    @property
    def tail(self) -> int:
        """Steps after the last whole interval, so that the run ends where it was asked to."""
        return self.steps % self.context.save_every

    @property
    def parts(self) -> int:
        """Steps of the driver: all of the run but for less than one of them."""
        return self.steps // self.context.part

    @property
    def rest(self) -> int:
        """Steps after the last whole part."""
        return self.steps % self.context.part

    @property
    def looks(self) -> int:
        """Those of them that measure the state they begin with."""
        return -(-self.parts // self.context.apart)

    @property
    def driven(self) -> dict[str, Any]:
        """What the driver is told of these steps."""
        context = self.context
        return {
            "counted": context.part,
            "recorded": context.apart,
            "finish_steps": self.rest,
            "axis": loop.Axis("time", float(context.start), float(context.save_every * context.dt)),
        }

    def last(self, outcome: loop.Outcome) -> list[Any]:
        """The states of the last records, which the loop does not make: that at the end, and one
        before the rest of the steps if it is due there."""
        due = self.rest and self.parts * self.context.part % self.context.save_every == 0
        return [outcome.state, outcome.end] if due else [outcome.end]

    @property
    def recorded(self) -> int:
        """The number of all records, the last one included."""
        return self.records + 1 + (self.tail > 0)

    @property
    def times(self) -> np.ndarray:
        """The times of all records: every `save_every` steps, and the end."""
        done = np.arange(self.records + 1) * self.context.save_every
        done = np.append(done, self.steps) if self.tail else done
        return self.context.start + done * self.context.dt

    def run(
        self,
        psi: jax.Array,
        progress: bool = False,
        checkpoint: str | Path | loop.Checkpoint | None = None,
        checkpoint_every: float = 30.0,
        resume: bool = False,
    ) -> Solution:
        context, records, tail = self.context.starting(psi), self.records, self.tail
        outside = tuple(o for o in self.observables if not requests.in_loop(o))
        given, psi = psi, context.H.basis.divide(psi)
        # What a function in H encloses may be traced as well, and shows only in its values.
        if checks.is_traced((context.H, psi, context.H.mix([1.0], [context.start]))):
            requests.refuse_traced(outside)
            # A function may enclose traced values, which no program that is kept may hold.
            bare = any(isinstance(leaf, FunctionType) for leaf in jax.tree.leaves(context))
            carry = course.course if bare else course.course_compiled
            ends, recorded = carry(context, psi, records, tail, batches.around())
            if traced.listening():
                left = edges.gone(context.H.basis, psi, ends[-1].psi)
                edges.report(context.edges, ends[-1].psi, ends[-1].reached, left)
                before, vitals = context.H.basis.norm(psi), course.vitals(context, ends[-1])
                guards.report(context.H, float(self.times[-1]), before, vitals)
            return self._assemble(ends, recorded, {}, {})
        self.warn_of_unseen([psi])
        started = time.perf_counter()
        watcher = watching.Watcher(context, self.H, outside, psi)
        kept = self._checkpoint(checkpoint, checkpoint_every, given)
        rest = self.rest
        finish = (lambda state: course.advance_compiled(context, state, rest)) if rest else None
        outcome = loop.drive(
            course.part,
            context,
            course.begin(context, psi),
            self.parts,
            label="evolving",
            guard=watcher.guard,
            visit=watcher.visit if outside else None,
            visit_every=watcher.interval,
            checkpoint=kept,
            resume=resume,
            progress=progress,
            finish=finish,
            **self.driven,
        )
        # Factors of matrices would only take memory while the step is checked.
        ends = [parted(end)[1] for end in self.last(outcome)]
        recorded, visits = outcome.records, outcome.visits
        del outcome
        twice = self._checking_run(given, kept)
        norms = watcher.norm, float(context.H.basis.norm(ends[-1].psi))
        seconds = time.perf_counter() - started
        info = watching.facts(context, ends[-1], self.steps, norms, seconds)
        left = float(edges.gone(context.H.basis, psi, ends[-1].psi))
        info |= edges.judged(context.edges, ends[-1].psi, ends[-1].reached, left)
        guards.warn_of_spoilt_norm(context.H, *norms, ends[-1].absorbed)
        sparse = watcher.to_the_end(visits, ends[-1])
        solution = self._assemble(ends, recorded, sparse, info)
        if isinstance(twice, Unchecked):
            solution.info["step_check"] = str(twice)
        elif twice is not None:
            self.compare(solution, twice)
        self.warn_of_steps([solution.info], [max(norms)])
        return solution

    def _checkpoint(self, folder, every, psi) -> loop.Checkpoint | None:
        """Its signature does not know of the mesh, which may change when a run is continued."""
        if folder is None:
            return None
        basis = self.context.H.basis
        if isinstance(folder, loop.Checkpoint):
            folder.order = basis
            return folder
        method = self.context.propagator.bare()
        same = dataclasses.replace(
            self.context, propagator=method, H=self.H, observables=self.undivided
        )
        return loop.Checkpoint(Path(folder), every, same_run.fingerprint(psi, same), basis)

    def _checking_run(
        self, psi: jax.Array, kept: loop.Checkpoint | None
    ) -> Solution | Unchecked | None:
        coarse = self.coarse()
        if not isinstance(coarse, Plan):
            return coarse
        runtime.release_memory()
        try:
            with guards.silence():
                return coarse.run(psi)
        except loop.Interrupted:  # all steps are done and saved: resumed it is checked once more
            raise loop.Interrupted(
                f"stopped on request while its {self.steps} steps were checked with twice the "
                f"step. {loop.saved_in(kept)}"
            ) from None
        except checks.RunError as error:  # the run itself is done: keep it, unchecked
            return Unchecked(error)

    def coarse(self) -> Plan | Unchecked | None:
        """The run with twice the step that checks this one; None where none is asked for."""
        if self.checked_with is None:
            return None
        if self.steps < 2:
            return Unchecked("a run of one step has none of twice the length")
        span, dt = tuple(self.times[[0, -1]]), 2 * self.context.dt
        steps, every = requests.count_steps(span[1] - span[0], dt), self.context.save_every
        # With records as in the run its program serves here, too, where the method is the same. In
        # long runs to measure so often would take longer than to compile another one.
        apart = steps % every and every < self.steps
        every = steps if apart or self.recorded > segments.LONG else every
        try:
            with guards.silence():
                plan = prepare(
                    self.H,
                    self.dtype,
                    span,
                    dt,
                    self.checked_with,
                    (),
                    every,
                    like=self.context.propagator,
                )
        except (checks.InputError, Unsupported) as error:  # an explicit method may not bear it
            return Unchecked(error)
        inside = tuple(o for o in self.observables if requests.in_loop(o))
        context = dataclasses.replace(plan.context, observables=self.context.observables)
        return dataclasses.replace(
            plan,
            context=context,
            observables=inside,
            undivided=self.undivided,
            checks_another=True,
        )

    def compare(self, solution: Solution, twice: Solution) -> None:
        """What a run with twice the step says of this one."""
        step_errors.compare(self, solution, twice)

    @functools.cached_property
    def unseen(self) -> list[unseen.Piece]:
        """What changes within the steps, and is not seen by them."""
        if self.checks_another:
            return []
        context, nodes = self.context, self.context.propagator.nodes
        return unseen.of_run(self.H, nodes, float(context.start), float(context.dt), self.steps)

    def warn_of_unseen(self, psi: Sequence[jax.Array]) -> None:
        """Where runs from these states may be off by more than the limit for it."""
        missed = [unseen.lost(self.unseen, self.context.H, one) for one in psi if self.unseen]
        if max(missed, default=0.0) > self.step_limit:
            enough = min(piece.enough for piece in self.unseen)
            guards.warn_of_unseen(max(missed), self.step_limit, enough)

    def warn_of_steps(self, infos: Sequence[dict[str, Any]], norms: Sequence[float]) -> None:
        """Of the worst of several runs of this form, where its steps were too long; `norms` are
        the largest of each."""
        order = 1 if self.checked_with is None else self.checked_with.convergence_order(self.H)
        guards.warn_of_steps(infos, norms, self.step_limit, float(self.context.dt), order)

    def problem(self, state: State, seen: dict[str, Any]) -> str | None:
        """What is wrong with a run that has come to this state, as a sentence."""
        return course.problem(self.context, state, float(seen["before"]), float(seen["after"]))

    def solution(
        self, ends: list[State], recorded: Any, seen: dict[str, Any], seconds: float
    ) -> Solution:
        """What is left of a run: its last states, its records, and what `look` has seen of it.

        Nothing is said of the edges: `info` has the populations there.
        """
        norms = float(seen["before"]), float(seen["after"])
        info = watching.facts(self.context, ends[-1], self.steps, norms, seconds)
        for edge in self.context.edges:
            info |= edge.facts(float(seen["reached"][edge.name]), float(seen["left"]))
        return self._assemble(ends, recorded, {}, info, seen["lasts"])

    @property
    def all_in_loop(self) -> bool:
        """Whether nothing is measured on visits of the host."""
        return all(map(requests.in_loop, self.observables))

    def _assemble(self, ends, recorded, sparse, info, lasts=None) -> Solution:
        """The loop's records, then those of the states at its end and at the end of the run."""
        context, basis, state = self.context, self.H.basis, ends[-1]
        join = context.H.basis.join
        if lasts is None:
            lasts = [course.measure_compiled(context, context.observables, end) for end in ends]
        if context.save_states:
            lasts = [last | {"states": end.psi} for last, end in zip(lasts, ends, strict=True)]
        traced = checks.is_traced((recorded, lasts))
        xp, whole = (jnp, jnp.asarray) if traced else (np, runtime.to_host)
        values = {
            k: join(xp.concatenate([v, *(whole(last[k])[None] for last in lasts)]))
            for k, v in recorded.items()
        }
        states = values.pop("states", None)
        described, coordinates = {}, {}
        for o in self.observables:
            dims = o.dims(self.H)
            described[o.name] = (tuple(name for name, _ in dims), o.units, o.long_name)
            coordinates |= {n: x for n, x in dims if x is not None and n not in basis.axes()}
            info = info | o.facts(self.H)
        return Solution(
            self.times,
            values | {name: join(data) for name, (_, data) in sparse.items()},
            join(state.psi),
            states,
            info,
            basis.axes(),
            {name: clock for name, (clock, _) in sparse.items()},
            described,
            coordinates,
            kept=Kept.of(self.H),
        )

    def starting(self, *psi: jax.Array) -> Plan:
        """The same for runs from ψ, or from any of several: without what they never reach."""
        return dataclasses.replace(self, context=self.context.starting(*psi))

    @functools.cached_property
    def begun(self) -> tuple[State, int]:
        """The first state, as shapes, and the bytes that it takes to make it."""
        psi = jax.ShapeDtypeStruct(self.context.H.shape, self.dtype)
        return segments.placed(course.begin, self.context, psi)

    @functools.cached_property
    def program(self) -> segments.Program:
        """The compiled loop; it knows its memory. Nothing is allocated to find out."""
        return segments.compiled(course.part, self.context, self.begun[0], self.parts)

    @functools.cached_property
    def checking(self) -> tuple[int, segments.Program] | None:
        """Of the run that checks the step the number of records, and the loop, often the same as
        here; None where there is no such run."""
        coarse = self.coarse()
        if not isinstance(coarse, Plan):
            return None
        if segments.alike(self.context, coarse.context):
            row = segments.record_shape(course.part, coarse.context, self.begun[0])
            if segments.most_records(jax.tree.leaves(row), coarse.parts) == self.program.capacity:
                return coarse.recorded, self.program
        return coarse.recorded, coarse.program

    def tried(self, psi: jax.Array) -> segments.Trial:
        """What all steps take, estimated by running a few parts on the device, or shorter ones.

        Pulses begin with nothing, where iterations are few: half of the steps count as those from
        the middle of the run on.
        """
        # Of parts that are long a shorter one is compiled, which tells time, but not memory.
        every = trials.interval(self.context)
        context = trials.shortened(self.context, every)
        begun = course.begin(context, context.H.basis.divide(psi))
        parts, program, looks = float(self.parts), self.program, self.looks
        if context is not self.context:
            parts = looks = parts * self.context.part / every
            program = segments.compiled(course.part, context, begun, math.ceil(parts))
        at = (0, self.steps // 2) if context.H.time_dependent else (0,)
        return trials.tried(program, context, begun, parts, looks, at)
