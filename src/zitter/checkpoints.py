"""Where a run keeps its state and its records so far, by name: a viewer can read them meanwhile.

state.h5             the state after `done` of `steps` steps, array by array
state-before.h5      the one before it, for the case that a disk damages the last
records-000000.h5    the first records over the axis of the run (time, block, …), then the next
part-000700-001.h5   of many processes: what process 1 holds of the state after 700 steps;
                     `state.h5` shows the parts of all as whole arrays

A file takes its name when it is whole, and `state.h5` is the last one: a kill at any moment leaves
the state before or the state after. Every file has a checksum; where that of the last state, or of
a record that only it counts, is wrong, the state before it is taken. What was padded for one number
of devices is cut and padded for another, and stands in one order on all (`Order`), so that a run
can be continued on fewer or more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, files, io, locks, parts, processes, runtime, same_run
from zitter.keywords import caller
from zitter.remade import is_remade

STATE, BEFORE = "state.h5", "state-before.h5"
LAYOUT = "named arrays, steps"  # what `state.h5` says of itself; earlier ones counted otherwise


class Order(Protocol):
    """How the arrays of a state stand in files, whatever the number of devices."""

    def in_order(self, array: Any) -> Any:
        """An array as files have it; padding may follow."""
        ...

    def from_order(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """An array of a file as a state of this shape has it, but for padding at its end."""
        ...


class Unchanged:
    """The `Order` of arrays that stand in files as they are."""

    def in_order(self, array: Any) -> Any:
        return array

    def from_order(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return values


@dataclasses.dataclass(frozen=True)
class Axis:
    """What records are taken over: number k lies at start + k·step."""

    name: str = "record"
    start: float = 0.0
    step: float = 1.0


@dataclasses.dataclass
class Piece:
    """A stretch of a run: its records, and what host visits returned, each along a first axis."""

    records: dict[str, np.ndarray]
    visits: dict[str, np.ndarray]

    @property
    def length(self) -> int:
        return len(next(iter(self.records.values()))) if self.records else 0

    def fit(self, shapes: dict[str, tuple[int, ...]], order: Order) -> None:
        """Records of a run that had another number of devices."""
        for name, values in self.records.items():
            shape = (len(values), *shapes[name])
            self.records[name] = fitted(order.from_order(values, shape), shape)


@dataclasses.dataclass
class Checkpoint:
    """Where a run keeps its state: `state.h5` and the records so far, in numbered pieces.

    A piece holds the loop's records and what host visits returned since the last one. It is
    written before the state that counts it.
    """

    folder: Path
    every: float = 30.0  # seconds between checkpoints
    signature: str = ""  # the run's fingerprint: only the same run may resume
    order: Order = dataclasses.field(default_factory=Unchanged)
    doubtful: bool = dataclasses.field(default=False, init=False)  # whether `state.h5` is damaged
    begun: bool = dataclasses.field(default=False, init=False)
    own: bool = dataclasses.field(default=False, init=False)  # whether this run put there what is

    def __post_init__(self) -> None:
        self.every = float(checks.non_negative("checkpoint_every", self.every))

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The folder for one run alone, without what a killed one was writing."""
        self.own = False
        if not processes.first():
            yield
            return
        with contextlib.ExitStack() as taken:
            try:
                locks.require_ours(self.folder, there=True)
                taken.enter_context(locks.held(self.folder, "checkpoint"))
            except OSError as error:
                raise checks.RunError(f"the run cannot begin: {files.reason(error)}") from None
            files.clear_temporary(self.folder)
            self.begun = True
            yield

    def save(
        self,
        done: int,
        state: Any,
        pieces: int,
        piece: Piece,
        steps: int | None = None,
        axis: Axis | None = None,
        rows: int | None = None,
    ) -> int:
        """Keep a piece and the state after it; the number of pieces there are now.

        There are as many `rows` of records by then as steps, unless it is told.

        A run that does not go on with what is there removes it first: no state may count the
        pieces of another run.
        """
        here = processes.first()
        locks.require_ours(self.folder, there=True)
        if self.begun and not self.folder.is_dir():  # a new one would lack what was there
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.folder))
        if not self.own:
            self.empty()
        if piece.length or piece.visits:
            if here:
                self._write_piece(pieces, piece, done if rows is None else rows, axis or Axis())
                locks.require_ours(self.folder, there=True)  # no state without its pieces
            pieces += 1
        attributes = {
            "layout": LAYOUT,
            "done": str(done),
            "steps": str(done if steps is None else steps),
            "pieces": str(pieces),
            "signature": self.signature,
        }
        leaves = {name: self.order.in_order(leaf) for name, leaf in named_leaves(state).items()}
        apart = {name: leaf for name, leaf in leaves.items() if not _known(leaf)}
        arrays = {n: runtime.to_host(leaf) for n, leaf in leaves.items() if n not in apart}
        dataset = io.Dataset(_variables(arrays), attributes)
        self.begun = True
        # What is damaged must not take the place of what is not.
        before = None if self.doubtful else self.folder / BEFORE
        self.doubtful = False
        if not apart:
            if here:
                io.write(self.folder / STATE, dataset, before=before)
            return pieces
        name = f"part-{done:06d}-{{:03d}}.h5"
        parts.write(self.folder / name.format(jax.process_index()), apart)
        processes.wait("parts of a checkpoint")
        if here:
            names = [name.format(p) for p in range(jax.process_count())]
            parts.write_index(self.folder / STATE, dataset, apart, names, before)
            kept = {*names, *parts.named_in(self.folder / BEFORE)}
            for file in self.folder.glob("part-*.h5"):
                if file.name not in kept:
                    files.disk.remove(file)
        return pieces

    def load(self, state: Any, counted: int = 1) -> tuple[int, Any, list[Piece]] | None:
        """(steps done, state, pieces), or None where there is nothing to resume.

        `counted` is what one step counts for in what people are told.
        """
        if not processes.agree(self.exists())[0]:
            return None
        problem = None
        for path in (self.folder / STATE, self.folder / BEFORE):
            if not path.exists():
                continue
            try:
                found = self._loaded(path, state)
            except files.Damaged as error:
                self.doubtful = True
                problem = error
                continue
            if problem is not None:
                done = found[0] * counted
                warnings.warn(
                    f"the last checkpoint is damaged ({problem.message}): the run goes on from the "
                    f"one before it, at step {done}",
                    stacklevel=caller(),
                )
            self.own = True
            return found
        told = "" if problem is None else problem.message
        raise checks.InputError(
            "resume",
            f"must find a whole checkpoint, but that in {self.folder} is damaged ({told}): begin "
            "anew",
        )

    def _loaded(self, path: Path, state: Any) -> tuple[int, Any, list[Piece]]:
        try:
            return self._read_state(path, state)
        except checks.InputError:
            raise
        except io.UNREADABLE as error:  # an attribute or an array is not what it was
            told = f'must be whole, but "{path}" is not: {type(error).__name__} {error}'
            raise files.Damaged("file", told) from None

    def _read_state(self, path: Path, state: Any) -> tuple[int, Any, list[Piece]]:
        saved = io.read(path)
        if saved.attributes.get("layout") != LAYOUT:
            raise checks.InputError(
                "resume",
                f"must continue a run of this version, but {self.folder} was written by an "
                "earlier one: begin anew, or resume with that version",
            )
        parts.require_all(path, saved.attributes)
        same_run.require(saved.attributes["signature"], self.signature, self.folder)
        loaded = [
            _restored(self.order.from_order(saved.variables[name].data, leaf.shape), leaf)
            for name, leaf in named_leaves(state).items()
        ]
        pieces = [self._read_piece(k) for k in range(int(saved.attributes["pieces"]))]
        new = iter(loaded)
        whole = jax.tree.map(
            lambda part: part if is_remade(part) else next(new), state, is_leaf=is_remade
        )
        return int(saved.attributes["done"]), whole, pieces

    def exists(self) -> bool:
        return any((self.folder / name).exists() for name in (STATE, BEFORE))

    def empty(self) -> None:
        """Remove all states and records."""
        if processes.first():
            locks.require_ours(self.folder)
            # What makes the others a whole goes first.
            states = (self.folder / STATE, self.folder / BEFORE)
            for file in (*states, *self.folder.glob("[rp]*-*.h5")):
                files.disk.remove(file)
        processes.wait("an empty checkpoint")  # others write parts of the next one there
        self.own = True

    def clear(self) -> None:
        """The same, and the folder."""
        self.empty()
        if processes.first():
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    def _write_piece(self, number: int, piece: Piece, rows: int, axis: Axis) -> None:
        variables = _variables(piece.visits)
        if piece.records:
            places = axis.start + axis.step * np.arange(rows - piece.length, rows)
            variables[axis.name] = io.Variable(places, (axis.name,))
            records = {name: self.order.in_order(v) for name, v in piece.records.items()}
            for name, variable in _variables(records).items():
                variable.dims = (axis.name, *variable.dims[1:])
                variables[name] = variable
        attributes = {"records": list(piece.records)}
        io.write(self.folder / f"records-{number:06d}.h5", io.Dataset(variables, attributes))

    def _read_piece(self, number: int) -> Piece:
        stored = io.read(self.folder / f"records-{number:06d}.h5")
        names = json.loads(stored.attributes["records"])
        records = {name: stored.variables.pop(name) for name in names}
        for axis in {v.dims[0] for v in records.values()}:
            stored.variables.pop(axis)
        visits = {name: v.data for name, v in stored.variables.items()}
        return Piece({name: v.data for name, v in records.items()}, visits)


def fitted(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array padded with zeros for one number of devices, padded for another."""
    if values.shape == shape:
        return values
    kept = values[tuple(slice(min(a, b)) for a, b in zip(values.shape, shape, strict=True))]
    if np.any(values) and np.count_nonzero(kept) != np.count_nonzero(values):
        raise checks.InputError(
            "resume", f"must continue arrays of shape {shape}, but finds {values.shape}"
        )
    widths = [(0, n - have) for n, have in zip(shape, kept.shape, strict=True)]
    return np.pad(kept, widths)


def _known(leaf: Any) -> bool:
    """Whether process 0 knows all of an array."""
    return runtime.is_here(leaf) or leaf.is_fully_replicated


def _restored(values: np.ndarray, leaf: Any) -> jax.Array:
    """An array from a file, where one like it lies."""
    values = fitted(values, leaf.shape).astype(leaf.dtype)
    if len(leaf.sharding.device_set) == 1:
        # Bound to that device it could not be used beside arrays that lie on many.
        return jnp.asarray(values)
    return runtime.placed(values, leaf.sharding)


def named_leaves(tree: Any) -> dict[str, Any]:
    """The leaves of a pytree by the way to them, "psi" or "memory.0", without what is remade."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_remade)
    return {
        jax.tree_util.keystr(path, simple=True, separator=".").replace("/", "_") or "value": leaf
        for path, leaf in paths
        if not is_remade(leaf)
    }


def _variables(arrays: dict[str, np.ndarray]) -> dict[str, io.Variable]:
    return {
        name: io.Variable(a, tuple(f"{name}_{axis}" for axis in range(np.ndim(a))))
        for name, a in arrays.items()
    }
