"""What every benchmark shares: timing, and a record that says where and with what it was made."""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax


def median_seconds(action: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of `action` after one call that is not counted."""
    jax.block_until_ready(action())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(action())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def fastest(
    actions: dict[str, Callable[[], Any]],
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The shortest time of each action; they take turns, so that all see the same machine."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        jax.block_until_ready(action())
    for _ in range(rounds):
        for name, action in actions.items():
            start = clock()
            jax.block_until_ready(action())
            times[name].append(clock() - start)
    return {name: min(values) for name, values in times.items()}


def versions(*packages: str) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("zitter", "jax", "numpy", "scipy", *packages):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "source"
    return found


def commit() -> str:
    """The source that was measured; the environment names it where only a copy of it lies."""
    named = os.environ.get("ZITTER_COMMIT")
    if named:
        return named
    here = Path(__file__).resolve().parent
    try:
        words = [["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain"]]
        found, changed = (
            subprocess.run(w, cwd=here, capture_output=True, text=True, check=True).stdout
            for w in words
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.strip() + (" with changes" if changed.strip() else "")


def record(name: str, question: str, rows: list[dict[str, Any]], *packages: str) -> dict[str, Any]:
    device = jax.devices()[0]
    return {
        "name": name,
        "question": question,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "device": device.device_kind if device.platform != "cpu" else _cpu(),
        "versions": versions(*packages),
        "rows": rows,
    }


def finish(result: dict[str, Any], path: str | None) -> None:
    """Print the rows as a table and write the record."""
    for row in result["rows"]:
        print("  ".join(f"{k}={_shown(v)}" for k, v in row.items()), flush=True)
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({k: v for k, v in result.items() if k != "rows"}))


def rows_of_children(
    commands: list[list[str]], jobs: int, arrived: Callable[[list[dict[str, Any]]], None]
) -> list[dict[str, Any]]:
    """The rows that programs with these arguments record, `jobs` at a time, in the given order.

    `arrived` is called with all rows so far whenever one has ended: what a limit of time cuts off
    leaves a record of the others.
    """
    rows: dict[int, list[dict[str, Any]]] = {}

    def ordered() -> list[dict[str, Any]]:
        return [row for index in sorted(rows) for row in rows[index]]

    def run(index: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.json"
            words = [sys.executable, *commands[index], "--json", str(file)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            found = json.loads(file.read_text())["rows"]
        with lock:
            rows[index] = found
            arrived(ordered())

    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(len(commands))))
    return ordered()


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--json", help="write the record to this file")
    return parser


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{os.cpu_count()} cores, {model}"
