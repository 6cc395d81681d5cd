"""What the items of a sweep gave, along the values that were varied."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zitter import checks, io, tables
from zitter.results.base import Result, decoded

if TYPE_CHECKING:
    from rich.table import Table

DONE = "done"
COURSE = "_course"  # what names of courses in time end in
MOST_ROWS = 64


@dataclasses.dataclass(repr=False)
class Sweep(Result):
    """Values by name over the axes of a sweep, NaN where an item is missing.

    `axes` has the values of each key, without the unit they were given in, or their numbers where
    they are not numbers; `values[name]` the last values of observables, energies and errors, and of
    evolutions over the same times the whole course as `name_course`. Where items have more or fewer
    numbers of a name, NaN fills up. `failed` tells by its number why an item is missing, `said`
    what is to be known beside an item's numbers, `info["left_out"]` what could not be put together.
    """

    kind: ClassVar[str] = "sweep"

    axes: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    done: np.ndarray
    info: dict[str, Any]
    described: dict[str, tuple[tuple[str, ...], str, str]]
    units: dict[str, str]
    labels: dict[str, list[str]]
    failed: dict[int, str]
    coordinates: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    input: str = ""
    said: dict[int, list[str]] = dataclasses.field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What items say, once, each with the items that do."""
        return [f"{text} ({self._which(items)})" for text, items in self._by_text().items()]

    def _by_text(self) -> dict[str, list[int]]:
        """Numbers of the items that say the same."""
        texts: dict[str, list[int]] = {}
        for index, told in self.said.items():
            for text in told:
                texts.setdefault(text, []).append(index)
        return texts

    def _which(self, items: list[int]) -> str:
        if len(items) == np.sum(self.done):
            return "all items"
        shown = ", ".join(map(str, items[: tables.MOST_VALUES]))
        more = len(items) - tables.MOST_VALUES
        return f"item{'s' * (len(items) > 1)} {shown}" + (f" and {more} more" if more > 0 else "")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.done.shape

    def dataset(self) -> io.Dataset:
        over = tuple(self.axes)
        v = {
            key: io.Variable(numbers, (key,), self.units[key], key)
            for key, numbers in self.axes.items()
        }
        for name, points in self.coordinates.items():
            v[name] = io.Variable(points, (name,), "a.u. time" if name == "time" else "1", name)
        v[DONE] = io.Variable(self.done.astype(np.int8), over, "1", "whether the item is there")
        for name, data in self.values.items():
            dims, units, long_name = self.described[name]
            v[name] = io.Variable(data, (*over, *dims), units, long_name)
        attributes = {
            "kind": self.kind,
            "info": self.info,
            "input": self.input,
            "labels": self.labels,
            "failed": self.failed,
            "notes": self.said,
            "order": list(self.values),  # files have their names by the alphabet
        }
        return io.Dataset(v, attributes)

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Sweep:
        v = dict(data.variables)
        done = v.pop(DONE)
        over = {key: v.pop(key) for key in done.dims}
        coordinates = {name: v.pop(name).data for name in list(v) if v[name].dims == (name,)}
        n = len(done.dims)
        order = data.attributes.get("order", "[]")  # older files have none
        order = json.loads(order) if isinstance(order, str) else order
        v = {name: v[name] for name in (*(name for name in order if name in v), *v)}
        return cls(
            {key: item.data for key, item in over.items()},
            {name: item.data for name, item in v.items()},
            done.data.astype(bool),
            decoded(data.attributes["info"]),
            {name: (item.dims[n:], item.units, item.long_name) for name, item in v.items()},
            {key: item.units for key, item in over.items()},
            decoded(data.attributes["labels"]),
            {int(k): reason for k, reason in decoded(data.attributes["failed"]).items()},
            coordinates,
            str(data.attributes["input"]),
            # Older files have none.
            {int(k): told for k, told in decoded(data.attributes.get("notes", "{}")).items()},
        )

    @property
    def few(self) -> dict[str, np.ndarray]:
        """Values that are a number or a few numbers for each item."""
        n = self.done.ndim
        return {
            name: data
            for name, data in self.values.items()
            if not name.endswith(COURSE) and np.prod(data.shape[n:]) <= tables.MOST_VALUES
        }

    def numbers(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "items": int(self.done.size),
            "done": int(np.sum(self.done)),
            "failed": {str(index): reason for index, reason in self.failed.items()},
            "axes": {key: self.labels.get(key, x) for key, x in self.axes.items()},
            "notes": {str(index): told for index, told in self.said.items()},
            "units": self.units,
            "values": self.few,
            "info": self.info,
        }

    def summary(self) -> str:
        columns = {
            (name if data.ndim == self.done.ndim else f"{name} {i}"): column
            for name, data in self.few.items()
            for i, column in enumerate(data.reshape(self.done.size, -1).T)
        }
        grids = [self._grid(group) for group in self._groups(columns)]
        hidden = tables.columns("not shown", "")
        for name, data in self.values.items():
            if name not in self.few and not name.endswith(COURSE):
                each = int(np.prod(data.shape[self.done.ndim :]))
                hidden.add_row(name, f"{each} numbers for each item")
        failures = tables.columns("failed", "")
        for index, reason in self.failed.items():
            failures.add_row(str(index), reason)
        notes = tables.columns("notes")
        for note in self.notes:
            notes.add_row(note)
        how = tables.columns("made with", "")
        for key, value in tables.facts(self.info).items():
            how.add_row(key.replace("_", " "), value)
        more = self.done.size - MOST_ROWS
        title = f"sweep over {', '.join(self.axes)}: {np.sum(self.done)} of {self.done.size} items"
        title += f" (the first {MOST_ROWS} are shown)" if more > 0 else ""
        return tables.rendered(title, *grids, hidden, failures, notes, how)

    def _groups(self, columns: dict[str, np.ndarray]) -> list[dict[str, list[str]]]:
        """Columns as text, as many together as a line can hold."""
        there = self.done.reshape(-1)[:MOST_ROWS]
        room = tables.width() - sum(len(text) + 3 for text in ("item ", *self._where(there)))
        groups: list[dict[str, list[str]]] = [{}]
        left = room
        for name, column in columns.items():
            cells = [
                f"{x:.6g}" if here and x == x else "–"
                for x, here in zip(column, there, strict=False)
            ]
            wide = max(map(len, (name, *cells))) + 3
            if groups[-1] and wide > left:
                groups.append({})
                left = room
            groups[-1][name] = cells
            left -= wide
        return groups

    def _where(self, there: np.ndarray) -> list[str]:
        """The longest text in the column of each key."""
        places = [np.unravel_index(index, self.shape) for index in range(len(there))]
        return [
            max((self.title(key), *(self.label(key, int(p[a])) for p in places)), key=len)
            for a, key in enumerate(self.axes)
        ]

    def _grid(self, cells: dict[str, list[str]]) -> Table:
        grid = tables.columns("item", *(self.title(key) for key in self.axes), *cells)
        for index in range(min(self.done.size, MOST_ROWS)):
            place = np.unravel_index(index, self.shape)
            where = [self.label(key, int(i)) for key, i in zip(self.axes, place, strict=True)]
            grid.add_row(str(index), *where, *(column[index] for column in cells.values()))
        return grid

    def title(self, key: str) -> str:
        """A key with its unit."""
        unit = self.units[key]
        return key if unit in ("1", "a.u.") else f"{key} ({unit})"

    def label(self, key: str, place: int) -> str:
        return self.labels[key][place] if key in self.labels else f"{self.axes[key][place]:.6g}"

    def __repr__(self) -> str:
        return self.summary()


def require_axes(sweep: Sweep, most: int) -> None:
    if len(sweep.axes) > most:
        raise checks.InputError(
            "sweep",
            f"must go over one or two keys to be drawn, but goes over {len(sweep.axes)}: "
            "to_xarray() has them all",
        )
