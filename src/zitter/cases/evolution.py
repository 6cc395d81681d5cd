"""`[evolve]`: a state carried through time."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from zitter import (
    batches,
    checks,
    files,
    io,
    locks,
    loop,
    processes,
    runtime,
    same_run,
    segments,
    solve,
    together,
)
from zitter.cases import memory, schema
from zitter.cases.base import CHECKPOINT_EVERY, Case, Cost, Estimate, Job, checkpoints_of, located
from zitter.cases.physics import Physics, physics_schema, section, start
from zitter.config.document import Document
from zitter.config.objects import Builder
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.initial import InitialState, without_light
from zitter.keywords import caller
from zitter.linalg.base import Unsupported
from zitter.results import Result, Solution
from zitter.solve import needs

INITIAL = "initial.h5"  # in checkpoints
SHORT_START = 2.0  # seconds


@dataclasses.dataclass
class Evolution(Physics):
    """Basis, model, initial state, and the keywords of `zt.evolve`."""

    not_in_files: ClassVar[frozenset[str]] = frozenset(
        {"H", "psi0", "progress", "checkpoint", "resume"}
    )

    results: ClassVar[tuple[str, ...]] = (Solution.kind,)
    instead: ClassVar[str] = '; with another dt begin a new run at its end, initial.type = "Stored"'

    initial: InitialState
    plan: solve.Plan | None = None
    H: Hamiltonian | None = None
    seconds_to_prepare: float = 0.0
    seconds_to_compile_first: float = 0.0  # what of the preparations is compiled first
    sought: memory.NoEigenstates = dataclasses.field(default_factory=memory.NoEigenstates)

    @classmethod
    def recognizes(cls, document: Document) -> bool:
        return True

    @classmethod
    def read(cls, document: Document) -> Evolution:
        parts = start(document)
        table, builder = document.table, parts.builder
        first = builder.build(
            "initial", table.get("initial", {}), InitialState, default="Eigenstate"
        )
        if ("evolve" in table) == ("eigenstates" in table):
            have = "both" if "evolve" in table else "neither"
            raise checks.InputError(
                "evolve", f"must be given, or [eigenstates] instead of it, but the file has {have}"
            )
        options = dict(section(table, "evolve"))
        if "t" in options:
            options["t"] = _span(options["t"], builder)
        options = builder.arguments("evolve", options, solve.evolve, "[evolve]", cls.not_in_files)
        parts.require_all_used()
        return cls(*parts.found, options, parts.fields, first)

    @classmethod
    def schema(cls, definitions: dict[str, Any]) -> tuple[dict[str, Any], list[list[str]]]:
        sections = physics_schema(definitions)
        sections["initial"] = schema.kind(InitialState, definitions, default="Eigenstate")
        sections["evolve"] = schema.table(solve.evolve, definitions, without=cls.not_in_files)
        return sections, [["basis", "model", "evolve"]]

    def check(self, estimating: bool) -> None:
        self.check_basis()
        self.H = self.hamiltonian()
        with located("initial"):
            self.initial.check(self.H)
        # Every run of a file says what its step size costs, unless asked not to.
        options: dict[str, Any] = {"step_check": True, **self.options}
        every = options.pop("checkpoint_every", CHECKPOINT_EVERY)
        checks.non_negative("evolve.checkpoint_every", every)
        self.sought = memory.NoEigenstates()
        finder = self.sought if estimating else solve.eigenstates
        dtype = runtime.settings().complex_dtype
        try:
            with segments.Clock() as clock:
                self.plan = solve.prepare(self.H, dtype, **options, find_eigenstates=finder)
        except checks.InputError as error:
            # A mesh is a key of the file, and no option of [evolve].
            raise (error if error.key.startswith("mesh.") else error.under("evolve")) from None
        except Unsupported as error:
            raise checks.InputError(
                "evolve.propagator", f"must suit this model, but {error}"
            ) from None
        self.seconds_to_prepare, self.seconds_to_compile_first = clock.seconds, clock.compiling
        if not self.plan.context.propagator.narrows:
            memory.check_plan(self.basis, self.plan, always=estimating)

    def estimate(self, every: float | None = None) -> Estimate:
        H, plan = self._ready()
        t = float(plan.context.start)
        first, psi = self.initial.needs(H, t), _any_state(H, plan)
        if plan.context.propagator.narrows:
            # What is stepped depends on the start, which is found fast where this is so.
            with segments.Clock() as clock:
                psi = self._start()[0]
            first = needs.Needs(first.memory, clock.seconds, clock.compiling)
            plan = plan.starting(psi)
            memory.check_plan(self.basis, plan, always=True)
        elif _at_once(first):
            with _in_silence():  # the run says what there is to say of it
                psi = self._start()[0]
        context = plan.context
        beside = segments.bytes_of(context) - segments.bytes_of(context.H)
        levels = self.sought.needs()  # that observables compare with: those asked for so far
        plan.warn_of_unseen([psi])
        running = needs.of_run(plan, psi)
        compiling = (first.seconds_to_compile or 0.0) + (levels.seconds_to_compile or 0.0)
        compiling += self.seconds_to_compile_first
        every = self.options.get("checkpoint_every") if every is None else every
        saved = checkpoints_of(running.seconds, every)
        return self.estimated(
            {
                "propagator": type(context.propagator).__name__,
                "steps": plan.steps,
                "dt": float(context.dt),
                "records": plan.recorded,
                "observables": ", ".join(o.name for o in plan.observables),
                "memory_bytes": max(
                    running.memory or 0, max(first.memory or 0, levels.memory or 0) + beside
                ),
                "seconds_to_compile": (running.seconds_to_compile or 0.0) + compiling,
                "seconds_to_start": self._preparing()
                + (first.seconds or 0.0)
                + (levels.seconds or 0.0),
                "seconds_to_run": running.seconds,
            },
            needs.written_by_run(plan, saved),
        )

    def run(self, job: Job) -> Solution:
        _, plan = self._ready()
        psi, known = self._start()
        if plan.context.propagator.narrows:
            memory.check_plan(self.basis, plan, start=_held(plan, psi))
        job.begin()
        # A resumed run starts from these very bits, whatever a solver would give the second time.
        state = io.Variable(np.asarray(psi), tuple(f"axis_{a}" for a in range(psi.ndim)))
        about = {"known": known, "save_every": self._ready()[1].context.save_every}
        if processes.first():
            locks.require_ours(job.checkpoint, there=True)
            io.write(job.checkpoint / INITIAL, io.Dataset({"psi": state}, about))
        return self._carried(job, psi, known, resume=False)

    def resume(self, job: Job) -> Solution:
        kept = job.checkpoint / INITIAL
        if not kept.exists():  # it was stopped before its first step
            return self.run(job)
        self.follow(job.checkpoint)
        try:
            stored = io.read(kept)
            psi, known = stored.variables["psi"].data, json.loads(stored.attributes["known"])
        except io.UNREADABLE:
            # Only the checks of the step and of the norm look back to it.
            told = "the initial state in the checkpoint is damaged, and is computed again"
            warnings.warn(told, stacklevel=caller())
            job.log(told)
            psi, known = self._start()
        job.begin()
        return self._carried(job, psi, known, resume=True)

    def follow(self, checkpoint: Path) -> None:
        """Records as far apart as before: how far by default depends on the number of steps."""
        if "save_every" in self.options:
            return
        before = int(processes.from_first(lambda: _records_apart(checkpoint / INITIAL)))
        if before not in (0, self._ready()[1].context.save_every):
            self.options["save_every"] = before
            self.check(estimating=False)

    def course_fingerprint(self) -> str:
        """It may end later, with steps (but for rounding) and records as they were."""
        context = self._ready()[1].context
        table = self.document.without_mesh()
        table["evolve"] = {k: v for k, v in table["evolve"].items() if k not in ("t", "dt")}
        about = runtime.describe() | {"mesh": ""}
        steps = float(context.start), f"{float(context.dt):.12e}", context.save_every
        return same_run.fingerprint(table, self.document.contents, about, steps)

    def _carried(self, job: Job, psi: Any, known: dict[str, Any], resume: bool) -> Solution:
        _, plan = self._ready()
        every = job.every
        if every is None:
            every = float(self.options.get("checkpoint_every", CHECKPOINT_EVERY))
        job.tell(f"{plan.steps} steps")
        for key, value in known.items():
            job.log(f"{key.replace('_', ' ')}: {value}")
        checkpoint = loop.Checkpoint(job.checkpoint, every, self.course_fingerprint())
        solution = plan.run(_held(plan, psi), job.progress, checkpoint, every, resume=resume)
        solution.info |= known
        return solution

    def joins(self, lead: Case) -> bool:
        if not isinstance(lead, Evolution):
            return False
        (_, first), (_, plan) = lead._ready(), self._ready()
        if not together.same_form(first, plan):
            return False
        self.plan = together.shared(first, plan)
        self.H = self.plan.H
        return True

    def run_together(self, others: Sequence[Case], job: Job) -> list[Result | checks.RunError]:
        every, starts = self._starts(others, job.about)
        job.begin()
        between = job.every if job.every is not None else CHECKPOINT_EVERY
        marks = [case.fingerprint() for case in every]
        checkpoint = loop.Checkpoint(job.checkpoint, between, same_run.fingerprint(marks))
        found = together.carried(
            [case._ready()[1] for case in every],
            [psi for psi, _ in starts],
            label=f"{len(every)} items",
            progress=job.progress,
            checkpoint=checkpoint,
            about=job.about,
        )
        for solution, (_, known) in zip(found, starts, strict=True):
            if isinstance(solution, Solution):
                solution.info |= known
        return list(found)

    def estimate_together(self, others: Sequence[Case]) -> Cost:
        """As `estimate` does; what the first of them takes to begin, others of its form take."""
        H, plan = self._ready()
        every = [self, *(case for case in others if isinstance(case, Evolution))]
        plans = [case._ready()[1] for case in every]
        first = self.initial.needs(H, float(plan.context.start))
        starts = len({case._start_key() for case in every})
        states = [_any_state(H, plan)] * len(plans)
        if plan.context.propagator.narrows:
            with segments.Clock() as clock:
                states = [psi for psi, _ in self._starts(others)[1]]
            first = needs.Needs(first.memory, clock.seconds / starts, clock.compiling)
        elif _at_once(first, starts):
            with _in_silence():
                states = [psi for psi, _ in self._starts(others)[1]]
        memory_bytes, compiling, running = together.estimate(plans, states)
        running *= plan.steps / (plan.parts * plan.context.part)
        running *= 1.0 if plan.checking is None else 1.5
        levels = self.sought.needs()
        # All are prepared before the first state is sought; what they share is there once.
        held = {id(x): x for one in plans for x in jax.tree.leaves(one.context)}
        beside = segments.bytes_of(list(held.values())) - segments.bytes_of(plan.context.H)
        return Cost(
            max(memory_bytes, max(first.memory or 0, levels.memory or 0) + beside),
            compiling
            + self.seconds_to_compile_first
            + (first.seconds_to_compile or 0.0)
            + (levels.seconds_to_compile or 0.0),
            sum(case._preparing() for case in every)
            + starts * (first.seconds or 0.0)
            + len(every) * (levels.seconds or 0.0),
            running,
        )

    def _preparing(self) -> float:
        """Seconds of the method's own preparations; the check of the step repeats some."""
        plan = self._ready()[1]
        again = plan.checking is not None and not plan.context.propagator.any_step
        return self.seconds_to_prepare * (2 if again else 1)

    def _start_key(self) -> str:
        """The same for cases whose first ψ is the same."""
        H, plan = self._ready()
        still = without_light(H, float(plan.context.start))
        return same_run.fingerprint(still, self.initial)

    def _starts(
        self,
        others: Sequence[Case],
        about: Callable[[int], AbstractContextManager[None]] | None = None,
    ) -> tuple[list[Evolution], list[Any]]:
        """Every ψ is found once, for all cases without light that are the same; what is said of it
        is about each of them."""
        every = [self, *(case for case in others if isinstance(case, Evolution))]
        made: dict[str, Any] = {}
        said: dict[str, list[warnings.WarningMessage]] = {}
        keys = []
        with batches.alone():
            for i, case in enumerate(every):
                keys.append(case._start_key())
                if keys[-1] not in made:
                    with warnings.catch_warnings(record=True) as said[keys[-1]]:
                        warnings.simplefilter("always")
                        made[keys[-1]] = case._start()
                with nullcontext() if about is None else about(i):
                    for one in said[keys[-1]]:
                        warnings.warn(one.message, stacklevel=caller())
        return every, [made[key] for key in keys]

    def _start(self) -> tuple[Any, dict[str, Any]]:
        """ψ at the first moment, and what is known of it."""
        H, plan = self._ready()
        with located("initial"):
            return self.initial.make(H, float(plan.context.start))

    def _ready(self) -> tuple[Hamiltonian, solve.Plan]:
        if self.plan is None or self.H is None:
            self.check(estimating=False)
        assert self.plan is not None and self.H is not None
        return self.H, self.plan


def _records_apart(kept: Path) -> int:
    """How many steps lie between the records of an earlier run, 0 where nothing tells."""
    if not kept.exists():
        return 0
    try:
        return int(io.read(kept).attributes.get("save_every", 0))
    except files.Damaged:  # then it must be the default that the run has by itself
        return 0


def _held(plan: solve.Plan, psi: Any) -> Any:
    """A state that may have come from a file: in parts on the devices where it can be."""
    return runtime.as_state(plan.H.basis.cut_evenly(psi))


def _at_once(first: needs.Needs, count: int = 1) -> bool:
    """Whether first states are found so fast that steps are tried with them: of another state
    methods that iterate may take twice as many rounds."""
    seconds = math.inf if first.seconds is None else count * first.seconds
    return processes.agree(seconds)[0] < SHORT_START  # all of them find it, or none


@contextmanager
def _in_silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _any_state(H: Hamiltonian, plan: solve.Plan) -> Any:
    """A smooth state, in place of one that is not found at once."""
    index = [np.linspace(-3.0, 3.0, n) for n in H.basis.shape]
    grids = map(H.basis.cut_evenly, np.meshgrid(*index, indexing="ij", sparse=True))
    psi = math.prod((jnp.exp(-(x**2)) for x in grids), start=jnp.ones(()))
    return H.basis.normalize(psi.astype(plan.dtype))


_MOMENT = re.compile(r"^\s*(\w[\w-]*)\.duration\s*(?:([+-])\s*(.+))?$")


def _span(value: Any, builder: Builder) -> Any:
    """`t`, with "laser.duration" or "laser.duration + 5 fs" standing for the end of a pulse."""
    if not isinstance(value, list):
        return value
    return [_moment(f"evolve.t.{i}", item, builder) for i, item in enumerate(value)]


def _moment(key: str, value: Any, builder: Builder) -> Any:
    match = _MOMENT.match(value) if isinstance(value, str) else None
    if match is None:
        return float(checks.scalar(key, value, "time"))
    name, sign, more = match.groups()
    field = builder.build(key, name, Field)
    end = float(field.duration)
    if more is not None:
        end += (1 if sign == "+" else -1) * float(checks.scalar(key, more, "time"))
    if not end < float("inf"):
        raise checks.InputError(key, f"must be finite, but {name} never ends")
    return end
