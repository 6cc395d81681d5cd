"""Numbers for people and for programs: tables as text, and plain values for JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.table import Table

LOG_WIDTH = 120
MOST_VALUES = 16  # longer arrays are not for a table or a line of JSON


def columns(first: str, *others: str) -> Table:
    """An empty table; without headings if none is given."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD)
    grid.show_header = any((first, *others))
    grid.add_column(first, overflow="fold")  # what is too long goes on in the next line
    for name in others:
        grid.add_column(name, justify="right" if name else "left", overflow="fold")
    return grid


def width() -> int:
    """Letters in a line: of the terminal, or of a log."""
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else LOG_WIDTH


def table(title: str, rows: dict[str, str]) -> str:
    """Two columns, as text."""
    grid = columns("", "")
    for key, value in rows.items():
        grid.add_row(key, value)
    return rendered(title, grid)


def rendered(title: str, *parts: Table) -> str:
    """As text: styled on a terminal, plain in a log, never cut off."""
    from rich.console import Console, Group
    from rich.text import Text

    console = Console(width=width())
    with console.capture() as captured:
        console.print(Text(title, style="bold"))
        console.print(Group(*(part for part in parts if part.row_count)), end="")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def facts(info: dict[str, Any], without: Any = ()) -> dict[str, str]:
    """What is known about a result, as text with short numbers; what is not known is left out."""
    return {
        key: short(value) for key, value in info.items() if key not in without and not _empty(value)
    }


def _empty(value: Any) -> bool:
    return value is None or value == "" or value == [] or value == {}


def short(value: Any, digits: int = 6) -> str:
    if isinstance(value, list) and all(isinstance(item, float) for item in value):
        if len(value) > MOST_VALUES:
            return f"{len(value)} values, the last {short(value[-1])}"
        return ", ".join(f"{item:.3g}" for item in value)
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def as_json(value: dict[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(_plain(value))


def _plain(value: Any) -> Any:
    """Plain numbers and lists; what JSON has no number for becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, complex | np.complexfloating):
        return [_plain(value.real), _plain(value.imag)]
    return value
