"""What a sweep goes over: `laser.intensity=1e13:1e15:log:32`, or values one by one."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from zitter import checks
from zitter.config.document import inline, toml_value

MOST = 100_000  # values of one axis: more were hardly meant
EXAMPLE = "laser.intensity=1e13:1e15:log:32 or laser.cep=0,0.5,1"
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")


@dataclasses.dataclass(frozen=True)
class Axis:
    """A key of the file, and the values it takes, as TOML has them."""

    key: str
    values: tuple[Any, ...]

    def setting(self, index: int) -> str:
        """For `--set`."""
        value = self.values[index]
        return f"{self.key}={json.dumps(value) if isinstance(value, str) else inline(value)}"

    @property
    def unit(self) -> str:
        """The unit that all values have in common; "" where they have none."""
        found = {_split(value)[1] for value in self.values}
        return found.pop() if len(found) == 1 else ""

    @property
    def numbers(self) -> np.ndarray | None:
        """The values without their unit; None where they are no numbers of one unit."""
        pairs = [_split(value) for value in self.values]
        if len({unit for _, unit in pairs}) > 1 or any(number is None for number, _ in pairs):
            return None
        return np.array([number for number, _ in pairs])

    @property
    def labels(self) -> list[str]:
        return [value if isinstance(value, str) else inline(value) for value in self.values]


def parse(text: str, table: dict[str, Any]) -> Axis:
    """`key=first:last:lin:count`, with log for equal ratios, or `key=value,value,…`.

    Values without a unit have that of the file's own value.
    """
    key, equals, given = text.partition("=")
    key = key.strip()
    if not equals or not key or not given.strip():
        raise checks.InputError("--over", f'must be like {EXAMPLE}, but is "{text}"')
    pieces = given.split(":")
    if len(pieces) == 1:
        values = _listed(given)
    elif len(pieces) == 4:
        values = _ranged(key, *(piece.strip() for piece in pieces))
    else:
        raise checks.InputError(
            "--over", f'{key} must be first:last:lin:count or a list, but is "{given}"'
        )
    unit = _split(_found(table, key))[1]
    if unit:
        values = [f"{inline(v)} {unit}" if _plain(v) else v for v in values]
    if len(values) != len({inline(value) for value in values}):
        raise checks.InputError("--over", f'{key} must not repeat a value, but is "{given}"')
    return Axis(key, tuple(values))


def _ranged(key: str, first: str, last: str, spacing: str, count: str) -> list[Any]:
    """Whole numbers stay whole where all are."""
    if spacing not in ("lin", "log"):
        raise checks.InputError("--over", f'{key} must be spaced by lin or log, but is "{spacing}"')
    if not checks.is_count(count) or not 2 <= int(count) <= MOST:
        raise checks.InputError(
            "--over", f'{key} must have from 2 to {MOST} values, but "{count}" is asked for'
        )
    (low, unit), (high, other) = _split(first), _split(last)
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        raise checks.InputError(
            "--over", f'{key} must go from number to number, but is "{first}:{last}"'
        )
    if unit and other and unit != other:
        raise checks.InputError("--over", f"{key} must have one unit, but has {unit} and {other}")
    unit = unit or other
    if spacing == "log" and not (low > 0 and high > 0):
        raise checks.InputError(
            "--over", f"{key} must be positive to be spaced by log, but is {first}:{last}"
        )
    spaced = np.linspace if spacing == "lin" else np.geomspace
    numbers = [float(f"{x:.15g}") for x in spaced(low, high, int(count))]
    whole = checks.is_count(first) and checks.is_count(last) and all(x == round(x) for x in numbers)
    values = [int(x) for x in numbers] if whole else numbers
    return [f"{inline(x)} {unit}" for x in values] if unit else values


def _listed(given: str) -> list[Any]:
    """TOML values; whatever is none is text, so that units need no quotes."""
    whole = toml_value(f"[{given}]")
    return whole if isinstance(whole, list) else [toml_value(piece) for piece in given.split(",")]


def _split(value: Any) -> tuple[float | None, str]:
    """(number, unit) of a number or of text like "800 nm"; (None, "") of anything else."""
    if _plain(value):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1]), match[2]) if match else (None, "")


def _plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _found(table: Any, key: str) -> Any:
    """The file's own value, None where it has none."""
    for name in key.split("."):
        if isinstance(table, dict):
            table = table.get(name)
        elif isinstance(table, list) and checks.is_count(name) and int(name) < len(table):
            table = table[int(name)]
        else:
            return None
    return table


def shape(axes: Sequence[Axis]) -> tuple[int, ...]:
    return tuple(len(axis.values) for axis in axes)
