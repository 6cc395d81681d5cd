"""The one driver of everything that takes long.

It knows only `step(state) → (state, record)`: compiled segments of many steps between host visits,
progress with ETA, checkpoints, guards, and signals that end a run with its state saved.

One compiled program serves every segment: the number of steps is data, so cutting a run
differently (by signals, by resuming, on a faster machine) changes no bit of the result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, io

RECORD_BYTES = 256 * 2**20  # the most a segment's records may take on the device


class Interrupted(checks.RunError):
    """The run was asked to stop (Ctrl-C, SIGTERM); its state is saved if it has a checkpoint."""


@dataclasses.dataclass
class Checkpoint:
    """Where a run keeps its state: `state.h5` and the records so far, in numbered pieces.

    A piece is written before the state that counts it, so a kill at any moment leaves a whole
    state with all its records.
    """

    folder: Path
    every: float = 30.0  # seconds between checkpoints
    signature: str = ""  # what must be equal for a resume to make sense

    def save(self, done: int, state: Any, pieces: int, piece: list[np.ndarray] | None) -> int:
        if piece is not None:
            self._write(f"records-{pieces:06d}.h5", {f"r{i}": a for i, a in enumerate(piece)}, {})
            pieces += 1
        leaves = [np.asarray(x) for x in jax.tree.leaves(state)]
        attributes = {"done": str(done), "pieces": str(pieces), "signature": self.signature}
        self._write("state.h5", {f"s{i}": a for i, a in enumerate(leaves)}, attributes)
        return pieces

    def load(self, state: Any) -> tuple[int, Any, list[list[np.ndarray]]] | None:
        """(steps done, state, record pieces), or None where there is nothing to resume."""
        path = self.folder / "state.h5"
        if not path.exists():
            return None
        saved = io.read(path)
        if saved.attributes["signature"] != self.signature:
            raise checks.InputError(
                "resume",
                f"must continue the same run, but {self.folder} belongs to a different input",
            )
        leaves, structure = jax.tree.flatten(state)
        loaded = [
            jnp.asarray(saved.variables[f"s{i}"].data).astype(leaf.dtype)
            for i, leaf in enumerate(leaves)
        ]
        pieces = []
        for k in range(int(saved.attributes["pieces"])):
            piece = io.read(self.folder / f"records-{k:06d}.h5").variables
            pieces.append([piece[f"r{i}"].data for i in range(len(piece))])
        return int(saved.attributes["done"]), jax.tree.unflatten(structure, loaded), pieces

    def clear(self) -> None:
        for file in (*self.folder.glob("records-*.h5"), self.folder / "state.h5"):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _write(self, name: str, arrays: dict[str, np.ndarray], attributes: dict[str, str]) -> None:
        variables = {
            key: io.Variable(a, tuple(f"{key}_{axis}" for axis in range(np.ndim(a))))
            for key, a in arrays.items()
        }
        io.write(self.folder / name, io.Dataset(variables, attributes))


@dataclasses.dataclass
class Outcome:
    """What a run leaves: the last state, and every record stacked along a first axis."""

    state: Any
    records: Any
    seconds: float
    resumed_at: int


def drive(
    step: Callable[[Any, Any], tuple[Any, Any]],
    context: Any,
    state: Any,
    steps: int,
    *,
    label: str = "running",
    guard: Callable[[Any, int], str | None] | None = None,
    visit: Callable[[Any, int], None] | None = None,
    visit_every: int | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    progress: bool = False,
    segment_seconds: float = 0.5,
) -> Outcome:
    """Run `step(context, state) → (state, record)` `steps` times.

    `context` holds what does not change (a pytree: operators, parameters). `guard(state, done)`
    may return a sentence that ends the run; `visit(state, done)` is called on the host whenever
    `done` is a multiple of `visit_every`.
    """
    started = time.perf_counter()
    _, record_shape = eqx.filter_eval_shape(step, context, state)
    record_leaves, record_tree = jax.tree.flatten(record_shape)
    bytes_each = sum(int(np.prod(r.shape)) * r.dtype.itemsize for r in record_leaves)
    capacity = int(max(1, min(steps, 4096, RECORD_BYTES // max(bytes_each, 1))))
    segment = _compile_segment(step, record_leaves, capacity)

    done, pieces, kept = 0, 0, []
    if resume and checkpoint is not None:
        saved = checkpoint.load(state)
        if saved is not None:
            done, state, kept = saved
            pieces = len(kept)
    resumed_at = done
    unsaved: list[list[np.ndarray]] = []
    last_saved, count = time.perf_counter(), 1
    if done == 0 and visit is not None:
        visit(state, 0)

    def save() -> None:
        nonlocal pieces, unsaved, last_saved
        if checkpoint is None:
            return
        joined = _join(unsaved) if unsaved and record_leaves else None
        pieces = checkpoint.save(done, state, pieces, joined)
        if joined is not None:
            kept.append(joined)
        unsaved, last_saved = [], time.perf_counter()

    with _signals() as asked_to_stop, _progress(progress, label, steps, done) as advance:
        while done < steps:
            count = min(count, capacity, steps - done)
            if visit_every:
                count = min(count, visit_every - done % visit_every)
            tick = time.perf_counter()
            state, buffers = segment(context, state, jnp.asarray(count, jnp.int32))
            jax.block_until_ready(state)
            elapsed = time.perf_counter() - tick
            done += count
            unsaved.append([np.asarray(b[:count]) for b in buffers])
            problem = guard(state, done) if guard else None
            if problem:
                raise checks.RunError(f"{problem} {_where(checkpoint, pieces)}")
            if visit is not None and visit_every and done % visit_every == 0:
                visit(state, done)
            advance(done)
            if asked_to_stop():
                save()
                raise Interrupted(
                    f"stopped at {done} of {steps} steps on request. {_where(checkpoint, pieces)}"
                )
            if checkpoint is not None and time.perf_counter() - last_saved > checkpoint.every:
                save()
            # Grow (or shrink) towards segments of the wanted length in seconds.
            wanted = count * segment_seconds / max(elapsed, 1e-6)
            count = int(max(1, min(wanted, 8 * count)))
    stacked = _join(kept + unsaved) if record_leaves else []
    records = jax.tree.unflatten(record_tree, stacked)
    return Outcome(state, records, time.perf_counter() - started, resumed_at)


def scan(step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any, steps: int):
    """The same steps as one differentiable `lax.scan`, with no host visits: (state, records)."""
    body = jax.checkpoint(lambda carry, _: step(context, carry))
    return jax.lax.scan(body, state, None, length=steps)


def _compile_segment(step, record_leaves, capacity):
    @eqx.filter_jit(donate="none")
    def segment(context, state, count):
        buffers = [jnp.zeros((capacity, *r.shape), r.dtype) for r in record_leaves]

        def body(i, carry):
            state, buffers = carry
            state, record = step(context, state)
            values = jax.tree.leaves(record)
            return state, [b.at[i].set(v) for b, v in zip(buffers, values, strict=True)]

        return jax.lax.fori_loop(0, count, body, (state, buffers))

    return segment


def _join(pieces: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [np.concatenate(column) for column in zip(*pieces, strict=True)]


def _where(checkpoint: Checkpoint | None, pieces: int) -> str:
    if checkpoint is None or not (checkpoint.folder / "state.h5").exists():
        return "Nothing was saved."
    return f"The state is saved in {checkpoint.folder}; --resume continues from there."


@contextlib.contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """SIGINT and SIGTERM set a flag while the run is on; a second SIGINT ends it at once."""
    flag: list[int] = []

    def remember(number, frame):
        if flag and number == signal.SIGINT:
            raise KeyboardInterrupt
        flag.append(number)

    previous = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError):  # not in the main thread: leave signals alone
            previous[number] = signal.signal(number, remember)
    try:
        yield lambda: bool(flag)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(show: bool, label: str, total: int, done: int) -> Iterator[Callable[[int], None]]:
    if not show or os.environ.get("ZITTER_PROGRESS") == "0":
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total, completed=done)
        yield lambda n: bar.update(task, completed=n)
