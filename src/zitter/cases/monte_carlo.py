"""`[optimize]`, `[vmc]`, `[dmc]`: each as far as asked for, one after another.

Parameters go to `jastrow.h5`, the last run to the result, a VMC run before DMC to `vmc.h5`. Where
nothing follows, the course of the optimization is the result.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from zitter import checks, data_files, files, locks, processes, qmc, runtime, same_run
from zitter.cases import estimates, memory, schema
from zitter.cases.base import SETTINGS, Case, Estimate, Job, located, title_of
from zitter.config.document import Document
from zitter.config.objects import Builder, unknown
from zitter.qmc.optimized import Optimized
from zitter.qmc.optimizers import optimization
from zitter.qmc.runs import Run
from zitter.qmc.walk import diffusion, variational
from zitter.results.base import Result

VERBS: dict[str, Callable[..., Any]] = {"optimize": qmc.optimize, "vmc": qmc.vmc, "dmc": qmc.dmc}
# Wave functions of orbitals that another program has calculated; the file holds the system, too.
SOURCES: dict[str, Callable[..., Any]] = {
    "from_pyscf": qmc.from_pyscf,
    "from_trexio": qmc.from_trexio,
    "from_pwscf": qmc.from_pwscf,
}
SECTIONS = ("title", *SETTINGS, "system", "wavefunction", *VERBS)
PARAMETERS = "jastrow.h5"
VERDICTS = "verdicts"  # of the optimization, in checkpoints


@dataclasses.dataclass
class MonteCarlo(Case):
    """Ψ, and the options of each verb in the file."""

    # What is the caller's business, or chosen for the whole file.
    not_in_files: ClassVar[frozenset[str]] = frozenset(
        {"psi", "start", "checkpoint", "resume", "progress", "precision"}
    )
    results: ClassVar[tuple[str, ...]] = (qmc.Samples.kind, Optimized.kind)
    parts: ClassVar[tuple[str, ...]] = (PARAMETERS, "vmc.h5")

    document: Document
    title: str
    psi: qmc.Wavefunction
    stages: list[dict[str, Any]]  # of the optimization
    runs: dict[str, dict[str, Any]]  # vmc, then dmc

    @classmethod
    def recognizes(cls, document: Document) -> bool:
        return any(name in document.table for name in ("system", "wavefunction", *VERBS))

    @classmethod
    def read(cls, document: Document) -> MonteCarlo:
        table = document.table
        for name in table:
            if name not in SECTIONS:
                raise checks.InputError(name, unknown(name, SECTIONS, "a key of the file"))
        builder = Builder({}, document.folder)
        psi = _wavefunction(builder, table)
        stages = _stages(builder, table, psi)
        runs = {}
        for verb in ("vmc", "dmc"):
            if verb in table:
                section = checks.instance(verb, table[verb], dict)
                runs[verb] = _options(builder, verb, section, VERBS[verb])
                with located(verb):
                    checked_run(psi, verb, runs[verb])
        if not (stages or runs):
            raise checks.InputError(
                "vmc", "must be given, or [dmc] or [optimize], but none of them is"
            )
        title = title_of(table)
        return cls(document, title, psi, stages, runs)

    @classmethod
    def schema(cls, definitions: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        psi = [
            schema.table(
                qmc.SlaterJastrow, definitions, "SlaterJastrow", True, {"system", "orbitals"}
            ),
            *(schema.table(source, definitions, name) for name, source in SOURCES.items()),
        ]
        for kind in psi:
            kind["properties"]["parameters"] = {"type": "string"}
        verbs = {
            name: schema.table(verb, definitions, without=cls.not_in_files)
            for name, verb in VERBS.items()
        }
        stages = verbs["optimize"]
        verbs["optimize"] = {"anyOf": [stages, {"type": "array", "items": stages}]}
        system = schema.kind(qmc.System, definitions)
        from_file = {"required": ["wavefunction"], "not": {"required": ["system"]}}
        return {"system": system, "wavefunction": {"anyOf": psi}, **verbs}, [["system"], from_file]

    def check(self, estimating: bool) -> None:
        """All of it is checked when the file is read."""

    def estimate(self, every: float | None = None) -> Estimate:
        """Memory on each device, how many walkers fit there, and time."""
        limit = memory.available()
        methods = (type(stage.get("method", qmc.LinearMethod())).__name__ for stage in self.stages)
        facts: dict[str, Any] = {
            "case": self.document.name,
            "wavefunction": repr(self.psi),
            "optimize": ", ".join(methods),
        }
        rows = {key: str(value) for key, value in facts.items() if value}
        written = 0
        if self.stages:
            with located("optimize"):
                facts["optimization"], more = estimates.of_stages(self.psi, self.stages)
            rows |= more
        for verb, options in self.runs.items():
            with located(verb):
                run = checked_run(self.psi, verb, options)
                facts[verb], more, walkers = estimates.of_run(run, verb, options, limit, every)
            rows |= more
            written += walkers
        facts |= {"device_bytes": limit, **runtime.describe()}
        rows["the device has"] = "unknown" if limit is None else runtime.readable(limit)
        return Estimate(facts, rows, written)

    @property
    def precision(self) -> str:
        """Walks know two: determinants stay double in both."""
        chosen = runtime.settings().precision
        return "single" if self.runs and chosen != "double" else chosen

    def run(self, job: Job) -> Result:
        return self._computed(job, resume=False)

    def resume(self, job: Job) -> Result:
        return self._computed(job, resume=True)

    def course_fingerprint(self) -> str:
        """The last run may have more blocks, an optimization that nothing follows more steps."""
        table = self.document.without_mesh()
        *stages, last = [dict(stage) for stage in self.stages] or [{}]
        if self.runs:
            verb = list(self.runs)[-1]
            table[verb] = {k: v for k, v in table[verb].items() if k != "blocks"}
        elif "method" in last:
            table.pop("optimize")
            last["method"] = same_run.regardless(last["method"], "iterations")
        about = runtime.describe() | {"mesh": ""}
        return same_run.fingerprint(table, self.document.contents, stages, last, about)

    def _computed(self, job: Job, resume: bool) -> Result:
        job.begin()
        psi, result = self._optimized(job, resume)
        verdicts = _kept_verdicts(job) if self.stages else []
        start = None
        for verb, options in self.runs.items():
            last, part = verb == list(self.runs)[-1], f"{verb}.h5"
            if resume and not last and (job.folder / part).exists():
                result = qmc.Samples.load(job.folder / part)
            else:
                result = self._sampled(job, resume, verb, psi, start)
                if verdicts:
                    result.info["notes"] = [*verdicts, *result.info.get("notes", [])]
                if not last:
                    job.keep(result, part)
            start = result.positions if not options.get("twists") else None
        assert result is not None
        return result

    def _optimized(self, job: Job, resume: bool) -> tuple[qmc.Wavefunction, Result | None]:
        """Ψ with optimized parameters, and how they were found where that is the result."""
        psi, file = self.psi, job.folder / PARAMETERS
        if not self.stages:
            return psi, None
        if self.runs and resume and file.exists():
            return psi.load_parameters(file), None
        done = []
        for number, stage in enumerate(self.stages):
            options = dict(stage)
            if job.every is not None:
                options["checkpoint_every"] = job.every
            kept = job.checkpoint / f"optimize-{number}"
            goes_on = resume and bool(processes.agree(kept.exists())[0])
            with located("optimize"):
                found = qmc.optimize(
                    psi, **options, checkpoint=kept, resume=goes_on, progress=job.progress
                )
            job.tell(found.summary())
            job.log(found.summary())
            psi = found.wavefunction
            done.append(found.stage)
        if processes.first():
            told = [f"optimize, {stage.method}: {stage.verdict}" for stage in done if stage.verdict]
            locks.take_again(job.folder)
            files.write_text(job.checkpoint / VERDICTS, "".join(f"{line}\n" for line in told))
            locks.take_again(job.folder)
            psi.save_parameters(file)
        processes.wait("parameters")
        if self.runs:
            return psi, None
        info = {"wavefunction": repr(psi), **runtime.describe()}
        return psi, Optimized(psi.stored_parameters(), done, info)

    def _sampled(self, job: Job, resume: bool, verb: str, psi, start) -> qmc.Samples:
        options = dict(self.runs[verb])
        if job.every is not None:
            options["checkpoint_every"] = job.every
        job.tell(verb.upper())
        kept = job.checkpoint / verb
        goes_on = resume and bool(processes.agree(kept.exists())[0])
        with located(verb):
            return VERBS[verb](
                psi, **options, start=start, checkpoint=kept, resume=goes_on,
                progress=job.progress,
            )  # fmt: skip


def _kept_verdicts(job: Job) -> list[str]:
    """What optimization said of the parameters that are sampled."""
    file = job.checkpoint / VERDICTS
    return files.kept_text(file).splitlines() if file.exists() else []


def _stages(builder: Builder, table: dict[str, Any], psi: Any) -> list[dict[str, Any]]:
    """The options of each stage of the optimization."""
    listed = table.get("optimize", [])
    listed = listed if isinstance(listed, list) else [listed]
    stages = []
    for i, stage in enumerate(listed):
        key = f"optimize.{i}" if len(listed) > 1 else "optimize"
        options = _options(builder, key, checks.instance(key, stage, dict), qmc.optimize)
        if psi.parameters.size == 0:
            raise checks.InputError(key, "must not be given where wavefunction.jastrow is empty")
        with located(key):
            _checked(optimization.check_options, psi, "optimize", options)
        stages.append(options)
    return stages


def checked_run(psi: qmc.Wavefunction, verb: str, options: dict[str, Any]) -> Run:
    """What a verb makes of its options, or refuses."""
    _checked(variational.check_pace if verb == "vmc" else diffusion.check_pace, psi, verb, options)
    if verb == "dmc":
        _checked(diffusion.check_localization, psi, verb, options)
    return _checked(Run.checked, psi, verb, options)


def _checked(check: Callable[..., Any], psi: Any, verb: str, options: dict[str, Any]) -> Any:
    """A check that a verb itself makes, on the options it would have."""
    given = {p.name: p.default for p in inspect.signature(VERBS[verb]).parameters.values()}
    given |= {**options, "psi": psi}
    return check(**{name: given[name] for name in inspect.signature(check).parameters})


def _wavefunction(builder: Builder, table: dict[str, Any]) -> Any:
    """Ψ of the system, or of a file of orbitals, with parameters if the section names some."""
    section = dict(checks.instance("wavefunction", table.get("wavefunction", {}), dict))
    parameters = section.pop("parameters", None)
    name = section.pop("type", qmc.SlaterJastrow.__name__)
    if name not in (qmc.SlaterJastrow.__name__, *SOURCES):
        known = (qmc.SlaterJastrow.__name__, *SOURCES)
        raise checks.InputError("wavefunction.type", unknown(name, known))
    if name in SOURCES:
        if "system" in table:
            raise checks.InputError(
                "system", f"must not be given where {name} takes it from the file of the orbitals"
            )
        options = builder.arguments("wavefunction", section, SOURCES[name], name)
        make = lambda: SOURCES[name](**options)  # noqa: E731
    else:
        if "system" not in table:
            raise checks.InputError("system", "must be given as a section [system], but is missing")
        system = builder.build("system", table["system"], qmc.System)
        options = builder.arguments(
            "wavefunction", section, qmc.SlaterJastrow, "[wavefunction]", {"system", "orbitals"}
        )
        make = lambda: qmc.SlaterJastrow(system, **options)  # noqa: E731
    try:
        psi = make()
        if parameters is not None:
            file = builder.folder / checks.instance("parameters", parameters, str)
            data_files.plain(file, key="parameters")
            try:
                psi = psi.load_parameters(file)
            except checks.InputError as error:
                raise checks.InputError("parameters", error.message) from None
    except checks.InputError as error:
        raise error.under("wavefunction") from None
    return psi


def _options(
    builder: Builder, key: str, section: dict[str, Any], verb: Callable[..., Any]
) -> dict[str, Any]:
    return builder.arguments(key, section, verb, f"[{verb.__name__}]", MonteCarlo.not_in_files)
