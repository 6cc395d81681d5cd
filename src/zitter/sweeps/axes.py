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
from zitter.cases.base import SETTINGS
from zitter.config.document import SCAN, inline, toml_value

MOST = 100_000  # values of one axis, and items of a sweep: more were hardly meant
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
    return _axis(key, _listed(given) if ":" not in given else None, given, table)


def in_file(table: dict[str, Any]) -> list[Axis]:
    """What the section [scan] of a file goes over: lists, or ranges in the words of `--over`.

    [scan]
    laser.intensity = "1e13:1e15:log:32"
    laser.cep = [0, 0.5, 1]
    """
    found = []
    for key, given in _flat(table.get(SCAN, {})):
        if not key or not isinstance(given, list | str):
            raise checks.InputError(
                f"{SCAN}.{key}".strip("."),
                'must be a list of values or a range like "1e13:1e15:log:32", but is '
                f"{checks.shown(given)}",
            )
        if key.split(".")[0] == SCAN:
            raise checks.InputError(
                f"{SCAN}.{key}",
                f"must be a key of the case, like laser.intensity, but is one of [{SCAN}] itself",
            )
        try:
            if isinstance(given, list):
                found.append(_axis(key, given, inline(given), table))
            else:
                found.append(_axis(key, None, given, table))
        except checks.InputError as error:  # said of the key by itself
            raise checks.InputError(
                f"{SCAN}.{key}", error.message.removeprefix(f"{key} ")
            ) from None
    return found


def _flat(table: Any, before: str = "") -> list[tuple[str, Any]]:
    """Dotted keys and their values: TOML reads them as tables in tables."""
    if not isinstance(table, dict):
        return [(before, table)]
    inner = [_flat(value, f"{before}.{key}".strip(".")) for key, value in table.items()]
    return [pair for pairs in inner for pair in pairs]


def _axis(key: str, values: list[Any] | None, given: str, table: dict[str, Any]) -> Axis:
    """Of values, or of the range that is given."""
    if values is None:
        pieces = [piece.strip() for piece in given.split(":")]
        if len(pieces) != 4:
            raise checks.InputError(
                "--over", f'{key} must be first:last:lin:count or a list, but is "{given}"'
            )
        values = _ranged(key, *pieces)
    if not values:
        raise checks.InputError("--over", f"{key} must have values, but has none")
    name = key.split(".")[0]
    if name in SETTINGS:
        raise checks.InputError(
            "--over",
            f"{key} must be the same for all items, but is to vary: one sweep or run for each "
            f"would do, with --{name} and an --out of its own",
        )
    own = _found(table, key)
    # A section is a table; inside it another name or table may stand instead.
    if isinstance(own, dict) and any(
        not isinstance(v, dict) and ("." not in key or not isinstance(v, str)) for v in values
    ):
        inside = next((name for name in own if name != "type"), "key")
        raise checks.InputError(
            "--over",
            f"{key} must be a key with a value, but is a table: name a key in it, such as "
            f"{key}.{inside}",
        )
    unit = _split(own)[1]
    if unit:
        values = [f"{inline(v)} {unit}" if _plain(v) else v for v in values]
    if len(values) != len({_meaning(value) for value in values}):
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


def _meaning(value: Any) -> Any:
    """The same for 1 and 1.0, and for lists of them."""
    if isinstance(value, list):
        return tuple(map(_meaning, value))
    number, unit = _split(value)
    return inline(value) if number is None else (number, unit)


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
