"""Arrays of Slurm jobs through submitit: each task runs `zitter sweep … --items FIRST:END`."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zitter import checks

# Names of ours for parameters that submitit calls otherwise; others go to Slurm as they are.
NAMES = {
    "time": "timeout_min",
    "gpus": "gpus_per_node",
    "cpus": "cpus_per_task",
    "memory": "mem_gb",
}
WHOLE = {"tasks": 1, "time": 1, "gpus": 0, "cpus": 1, "nodes": 1}  # numbers, from these on
EXAMPLE = "partition=gpu,tasks=8,time=60"


def submit(text: str, out: Path, missing: Sequence[int], command: list[str]) -> int:
    """Submit the missing items in as many tasks as asked for, and say how to go on."""
    options = _options(text)
    tasks = options.pop("tasks", len(missing))
    cluster = options.pop("cluster", "slurm")
    try:
        submitit: Any = importlib.import_module("submitit")
    except ImportError:
        raise checks.InputError(
            "--slurm", "must have submitit installed: pip install 'zitter[slurm]'"
        ) from None
    if not missing:
        print("no item is left to compute; nothing was submitted")
        return 0
    absent = [folder for folder in (out / "slurm", out, *out.parents) if not folder.exists()]
    try:
        executor: Any = submitit.AutoExecutor(folder=out / "slurm", cluster=cluster)
        executor.update_parameters(**{_named(key): value for key, value in options.items()})
    except (AssertionError, RuntimeError, NameError, TypeError, ValueError) as error:
        _remove(absent)
        reason = " ".join(str(error).split()) or "it refuses them"
        raise checks.InputError("--slurm", f"must suit submitit, but {reason}") from None
    with executor.batch():
        jobs = [
            executor.submit(submitit.helpers.CommandFunction([*command, f"--items={first}:{end}"]))
            for first, end in stretches(missing, int(tasks))
        ]
    print(f"submitted {len(jobs)} tasks: {', '.join(job.job_id for job in jobs)}")
    print("the same command without --slurm adds up what is there and fills the gaps")
    return 0


def stretches(missing: Sequence[int], tasks: int) -> list[tuple[int, int]]:
    """(first, end) of consecutive missing items, at most `tasks` and the gaps between them."""
    each = math.ceil(len(missing) / max(1, tasks))
    found: list[tuple[int, int]] = []
    for index in missing:
        if found and found[-1][1] == index and index - found[-1][0] < each:
            found[-1] = (found[-1][0], index + 1)
        else:
            found.append((index, index + 1))
    return found


def _options(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise checks.InputError("--slurm", f'must be like {EXAMPLE}, but is "{text}"')
        found[key] = int(value) if checks.is_count(value) else value
    for key, least in WHOLE.items():
        value = found.get(key, least)
        if not isinstance(value, int) or value < least:
            raise checks.InputError(
                "--slurm", f"{key} must be a whole number from {least}, but is {value}"
            )
    if "memory" in found:
        found["memory"] = _gigabytes(found["memory"])
    return found


def _gigabytes(value: Any) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(value) < math.inf:
            return float(value)
    raise checks.InputError("--slurm", f"memory must be a number of GB, but is {value}")


def _remove(made: Sequence[Path]) -> None:
    """Empty folders, which submitit makes before it looks at its parameters."""
    with contextlib.suppress(OSError):
        for folder in made:
            folder.rmdir()


def _named(key: str) -> str:
    return NAMES.get(key, f"slurm_{key}")
