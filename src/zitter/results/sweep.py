"""What the items of a sweep gave, along the values that were varied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from zitter import checks, io, tables
from zitter.results.base import Result, decoded

DONE = "done"
COURSE = "_course"  # what names of courses in time end in
MOST_ROWS = 64


@dataclasses.dataclass(repr=False)
class Sweep(Result):
    """Values by name over the axes of a sweep, NaN where an item is missing.

    `axes` has the values of each key, without the unit they were given in, or their numbers where
    they are not numbers; `values[name]` the last values of observables, energies and errors, and of
    evolutions over the same times the whole course as `name_course`. `failed` tells by its number
    why an item is missing.
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
        }
        return io.Dataset(v, attributes)

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Sweep:
        v = dict(data.variables)
        done = v.pop(DONE)
        over = {key: v.pop(key) for key in done.dims}
        coordinates = {name: v.pop(name).data for name in list(v) if v[name].dims == (name,)}
        n = len(done.dims)
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
        grid = tables.columns("item", *(self.title(key) for key in self.axes), *columns)
        for index in range(min(self.done.size, MOST_ROWS)):
            place = np.unravel_index(index, self.shape)
            where = [self.label(key, int(i)) for key, i in zip(self.axes, place, strict=True)]
            there = self.done[place]
            cells = [f"{column[index]:.6g}" if there else "–" for column in columns.values()]
            grid.add_row(str(index), *where, *cells)
        failures = tables.columns("failed", "")
        for index, reason in self.failed.items():
            failures.add_row(str(index), reason)
        how = tables.columns("made with", "")
        for key, value in tables.facts(self.info).items():
            how.add_row(key.replace("_", " "), value)
        more = self.done.size - MOST_ROWS
        title = f"sweep over {', '.join(self.axes)}: {np.sum(self.done)} of {self.done.size} items"
        title += f" (the first {MOST_ROWS} are shown)" if more > 0 else ""
        return tables.rendered(title, grid, failures, how)

    def title(self, key: str) -> str:
        """A key with its unit."""
        unit = self.units[key]
        return key if unit in ("1", "a.u.") else f"{key} ({unit})"

    def label(self, key: str, place: int) -> str:
        return self.labels[key][place] if key in self.labels else f"{self.axes[key][place]:.6g}"

    def __repr__(self) -> str:
        return self.summary()


def assembled(
    axes: Sequence[Any],
    found: Sequence[Result | None],
    failed: dict[int, str],
    info: dict[str, Any],
    text: str,
) -> Sweep:
    """One result of many: `found` has them with the last axis running fastest."""
    over, units, labels = {}, {}, {}
    for axis in axes:
        numbers = axis.numbers
        over[axis.key] = np.arange(len(axis.values)) if numbers is None else numbers
        units[axis.key] = axis.unit or ("1" if numbers is None else "a.u.")
        if numbers is None:
            labels[axis.key] = axis.labels
    shape = tuple(len(axis.values) for axis in axes)
    done = np.array([result is not None for result in found]).reshape(shape)
    values, described, coordinates = {}, {}, {}
    for name, dims, unit, long_name, column in _columns(found, coordinates):
        values[name] = column.reshape(*shape, *column.shape[1:])
        described[name] = (dims, unit, long_name)
    return Sweep(
        over, values, done, info, described, units, labels, failed, coordinates, input=text
    )


def _columns(found: Sequence[Result | None], coordinates: dict[str, np.ndarray]) -> Iterator[Any]:
    """(name, dims, unit, long name, values of all items) of what every item has in one shape."""
    there = [result for result in found if result is not None]
    if not there:
        return
    rows_of = [_flat(result.numbers()) for result in there]
    lead = there[0].dataset().variables
    for name, value in rows_of[0].items():
        rows = [row.get(name) for row in rows_of]
        if all(row is not None and np.shape(row) == np.shape(value) for row in rows):
            about = lead.get(name)
            unit, long_name = (about.units, about.long_name) if about else ("", "")
            dims = tuple(f"{name}_{axis}" for axis in range(np.ndim(value)))
            yield name, dims, unit, long_name, _filled(found, rows)
    courses = [result.dataset().variables for result in there]
    if "time" not in lead or not all(_same(course.get("time"), lead["time"]) for course in courses):
        return
    coordinates["time"] = lead["time"].data
    for name, about in lead.items():
        rows = [course.get(name) for course in courses]
        if about.dims[:1] != ("time",) or name in ("time", "states"):
            continue
        if all(row is not None and row.data.shape == about.data.shape for row in rows):
            extra = tuple(f"{name}_{axis}" for axis in range(about.data.ndim - 1))
            data = _filled(found, [row.data for row in rows if row is not None])
            yield name + COURSE, ("time", *extra), about.units, about.long_name, data


def _same(one: io.Variable | None, other: io.Variable) -> bool:
    return one is not None and np.array_equal(one.data, other.data)


def _filled(found: Sequence[Result | None], rows: Sequence[Any]) -> np.ndarray:
    """The rows at their items, NaN at those that are missing."""
    there = np.asarray(rows)
    kind = there.dtype if there.dtype.kind in "fc" else np.float64
    whole = np.full((len(found), *there.shape[1:]), np.nan, kind)
    whole[[result is not None for result in found]] = there
    return whole


def _flat(numbers: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    """Numbers by name; those of a table by the names they have there, deeper ones with a prefix."""
    plain: dict[str, np.ndarray] = {}
    inner: dict[str, np.ndarray] = {}
    for name, value in numbers.items():
        if name in ("kind", "units", "info", "records"):
            continue
        if isinstance(value, dict):
            inner |= _flat(value, f"{prefix}{name}_" if depth else "", depth + 1)
            continue
        array = _array(value)
        if array is not None:
            # `time` is the axis of courses.
            plain[prefix + ("final_time" if name == "time" else name)] = array
    return plain | {name: array for name, array in inner.items() if name not in plain}


def _array(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "fciu" else None


def require_axes(sweep: Sweep, most: int) -> None:
    if len(sweep.axes) > most:
        raise checks.InputError(
            "sweep",
            f"must go over one or two keys to be drawn, but goes over {len(sweep.axes)}: "
            "to_xarray() has them all",
        )
