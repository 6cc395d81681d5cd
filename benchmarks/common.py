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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from records import TIMED, Timed


def median_seconds(action: Callable[[], Any], repeats: int = 5) -> Timed:
    """The median time of `action` after one call that is not counted."""
    return done(action, repeats)[1]


def done(action: Callable[[], Any], repeats: int = 2) -> tuple[Any, Timed]:
    """What `action` gives, and its median time after one call that is not counted."""
    found = jax.block_until_ready(action())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = jax.block_until_ready(action())
        times.append(time.perf_counter() - start)
    return found, noted(times)


def noted(times: list[float]) -> Timed:
    """Their median; how far apart they were goes into the record."""
    middle = statistics.median(times)
    # Differences of times may vanish.
    spread = (max(times) - min(times)) / (abs(middle) or math.inf)
    TIMED.append((len(times), spread))
    return Timed(middle, spread)


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
    return {name: min(times) for name, times in in_turn(actions, rounds, clock).items()}


def in_turn(
    actions: dict[str, Callable[[], Any]],
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """The times of each action, one of each round, after a call that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        jax.block_until_ready(action())
    for _ in range(rounds):
        for name, action in actions.items():
            start = clock()
            jax.block_until_ready(action())
            times[name].append(clock() - start)
    return {name: spread_over(values) for name, values in times.items()}


def spread_over(times: list[float]) -> list[float]:
    """The times, each with how far apart all of them were."""
    spread = noted(times).spread
    return [Timed(one, spread) for one in times]


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
            found = json.loads(file.read_text())
        with lock:
            rows[index] = found["measured"]
            timings = found["timings"]
            if count := timings.get("actions"):  # one of them has the widest spread
                counts = timings["repetitions"]
                TIMED.append((max(counts), timings["spread_largest"]))
                TIMED.extend((min(counts), timings["spread_median"]) for _ in range(count - 1))
            if at := timings.get("largest_in"):
                row, key = found["measured"][at["row"]], at["key"]
                row[key] = Timed(row[key], at["spread"])
            arrived(ordered())

    lock = threading.Lock()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(len(commands))))
    return ordered()


def chosen_names(names: Iterable[str], words: list[str] | None) -> list[str]:
    """Those that hold one of these words, or are one: a whole name may stand in a longer one."""
    names = list(names)
    return [
        name
        for name in names
        if any(name == word or (word not in names and word in name) for word in words or [""])
    ]


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
