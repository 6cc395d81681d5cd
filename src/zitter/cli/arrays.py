"""Arrays of Slurm jobs through submitit: each task runs `zitter sweep … --items FIRST:END`."""

from __future__ import annotations

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
        print("every item is there already; nothing was submitted")
        return 0
    try:
        executor: Any = submitit.AutoExecutor(folder=out / "slurm", cluster=cluster)
        executor.update_parameters(**{_named(key): value for key, value in options.items()})
    except (RuntimeError, NameError, TypeError, ValueError) as error:
        raise checks.InputError("--slurm", f"must suit submitit, but {error}") from None
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
    if not isinstance(found.get("tasks", 1), int) or found.get("tasks", 1) < 1:
        raise checks.InputError(
            "--slurm", f"tasks must be a whole number from 1, but is {found['tasks']}"
        )
    return found


def _named(key: str) -> str:
    return NAMES.get(key, f"slurm_{key}")
