"""What Monte Carlo from a file would take: facts for programs, rows for people."""

from __future__ import annotations

import inspect
from typing import Any

from zitter import qmc, runtime
from zitter.cases.base import checkpoints_of
from zitter.qmc import sizes
from zitter.qmc.optimizers import needs as optimizing
from zitter.qmc.runs import Run


def of_stages(psi: Any, stages: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Facts and rows of all stages: the largest, and their times together."""
    defaults = {p.name: p.default for p in inspect.signature(qmc.optimize).parameters.values()}
    memory, compiling, running = zip(
        *(_stage(psi, defaults | stage) for stage in stages), strict=True
    )
    facts = {
        "memory_bytes": max(memory),
        "seconds_to_compile": sum(compiling),
        "seconds_to_run": sum(running),
    }
    rows = {
        "optimize memory": runtime.readable(facts["memory_bytes"]),
        "optimize time": f"about {sum(running):.2g} s if it takes all iterations, "
        f"{sum(compiling):.2g} s to compile",
    }
    return facts, rows


def _stage(psi: Any, options: dict[str, Any]) -> tuple[int, float, float]:
    method = options["method"] or qmc.LinearMethod()
    return optimizing.needs(psi, method, options["walkers"], options["draws"], options["stride"])


def of_run(
    run: Run, verb: str, options: dict[str, Any], limit: int | None, every: float | None
) -> tuple[dict[str, Any], dict[str, str], int]:
    """Facts and rows of one run, and what it writes: walkers once they have settled, at the end,
    and in between."""
    needed = sizes.needs(run, verb, options)
    size, running, compiling = needed.size, needed.seconds_to_run, needed.seconds_to_compile
    twists = run.twists.count if run.twists is not None else 1
    facts = {
        "walkers": run.walkers,
        "blocks": run.blocks,
        "memory_bytes": size.total,
        "bytes_per_walker": size.per_walker,
        "walkers_that_fit": None if limit is None else size.walkers_in(limit),
        "seconds_to_compile": compiling,
        "seconds_to_run": running,
    }
    at = f" at each of {twists} twists" if twists > 1 else ""
    total, each = runtime.readable(size.total), runtime.readable(size.per_walker)
    rows = {
        verb: f"{run.walkers} walkers{at}, {run.blocks} blocks, {run.precision} precision",
        f"{verb} memory": f"{total}, {each} for each walker",
        f"{verb} walkers that fit": str(facts["walkers_that_fit"]),
        f"{verb} time": f"about {running:.2g} s, {compiling:.2g} s to compile",
    }
    if limit is None:
        rows.pop(f"{verb} walkers that fit")
    return facts, rows, (1 + checkpoints_of(running, every)) * needed.walkers
