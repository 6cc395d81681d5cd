"""`zitter show`: the numbers of a result, each with what is known about its error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zitter import tables
from zitter.kinds import load
from zitter.results.base import Result


def show(path: Path, as_json: bool) -> int:
    file = path / "result.h5" if path.is_dir() else path
    result = load(path)
    print_result(result, file)
    if as_json:
        print_json({**result.numbers(), "file": str(file)})
    return 0


def print_result(result: Result, path: Path) -> None:
    print(path)
    print(result.summary())


def print_json(value: dict[str, Any]) -> None:
    print(tables.as_json(value))
