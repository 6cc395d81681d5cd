"""Iterations on the host whose length nobody knows: eigensolvers, optimizations.

What `loop` does for compiled steps: checkpoints by the clock, and signals that end the work with
its state saved. A round is whatever changes the state; its record is kept by name.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import loop, stopping
from zitter.checkpoints import Axis, Checkpoint, Piece


class Rounds:
    """The rounds of one iteration; without a checkpoint it only collects their records."""

    def __init__(self, checkpoint: Checkpoint | None = None, resume: bool = False):
        self.checkpoint, self.resume = checkpoint, resume
        self._rows: list[dict[str, np.ndarray]] = []
        self._saved_rows = 0
        self._pieces = 0
        self._last: tuple[int, Any] | None = None
        self._saved_at: int | None = None
        self._clock = time.perf_counter()
        self._asked: Callable[[], bool] = lambda: False

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Around all rounds: the folder for this run alone, and an ear for signals."""
        if self.checkpoint is None:
            yield
            return
        with self.checkpoint.held(), stopping.stop_signals() as self._asked:
            try:
                yield
            except loop.Interrupted:
                done = self.save()
                raise loop.Interrupted(
                    f"stopped after {done} rounds on request. {loop.saved_in(self.checkpoint)}"
                ) from None

    @property
    def goes_on(self) -> bool:
        """Whether there is something to go on from."""
        return self.resume and self.checkpoint is not None and self.checkpoint.exists()

    def begin(self, state: Any) -> tuple[int, Any]:
        """(rounds done, state): those of the checkpoint, or none and the state given."""
        state = jax.tree.map(jnp.asarray, state)
        saved = self.checkpoint.load(state) if self.checkpoint and self.goes_on else None
        if saved is None:
            return 0, state
        done, state, pieces = saved
        for piece in pieces:
            names = list(piece.records)
            rows = zip(*piece.records.values(), strict=True)
            self._rows += [dict(zip(names, row, strict=True)) for row in rows]
        self._pieces, self._saved_rows, self._saved_at = len(pieces), len(self._rows), done
        self._last = done, state
        return done, state

    def keep(self, done: int, state: Any, **record: Any) -> None:
        """What a round has come to; saved when it is time, and before the run is stopped."""
        self._rows.append({name: np.asarray(value) for name, value in record.items()})
        if self.checkpoint is None:
            return
        self._last = done, jax.tree.map(jnp.asarray, state)
        due = time.perf_counter() - self._clock > self.checkpoint.every
        stop, due, _ = loop.decided(self._asked(), due, 0)
        if stop:
            raise loop.Interrupted("stopped on request")
        if due:
            self.save()

    def save(self) -> int:
        """Save what was kept last, if it is not; how many rounds that are."""
        done, state = self._last or (0, None)
        if self.checkpoint is None or self._last is None or done == self._saved_at:
            return done
        new = self._rows[self._saved_rows :]
        records = {name: np.stack([row[name] for row in new]) for name in new[0]} if new else {}
        self._pieces = self.checkpoint.save(
            done, state, self._pieces, Piece(records, {}), axis=Axis("round")
        )
        self._saved_rows, self._saved_at = len(self._rows), done
        self._clock = time.perf_counter()
        return done

    def records(self, name: str) -> list[np.ndarray]:
        """What every round recorded under a name."""
        return [row[name] for row in self._rows]
