"""`zitter run` of a Monte Carlo input: optimize, then VMC, then DMC, each as far as asked for.

Parameters go to `jastrow.h5`, the last run to `result.h5`, a VMC run before DMC to `vmc.h5`. Where
nothing follows, the course of the optimization is the result.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

from jax.errors import JaxRuntimeError

from zitter import checks, loop, qmc, runtime
from zitter.cli import memory, running
from zitter.cli.showing import print_json, table
from zitter.config.document import Document
from zitter.config.monte_carlo import MonteCarloCase, assemble_monte_carlo, checked_run
from zitter.qmc import sizes
from zitter.qmc.optimized import Optimized
from zitter.qmc.runs import signature


def run(request: running.Request, document: Document) -> int:
    with running.named(request.case):
        case = assemble_monte_carlo(document)
        if request.checkpoint_every is not None:
            checks.non_negative("--checkpoint-every", request.checkpoint_every)
        if request.dry_run:
            return describe(case, request.json)
    finished = running.earlier(request, document)
    if finished is not None:
        _report(request, finished, "finished already")
        return 0
    if request.overwrite:
        running.remove(request.out)
    try:
        result = _compute(request, case)
    except OSError as error:
        reason = error.strerror or str(error)
        raise checks.RunError(f"cannot write to {request.out}: {reason}.") from error
    _report(request, result, "done")
    return 0


def _compute(request: running.Request, case: MonteCarloCase) -> Any:
    started = time.perf_counter()
    out = request.out
    resumed = _same_input(request, case)
    running.log(request, running.heading(request) + (" (resumed)" if resumed else ""))
    psi, result = _optimized(request, case)
    if result is not None:
        _keep(request, result, out / "result.h5", case, started)
    start = None
    for verb, options in case.runs.items():
        last = verb == list(case.runs)[-1]
        file = out / ("result.h5" if last else f"{verb}.h5")
        if request.resume and file.exists():
            result = qmc.Samples.load(file)
        else:
            result = _one_run(request, case, verb, options, psi, start)
            _keep(request, result, file, case, started)
        start = result.positions if not options.get("twists") else None
    # A kill may have left a file that was being written.
    shutil.rmtree(out / "checkpoint")
    return result


def _keep(
    request: running.Request, result: Any, file: Path, case: MonteCarloCase, started: float
) -> None:
    result.input = case.document.text
    result.info["wall_seconds"] = time.perf_counter() - started
    result.save(file)
    running.log(request, f"wrote {file} after {result.info['wall_seconds']:.3g} s")


def _same_input(request: running.Request, case: MonteCarloCase) -> bool:
    """A folder of parts belongs to one input: kept beside them, and compared on `--resume`.

    Says whether a run is continued. Parts without an input beside them are not this run's to touch.
    """
    folder = request.out / "checkpoint"
    kept, found = folder / "input", signature(case.psi, case.document.table, runtime.describe())
    if request.resume and kept.exists():
        if kept.read_text(encoding="utf-8") != found:
            raise checks.InputError(
                "--resume", f"must continue the same input, but {folder} belongs to another one"
            )
        return True
    for name in ("jastrow.h5", "vmc.h5"):
        if (request.out / name).exists():
            raise checks.InputError(
                "--out",
                f"must be new or go with --overwrite, but {request.out} holds {name} and no "
                "unfinished run",
            )
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(found, encoding="utf-8")
    return False


def _optimized(
    request: running.Request, case: MonteCarloCase
) -> tuple[qmc.SlaterJastrow, Optimized | None]:
    """Ψ with optimized parameters, and how they were found where that is the result."""
    psi, file = case.psi, request.out / "jastrow.h5"
    if not case.optimize:
        return psi, None
    if case.runs and request.resume and file.exists():
        return psi.load_parameters(file), None
    stages = []
    for options in case.optimize:
        with running.located("optimize"):
            found = qmc.optimize(psi, **options, progress=_progress(request))
        running.say(request, found.summary())
        running.log(request, found.summary())
        psi = found.wavefunction
        stages.append(found.stage)
    psi.save_parameters(file)
    if case.runs:
        return psi, None
    info = {"wavefunction": repr(psi), **runtime.describe()}
    return psi, Optimized(psi.stored_parameters(), stages, info)


def _one_run(request, case: MonteCarloCase, verb: str, options, psi, start) -> qmc.Samples:
    folder = request.out / "checkpoint" / verb
    options = dict(options)
    if request.checkpoint_every is not None:
        options["checkpoint_every"] = request.checkpoint_every
    running.say(request, f"{case.title or request.case.name}: {verb.upper()}")
    try:
        with running.located(verb):
            return getattr(qmc, verb)(
                psi, **options, start=start, checkpoint=folder, resume=request.resume,
                progress=_progress(request),
            )  # fmt: skip
    except checks.RunError as error:
        running.log(request, str(error))
        raise
    except (JaxRuntimeError, MemoryError) as error:
        first_line = str(error).strip().split("\n")[0] or type(error).__name__
        saved = loop.saved_in(loop.Checkpoint(folder))
        failure = checks.RunError(f"the run broke off: {first_line}. {saved}")
        running.log(request, str(failure))
        raise failure from error


def describe(case: MonteCarloCase, as_json: bool) -> int:
    """`--dry-run`: what would run, memory for each walker, how many walkers fit, and time."""
    limit = memory.available()
    facts: dict[str, Any] = {
        "case": case.document.name,
        "wavefunction": repr(case.psi),
        "optimize": ", ".join(
            type(stage.get("method", qmc.LinearMethod())).__name__ for stage in case.optimize
        ),
    }
    rows = {key: str(value) for key, value in facts.items() if value}
    if case.optimize:
        rows["optimize"] += " (its time is not estimated)"
    for verb, options in case.runs.items():
        run = checked_run(case.psi, verb, options)
        size = sizes.memory(run, verb, options)
        compiling, running_time = sizes.seconds(run, verb, options)
        twists = run.twists.count if run.twists is not None else 1
        told = {
            "walkers": run.walkers,
            "blocks": run.blocks,
            "memory_bytes": size.total,
            "bytes_per_walker": size.per_walker,
            "walkers_that_fit": None if limit is None else size.walkers_in(limit),
            "seconds_to_compile": compiling,
            "seconds_to_run": running_time,
        }
        facts[verb] = told
        at = f" at each of {twists} twists" if twists > 1 else ""
        rows[verb] = f"{run.walkers} walkers{at}, {run.blocks} blocks, {run.precision} precision"
        rows[f"{verb} memory"] = (
            f"{memory.readable(size.total)}, {memory.readable(size.per_walker)} for each walker"
        )
        if limit is not None:
            rows[f"{verb} walkers that fit"] = str(told["walkers_that_fit"])
        rows[f"{verb} time"] = f"about {running_time:.2g} s, {compiling:.2g} s to compile"
    facts |= {"device_bytes": limit, **runtime.describe()}
    rows["the device has"] = "unknown" if limit is None else memory.readable(limit)
    print(table(f"{case.title or case.document.name}: dry run, nothing is written", rows))
    if as_json:
        print_json(facts)
    return 0


def _report(request: running.Request, result: Any, how: str) -> None:
    path = request.out / "result.h5"
    if not request.quiet:
        print(result.summary())
        print(f"{how}: {path}")
    if request.json:
        print_json({**result.numbers(), "file": str(path)})


def _progress(request: running.Request) -> bool:
    return not request.quiet and sys.stderr.isatty()
