"""The one driver of everything that takes long.

It knows only `step(state) → (state, record)`: compiled segments of many steps between host visits,
progress with ETA, checkpoints, guards, and signals that end a run with its state saved.

One compiled program serves every segment: the number of steps is data, so cutting a run
differently (by signals, by resuming, on a faster machine) changes no bit of the result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from zitter import checks, processes, runtime
from zitter import progress as progress_bar
from zitter.checkpoints import Axis, Checkpoint, Piece, named_leaves
from zitter.segments import most_records, on_one_mesh, record_shape, segment
from zitter.stopping import stop_signals


class Interrupted(checks.RunError):
    """The run was asked to stop (Ctrl-C, SIGTERM, SIGHUP); its state is saved if it has a
    checkpoint.
    """


class Halted(checks.RunError):
    """A guard ended the run: continued as it is, it would only fail again."""


@dataclasses.dataclass
class Outcome:
    """What a run leaves: the state after all steps, that after `finish` (the same without one), and
    every record and visit along a first axis.
    """

    state: Any
    end: Any
    records: Any
    visits: dict[str, np.ndarray]
    seconds: float
    resumed_at: int


class Handed:
    """A state to begin with that nobody else needs: its memory is free once it was left behind."""

    def __init__(self, state: Any):
        self._held = [state]

    def taken(self) -> Any:
        return self._held.pop()


def drive(
    step: Callable[[Any, Any], tuple[Any, Any]],
    context: Any,
    state: Any,
    steps: int,
    *,
    label: str = "running",
    guard: Callable[[Any, int], str | None] | None = None,
    visit: Callable[[Any, int], dict[str, Any]] | None = None,
    visit_every: int | None = None,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    progress: bool = False,
    counted: int = 1,
    recorded: int = 1,
    finish: Callable[[Any], Any] | None = None,
    finish_steps: int = 0,
    axis: Axis | None = None,
    segment_seconds: float = 0.5,
) -> Outcome:
    """Run `step(context, state) → (state, record)` `steps` times.

    `context` holds what does not change (a pytree: operators, parameters). `guard(state, done)`
    may return a sentence that ends the run with its last good state saved. Records are kept of the
    first and every `recorded`-th step; `visit(state, number of records)` is called on the host
    after each multiple of `visit_every` of them, and returns named values to keep. `counted` is
    what one step counts for in what people are told. `finish(state)` is what a run does after its
    last step, guarded as they are; it counts for `finish_steps`. Records are kept by name, over the
    `axis` of the run. What callers hold of the first state stays in memory to the end: they may
    hand it over, as `Handed`.
    """
    started = time.perf_counter()
    progress = checks.boolean("progress", progress)
    if isinstance(state, Handed):
        state = state.taken()
    row = record_shape(step, context, state)
    names, rows = list(named_leaves(row)), jax.tree.leaves(row)
    capacity = most_records(rows, steps)
    total = steps * counted + finish_steps
    unsaved: list[Piece] = []
    visit_every = visit_every and visit_every * recorded  # in steps, from here on
    count = 1

    def judge(advanced: Any, reached: int) -> None:
        problem = guard(advanced, reached) if guard else None
        if problem:
            save()  # the state before what went wrong: the last that was good
            raise Halted(f"{problem} {_kept_in(checkpoint, done * counted)}")

    def save() -> None:
        nonlocal pieces, unsaved, last_saved, saved_at
        # The same state once more would drive out the one before it.
        if checkpoint is None or done == saved_at:
            return
        joined = _join(unsaved)
        rows = -(-done // recorded)
        pieces = checkpoint.save(done, state, pieces, joined, steps, axis, rows)
        kept.append(joined)
        unsaved, last_saved, saved_at = [], time.perf_counter(), done

    with contextlib.ExitStack() as around:
        if checkpoint is not None:  # its folder is for this run alone
            around.enter_context(checkpoint.held())
        done, kept = 0, []
        if resume and checkpoint is not None:
            done, state, kept = _continued(checkpoint, state, names, rows, steps, counted)
        state = on_one_mesh(state)  # as a segment leaves it: one program serves all
        pieces, resumed_at, saved_at = len(kept), done, done if kept else None
        if done == 0 and visit is not None:
            unsaved.append(Piece({}, _stacked(visit(state, 0))))
        last_saved = time.perf_counter()
        asked_to_stop = around.enter_context(stop_signals())
        advance = around.enter_context(progress_bar.shown(progress, label, total, done * counted))
        while done < steps:
            count = min(count, capacity, steps - done)
            if visit_every:
                count = min(count, visit_every - done % visit_every)
            tick = time.perf_counter()
            advanced, buffers = segment(step, capacity, context, state, np.int32(count))
            jax.block_until_ready(advanced)
            elapsed = time.perf_counter() - tick
            judge(advanced, done + count)
            # A view of so many rows would keep the whole buffer.
            rows = slice(-done % recorded, count, recorded)
            taken = [np.array(runtime.to_host(b)[rows]) for b in buffers]
            state, done = advanced, done + count
            piece = Piece(dict(zip(names, taken, strict=True)), {})
            del advanced, buffers
            unsaved.append(piece)
            if visit is not None and visit_every and done % visit_every == 0:
                piece.visits = _stacked(visit(state, done // recorded))
            advance(done * counted)
            # Grow (or shrink) towards segments of the wanted length in seconds.
            wanted = count * segment_seconds / max(elapsed, 1e-6)
            due = checkpoint is not None and time.perf_counter() - last_saved > checkpoint.every
            stop, due, count = decided(asked_to_stop(), due, max(1, min(wanted, 8 * count)))
            if stop:
                save()
                raise Interrupted(
                    f"stopped at {done * counted} of {total} steps on request. "
                    f"{saved_in(checkpoint)}"
                )
            if due:
                save()
        save()  # a result that cannot be written costs no step then, and more steps may follow
        end = state
        if finish is not None:
            end = finish(state)
            judge(end, done)
            advance(total)
    whole = _join(kept + unsaved)
    records = jax.tree.unflatten(jax.tree.structure(row), [whole.records[name] for name in names])
    return Outcome(state, end, records, whole.visits, time.perf_counter() - started, resumed_at)


def _continued(
    checkpoint: Checkpoint,
    state: Any,
    names: list[str],
    rows: list[Any],
    steps: int,
    counted: int,
) -> tuple[int, Any, list[Piece]]:
    """(steps done, state, records) of a checkpoint; nothing but the state given without one."""
    saved = checkpoint.load(state, counted)
    if saved is None:
        return 0, state, []
    done, state, kept = saved
    shapes = {name: row.shape for name, row in zip(names, rows, strict=True)}
    for piece in kept:
        piece.fit(shapes, checkpoint.order)
    if done > steps:
        raise checks.InputError(
            "resume",
            f"must go on to a later end than step {steps * counted}, but the run in "
            f"{checkpoint.folder} has come to step {done * counted} already",
        )
    return done, state, kept


def decided(stop: bool, due: bool, count: float) -> tuple[bool, bool, int]:
    """Whether to stop, whether to save, and the next number of steps, alike on all processes.

    Process 0 decides, since clocks differ; a signal to any process stops all.
    """
    stop = processes.anywhere(stop)
    decided = processes.agree(due, count)
    return stop, bool(decided[0]), int(decided[1])


def _stacked(values: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: runtime.to_host(value)[None] for name, value in values.items()}


def _join(pieces: list[Piece]) -> Piece:
    return Piece(_joined([p.records for p in pieces]), _joined([p.visits for p in pieces]))


def _joined(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {n: np.concatenate([part[n] for part in parts if n in part]) for n in names}


def saved_in(checkpoint: Checkpoint | None) -> str:
    """What is saved where, as a sentence."""
    if checkpoint is None or not checkpoint.exists():
        return "Nothing was saved."
    return f"The state is saved in {checkpoint.folder}."


def _kept_in(checkpoint: Checkpoint | None, done: int) -> str:
    """The same after a guard: the run as it is would only fail again."""
    if checkpoint is None:
        return "Nothing was saved."
    return (
        f"The state after {done} steps is kept in {checkpoint.folder}; with other "
        "parameters start a new run."
    )
