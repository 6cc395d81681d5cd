"""One result of the items of a sweep: what they have in common, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zitter import io
from zitter.results.base import Result
from zitter.results.sweep import COURSE, Sweep


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
    left_out: list[str] = []
    for name, dims, unit, long_name, column in _columns(found, coordinates, left_out):
        values[name] = column.reshape(*shape, *column.shape[1:])
        described[name] = (dims, unit, long_name)
    if left_out:
        info = info | {"left_out": "; ".join(left_out)}
    for key in ("mesh", "shares", "mesh_unused"):  # what all items say of it
        said = {str(result.info.get(key, "")) for result in found if result is not None}
        if not info.get(key) and len(said) == 1 and said != {""}:
            info = info | {key: said.pop()}
    notes = {n: result.notes for n, result in enumerate(found) if result is not None}
    said = {number: told for number, told in notes.items() if told}
    return Sweep(
        over, values, done, info, described, units, labels, failed, coordinates, text, said
    )


def _columns(
    found: Sequence[Result | None], coordinates: dict[str, np.ndarray], left_out: list[str]
) -> Iterator[Any]:
    """(name, dims, unit, long name, values of all items), in the order of the first that has it.

    What cannot be put together is said in `left_out`.
    """
    there = [result for result in found if result is not None]
    if not there:
        return
    numbers = [_flat(result.numbers()) for result in there]
    courses = [result.dataset().variables for result in there]
    for name, rows in _by_name(numbers).items():
        if len({np.ndim(row) for row in rows if row is not None}) > 1:
            left_out.append(f"{name}, whose shape is not alike in all items")
            continue
        about = next((course[name] for course in courses if name in course), None)
        unit, long_name = (about.units, about.long_name) if about else ("", "")
        column = _filled(found, rows)
        dims = tuple(f"{name}_{axis}" for axis in range(column.ndim - 1))
        yield name, dims, unit, long_name, column
    times = [course.get("time") for course in courses]
    lead = next((time for time in times if time is not None), None)
    if lead is None:
        return
    if not all(_same(time, lead) for time in times):
        left_out.append("courses in time, since items have other times than one another")
        return
    coordinates["time"] = lead.data
    own = [{name: one for name, one in course.items() if _in_time(name, one)} for course in courses]
    for name, rows in _by_name(own).items():
        about = next(row for row in rows if row is not None)
        if len({row.dims for row in rows if row is not None}) > 1:
            left_out.append(f"the course of {name}, whose shape is not alike in all items")
            continue
        data = _filled(found, [None if row is None else row.data for row in rows])
        extra = tuple(f"{name}_{axis}" for axis in range(data.ndim - 2))
        yield name + COURSE, ("time", *extra), about.units, about.long_name, data


def _by_name(items: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """What each item has by a name, None where it has none."""
    names = dict.fromkeys(name for item in items for name in item)
    return {name: [item.get(name) for item in items] for name in names}


def _in_time(name: str, one: io.Variable) -> bool:
    return one.dims[:1] == ("time",) and name not in ("time", "states")


def _same(one: io.Variable | None, other: io.Variable) -> bool:
    return one is not None and np.array_equal(one.data, other.data)


def _filled(found: Sequence[Result | None], rows: Sequence[Any]) -> np.ndarray:
    """The rows at their items; NaN at those that are missing, and after rows that are shorter."""
    arrays = [None if row is None else np.asarray(row) for row in rows]
    there = [array for array in arrays if array is not None]
    shape = np.max([array.shape for array in there], axis=0).astype(int).tolist()
    kind = np.result_type(*there)
    whole = np.full((len(found), *shape), np.nan, kind if kind.kind in "fc" else np.float64)
    places = [index for index, result in enumerate(found) if result is not None]
    for index, array in zip(places, arrays, strict=True):
        if array is not None:
            whole[(index, *map(slice, array.shape))] = array
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
