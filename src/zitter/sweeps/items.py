"""The items of a sweep, and the folder that keeps what each of them gave.

items/0f3a….h5    the result of one item, named by what decides its numbers
items/0f3a….txt   why an item failed
result.h5         all of them with their labels, made anew whenever some were added

An item that is there is never computed again, by whichever sweep, process or machine it was made,
unless its file is damaged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from zitter import checks, config, files, kinds, locks, runtime, same_run
from zitter.results.assembly import assembled
from zitter.results.base import Result
from zitter.results.sweep import Sweep
from zitter.sweeps.axes import MOST, Axis, shape


@dataclasses.dataclass(frozen=True)
class Item:
    """One combination of values."""

    index: int
    settings: tuple[str, ...]
    document: config.Document

    @property
    def label(self) -> str:
        return ", ".join(self.settings)

    @functools.cached_property
    def name(self) -> str:
        """What decides its numbers, on whatever machine; files are read once."""
        table = self.document.without_labels()
        table = {key: value for key, value in table.items() if key not in ("device", "mesh")}
        precision = runtime.settings().precision
        return same_run.fingerprint(table, self.document.contents, precision)[:24]


def laid_out(case: Path, settings: Sequence[str], axes: Sequence[Axis]) -> list[Item]:
    """All combinations, the last axis running fastest."""
    keys = [axis.key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise checks.InputError("--over", f"must name each key once, but has {key} twice")
    sizes = shape(axes)
    if math.prod(sizes) > MOST:
        raise checks.InputError(
            "--over",
            f"must give at most {MOST} items, but {' × '.join(map(str, sizes))} values give "
            f"{math.prod(sizes)}",
        )
    items = []
    for index, places in enumerate(itertools.product(*(range(len(a.values)) for a in axes))):
        own = tuple(axis.setting(place) for axis, place in zip(axes, places, strict=True))
        items.append(Item(index, own, config.read(case, [*settings, *own]).of_one()))
    return items


@dataclasses.dataclass(frozen=True)
class Store:
    """The folder of a sweep."""

    folder: Path

    @property
    def result(self) -> Path:
        return self.folder / "result.h5"

    def file(self, item: Item) -> Path:
        return self.folder / "items" / f"{item.name}.h5"

    def _reason(self, item: Item) -> Path:
        return self.file(item).with_suffix(".txt")

    def done(self, item: Item) -> bool:
        return self.found(item) is not None

    def damaged(self, item: Item) -> bool:
        return self.file(item).exists() and not self.done(item)

    def found(self, item: Item) -> Result | None:
        """What an item gave; None where nothing is there that can be read."""
        if not self.file(item).exists():
            return None
        try:
            return kinds.load(self.file(item))
        except checks.InputError:
            return None

    def keep(self, item: Item, result: Result) -> None:
        result.input = item.document.text
        locks.take_again(self.folder)
        result.save(self.file(item))
        self._reason(item).unlink(missing_ok=True)

    def fail(self, item: Item, sentence: str) -> None:
        locks.take_again(self.folder)
        files.write_text(self._reason(item), sentence)

    def failure(self, item: Item) -> str | None:
        path = self._reason(item)
        return files.kept_text(path) if path.exists() else None

    def assemble(self, axes: Sequence[Axis], items: Sequence[Item], info: dict, text: str) -> Sweep:
        """`result.h5` of all that is there now.

        Of processes that end together each puts down its own items first; the lock makes the last
        one to assemble see them all.
        """
        with self.held("assembling"):
            found = [self.found(item) for item in items]
            missing = [i for i, result in zip(items, found, strict=True) if result is None]
            reasons = {item.index: self.failure(item) for item in missing}
            failed = {index: reason for index, reason in reasons.items() if reason is not None}
            sweep = assembled(axes, found, failed, info, text)
            sweep.save(self.result)
            if all(result is not None for result in found):
                # Of a sweep killed between an item's result and the end of its checkpoint.
                shutil.rmtree(self.folder / "checkpoint", ignore_errors=True)
        return sweep

    def clear_killed(self) -> None:
        """Remove what killed sweeps have left; nobody else is at work there, as far as locks tell,
        which not every file system passes on to other machines."""
        for name in ("items", "parts", "checkpoint"):
            files.clear_temporary(*files.tree(self.folder / name), shared=True)
        files.clear_temporary(self.folder, shared=True)
        locks.clear(self.folder / "locks")

    def held(
        self, what: str, wait: locks.Wait = lambda who: None
    ) -> contextlib.AbstractContextManager[None]:
        """For this process alone; until then it waits for who is at work on the same."""
        locks.take_again(self.folder)
        return locks.held(self.folder / "locks" / what, "--out", wait)
