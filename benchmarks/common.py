"""What every benchmark shares: timing, options, and parts in processes of their own."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import math
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
import numpy as np
from records import TIMED


def median_seconds(action: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of `action` after one call that is not counted."""
    return done(action, repeats)[1]


def done(action: Callable[[], Any], repeats: int = 2) -> tuple[Any, float]:
    """What `action` gives, and its median time after one call that is not counted."""
    found = jax.block_until_ready(action())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = jax.block_until_ready(action())
        times.append(time.perf_counter() - start)
    return found, noted(times)


def noted(times: list[float]) -> float:
    """Their median; how far apart they were goes into the record."""
    middle = statistics.median(times)
    # Differences of times may vanish.
    TIMED.append((len(times), (max(times) - min(times)) / (abs(middle) or math.inf)))
    return middle


def least_seconds(
    action: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest time of `action` after one call that is not counted."""
    return fastest({"": action}, repeats, clock)[""]


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
    for values in times.values():
        noted(values)
    return {name: min(values) for name, values in times.items()}


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
            found = json.loads(file.read_text())["measured"]
        with lock:
            rows[index] = found
            arrived(ordered())

    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(len(commands))))
    return ordered()


def coverage(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Of (stated, true) errors: how many are covered, and by how much."""
    stated, true = np.array(pairs).T
    ratio = stated / np.maximum(true, 1e-15)  # below that is rounding
    return {
        "covered": float(np.mean(ratio >= 1)),
        "median_stated_over_true": float(np.median(ratio)),
        "smallest": float(ratio.min()),
        "true_from": float(true.min()),
        "true_to": float(true.max()),
    }


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--json", help="write the record to this file")
    return parser
