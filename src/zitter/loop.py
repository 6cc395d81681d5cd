"""The one driver of everything that takes long.

It knows only `step(state) → (state, record)`: compiled segments of many steps between host visits,
progress with ETA, checkpoints, guards, and signals that end a run with its state saved.

One compiled program serves every segment: the number of steps is data, so cutting a run
differently (by signals, by resuming, on a faster machine) changes no bit of the result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, ParamSpec

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, processes, runtime
from zitter.checkpoints import Axis, Checkpoint, Piece, named_leaves

RECORD_BYTES = 256 * 2**20  # the most a segment's records may take on the device


P = ParamSpec("P")
SHORT = 256  # records: an equilibration and the run after it should be one program


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


def _alone(drive: Callable[P, Outcome]) -> Callable[P, Outcome]:
    """With the folder of its checkpoint for this run alone."""

    @functools.wraps(drive)
    def holding(*args: P.args, **options: P.kwargs) -> Outcome:
        checkpoint: Any = options.get("checkpoint")
        with contextlib.nullcontext() if checkpoint is None else checkpoint.held():
            return drive(*args, **options)

    return holding


@_alone
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
    finish: Callable[[Any], Any] | None = None,
    finish_steps: int = 0,
    axis: Axis | None = None,
    segment_seconds: float = 0.5,
) -> Outcome:
    """Run `step(context, state) → (state, record)` `steps` times.

    `context` holds what does not change (a pytree: operators, parameters). `guard(state, done)`
    may return a sentence that ends the run with its last good state saved; `visit(state, done)` is
    called on the host whenever `done` is a multiple of `visit_every`, and returns named values to
    keep. `counted` is what one step counts for in what people are told. `finish(state)` is what a
    run does after its last step, guarded as they are; it counts for `finish_steps`. Records are
    kept by name, over the `axis` of the run.
    """
    started = time.perf_counter()
    record_shape = _record_shape(step, context, state)
    names, record_tree = list(named_leaves(record_shape)), jax.tree.structure(record_shape)
    capacity = _capacity(jax.tree.leaves(record_shape), steps)
    total = steps * counted + finish_steps

    done, pieces, kept = 0, 0, []
    if resume and checkpoint is not None:
        saved = checkpoint.load(state)
        if saved is not None:
            done, state, kept = saved
            pieces = len(kept)
            rows = dict(zip(names, jax.tree.leaves(record_shape), strict=True))
            for piece in kept:
                shapes = {name: row.shape for name, row in rows.items()}
                piece.fit(shapes, checkpoint.order)
            if done > steps:
                raise checks.InputError(
                    "resume",
                    f"must go on to a later end, but {checkpoint.folder} has come farther already",
                )
    resumed_at = done
    saved_at = done if kept else None
    unsaved: list[Piece] = []
    last_saved, count = time.perf_counter(), 1
    if done == 0 and visit is not None:
        unsaved.append(Piece({}, _stacked(visit(state, 0))))

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
        pieces = checkpoint.save(done, state, pieces, joined, steps, axis)
        kept.append(joined)
        unsaved, last_saved, saved_at = [], time.perf_counter(), done

    with (
        stop_signals() as asked_to_stop,
        _progress(progress, label, total, done * counted) as advance,
    ):
        while done < steps:
            count = min(count, capacity, steps - done)
            if visit_every:
                count = min(count, visit_every - done % visit_every)
            tick = time.perf_counter()
            advanced, buffers = _segment(step, capacity, context, state, np.int32(count))
            jax.block_until_ready(advanced)
            elapsed = time.perf_counter() - tick
            judge(advanced, done + count)
            state, done = advanced, done + count
            taken = (runtime.to_host(b)[:count] for b in buffers)
            piece = Piece(dict(zip(names, taken, strict=True)), {})
            unsaved.append(piece)
            if visit is not None and visit_every and done % visit_every == 0:
                piece.visits = _stacked(visit(state, done))
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
    records = jax.tree.unflatten(record_tree, [whole.records[name] for name in names])
    return Outcome(state, end, records, whole.visits, time.perf_counter() - started, resumed_at)


def decided(stop: bool, due: bool, count: float) -> tuple[bool, bool, int]:
    """Whether to stop, whether to save, and the next number of steps, alike on all processes.

    Process 0 decides, since clocks differ; a signal to any process stops all.
    """
    stop = processes.anywhere(stop)
    decided = processes.agree(due, count)
    return stop, bool(decided[0]), int(decided[1])


def placed_shapes(function: Callable[..., Any], context: Any, *shapes: Any) -> Any:
    """What `function(context, …)` would return, as shapes that know their devices."""
    arrays, static = eqx.partition(context, eqx.is_array)
    made = eqx.filter_eval_shape(function, context, *shapes)
    call = jax.jit(lambda arrays, *given: function(eqx.combine(arrays, static), *given))
    places = call.lower(arrays, *shapes).compile().output_shardings
    return jax.tree.map(
        lambda x, place: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), made, places
    )


@dataclasses.dataclass(frozen=True)
class Program:
    """The segment of `drive`, compiled and not yet run."""

    call: Callable[[Any, Any, Any], Any]  # of the context's arrays, the state, a number of steps
    capacity: int
    memory: int  # bytes on each device: arguments, results and what it needs on the way
    seconds_to_compile: float

    def seconds(self, context: Any, state: Any, steps: int) -> float:
        """Time for all steps, estimated by running the first few."""
        arrays = eqx.filter(context, eqx.is_array)

        def timed(count: int) -> float:
            tick = time.perf_counter()
            jax.block_until_ready(self.call(arrays, state, jnp.asarray(count, jnp.int32)))
            return time.perf_counter() - tick

        timed(1)  # what only the first call does is no part of a step
        count = int(max(1, min(self.capacity, steps, 0.5 / timed(1))))
        return timed(count) / count * steps


def compiled(
    step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any, steps: int
) -> Program:
    """What `drive` would run. `state` may hold `jax.ShapeDtypeStruct`s: it is not computed."""
    started = time.perf_counter()
    arrays, static = eqx.partition(context, eqx.is_array)
    records = _record_shape(step, context, state)
    capacity = _capacity(jax.tree.leaves(records), steps)

    def segment(arrays, state, count):
        return _segment(step, capacity, eqx.combine(arrays, static), state, count)

    program = jax.jit(segment).lower(arrays, state, jnp.zeros((), jnp.int32)).compile()
    taken = time.perf_counter() - started
    analysis = program.memory_analysis()
    if analysis is None:  # a back end that does not tell: arguments, results, two more states
        leaves = jax.tree.leaves((arrays, state, state, state, state))
        rows = sum(_bytes(r) for r in jax.tree.leaves(records))
        memory = sum(_bytes(x) for x in leaves) + capacity * rows
    else:
        memory = (
            analysis.argument_size_in_bytes
            + analysis.output_size_in_bytes
            + analysis.temp_size_in_bytes
            - analysis.alias_size_in_bytes
        )
    return Program(program, capacity, memory, taken)


def scan(step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any, steps: int):
    """The same steps as one differentiable `lax.scan`, with no host visits: (state, records)."""
    body = jax.checkpoint(lambda carry, _: step(context, carry))
    return jax.lax.scan(body, state, None, length=steps)


_shapes: dict[Any, Any] = {}
_MOST_SHAPES = 64


def _record_shape(step: Callable[[Any, Any], tuple[Any, Any]], context: Any, state: Any) -> Any:
    """Shapes of a record, remembered: tracing a step takes longer than many a run of it.

    Nothing that encloses values is kept, neither is an array.
    """
    leaves, tree = jax.tree.flatten((context, state))
    forms = tuple(
        (x.shape, x.dtype) if isinstance(x, jax.Array | np.ndarray | np.generic) else x
        for x in leaves
    )
    functions = [x for x in (step, *forms) if callable(x)]
    plain = all(isinstance(x, FunctionType) and x.__closure__ is None for x in functions)
    key = (step, tree, forms)
    try:
        if plain and key in _shapes:
            return _shapes[key]
        _, found = eqx.filter_eval_shape(step, context, state)
        if plain:
            _shapes[key] = found
            if len(_shapes) > _MOST_SHAPES:
                del _shapes[next(iter(_shapes))]
        return found
    except (TypeError, ValueError):  # static parts that cannot be compared
        return eqx.filter_eval_shape(step, context, state)[1]


@eqx.filter_jit
def _segment(step, capacity, context, state, count):
    """`count` ≤ `capacity` steps with their records; kept compiled for later runs of this shape."""
    _, shapes = eqx.filter_eval_shape(step, context, state)
    buffers = jax.tree.map(lambda r: jnp.zeros((capacity, *r.shape), r.dtype), shapes)

    def body(i, carry):
        state, buffers = carry
        state, record = step(context, state)
        return state, jax.tree.map(lambda b, v: b.at[i].set(v), buffers, record)

    state, buffers = jax.lax.fori_loop(0, count, body, (state, buffers))
    return state, jax.tree.leaves(buffers)


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * array.dtype.itemsize


def _capacity(record_leaves, steps: int) -> int:
    """How many records a segment may hold: a power of two within what the device should spend on
    them, so that runs of similar length share one compiled program, and all short ones do."""
    affordable = RECORD_BYTES // max(sum(_bytes(r) for r in record_leaves), 1)
    wanted = max(SHORT, 2 ** math.ceil(math.log2(max(steps, 1))))
    return int(max(1, min(wanted, 1024, affordable)))


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


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Signals that ask to stop set a flag while the run is on; a second SIGINT ends it at once."""
    flag: list[int] = []

    def remember(number, frame):
        if flag and number == signal.SIGINT:
            raise KeyboardInterrupt
        flag.append(number)

    previous = {}
    for number in processes.stopping():
        with contextlib.suppress(ValueError):  # not in the main thread: leave signals alone
            previous[number] = signal.signal(number, remember)
    try:
        yield lambda: bool(flag)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Terminal:
    """stderr, which ends no run when somebody closes the window."""

    encoding = property(lambda self: sys.stderr.encoding)

    def isatty(self) -> bool:
        return sys.stderr.isatty()

    def fileno(self) -> int:
        return sys.stderr.fileno()

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


@contextlib.contextmanager
def _progress(show: bool, label: str, total: int, done: int) -> Iterator[Callable[[int], None]]:
    if not show or not processes.first() or os.environ.get("ZITTER_PROGRESS") == "0":
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
    terminal: Any = _Terminal()
    with Progress(*columns, console=Console(file=terminal)) as bar:
        task = bar.add_task(label, total=total, completed=done)
        yield lambda n: bar.update(task, completed=n)
