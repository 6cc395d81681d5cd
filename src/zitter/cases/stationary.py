"""`[eigenstates]`: stationary states."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from zitter import checks, processes, runtime, same_run, solve
from zitter.cases import memory, schema
from zitter.cases.base import Estimate, Job, checkpoints_of, located
from zitter.cases.physics import Physics, physics_schema, section, start
from zitter.config.document import Document
from zitter.eigensolvers import Eigensolver, recommended
from zitter.hamiltonian import Hamiltonian
from zitter.initial import without_light
from zitter.linalg.base import Unsupported
from zitter.results import Eigenstates
from zitter.solve import needs
from zitter.solve.stationary import mesh_unused, warn_of_unused_mesh


@dataclasses.dataclass
class Stationary(Physics):
    """Basis, model, and the keywords of `zt.eigenstates`."""

    not_in_files: ClassVar[frozenset[str]] = frozenset({"H", "checkpoint", "resume"})
    results: ClassVar[tuple[str, ...]] = (Eigenstates.kind,)

    found: tuple[Hamiltonian, Eigensolver] | None = None
    memory_bytes: int | None = None  # of the solver, where it was asked for
    unused: str = ""  # what the mesh is not used for

    @classmethod
    def recognizes(cls, document: Document) -> bool:
        return "eigenstates" in document.table and "evolve" not in document.table

    @classmethod
    def read(cls, document: Document) -> Stationary:
        parts = start(document)
        if "initial" in document.table:
            raise checks.InputError("initial", "must not be given with [eigenstates], but is")
        options = parts.builder.arguments(
            "eigenstates",
            section(document.table, "eigenstates"),
            solve.eigenstates,
            "[eigenstates]",
            cls.not_in_files,
        )
        parts.require_all_used()
        return cls(*parts.found, options, parts.fields)

    @classmethod
    def schema(cls, definitions: dict[str, Any]) -> tuple[dict[str, Any], list[list[str]]]:
        sections = physics_schema(definitions)
        sections["eigenstates"] = schema.table(
            solve.eigenstates, definitions, without=cls.not_in_files
        )
        return sections, [["basis", "model", "eigenstates"]]

    def check(self, estimating: bool) -> None:
        """H without light, and a solver that fits it."""
        self.check_basis()
        with located("eigenstates"):
            n = checks.integer("n", self.options.get("n", 1), 1, self.basis.size)
            # States and their successors, before H is made: of so large a basis that takes long.
            each = self.basis.size * runtime.settings().real_dtype.itemsize
            runtime.require_memory("n", 2 * n * each)
        H = self.hamiltonian()
        with located("eigenstates"):
            H = without_light(H, 0.0)
            every = self.options.get("checkpoint_every", 0.0)
            checks.non_negative("checkpoint_every", every)
        with located("eigenstates.solver"):
            solver = self.options.get("solver") or recommended(H, n)
            solver.check(H, n)
        _require_mesh(H, solver)
        self.unused = mesh_unused(solver)
        if self.unused:
            warn_of_unused_mesh(self.unused)
        self.memory_bytes = memory.check_solver(H, n, solver)
        self.found = H, solver

    def estimate(self, every: float | None = None) -> Estimate:
        H, solver = self._ready()
        n = self.options.get("n", 1)
        checked = self.options.get("basis_check", True)
        found = needs.of_solver(H, n, solver, checked, self.memory_bytes)
        every = self.options.get("checkpoint_every") if every is None else every
        saved = checkpoints_of(found.seconds, every) if solver.keeps_rounds else 0
        now = runtime.settings()
        kind = H.operator.dtype
        each = now.complex_dtype if np.issubdtype(kind, np.complexfloating) else now.real_dtype
        states = n * self.basis.size * each.itemsize
        return self.estimated(
            {
                "states": n,
                "solver": type(solver).__name__,
                "memory_bytes": found.memory,
                "seconds_to_compile": found.seconds_to_compile,
                "seconds_to_run": found.seconds,
                **({"mesh": "", "mesh_unused": self.unused} if self.unused else {}),
            },
            (1 + saved) * states,
        )

    def run(self, job: Job) -> Eigenstates:
        return self._solved(job, resume=False)

    def resume(self, job: Job) -> Eigenstates:
        return self._solved(job, resume=True)

    def course_fingerprint(self) -> str:
        """Its solver may go farther."""
        H, solver = self._ready()
        unlimited = same_run.regardless(solver, "max_iterations", "max_updates")
        about = runtime.describe() | {"mesh": ""}
        return same_run.fingerprint(H, self.options.get("n", 1), unlimited, about)

    def _solved(self, job: Job, resume: bool) -> Eigenstates:
        H, solver = self._ready()
        kept = job.checkpoint / "rounds"
        resume = resume and bool(processes.agree(kept.exists())[0])
        options: dict[str, Any] = {"checkpoint": kept, "resume": resume}
        # Every run of a file says what its basis costs, unless asked not to.
        options["basis_check"] = self.options.get("basis_check", True)
        every = self.options.get("checkpoint_every") if job.every is None else job.every
        if every is not None:
            options["checkpoint_every"] = every
        job.begin()
        with located("eigenstates"):
            return solve.eigenstates(H, self.options.get("n", 1), solver, **options)

    def _ready(self) -> tuple[Hamiltonian, Eigensolver]:
        if self.found is None:
            self.check(estimating=False)
        assert self.found is not None
        return self.found


def _require_mesh(H: Hamiltonian, solver: Eigensolver) -> None:
    """Refuse a mesh that divides nothing here."""
    try:
        if solver.divides:
            H.divided()
    except Unsupported as error:
        raise checks.InputError("mesh", f"must suit this model, but {error}") from None
    runtime.mesh_for(H.basis.mesh_axes, checks.with_article(type(H.basis).__name__))
