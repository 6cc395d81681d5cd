"""What people see of a run while it is on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from zitter import processes


class _Terminal:
    """stderr as it is now, which ends no run when somebody closes the window.

    While a bar is shown, rich puts itself in the place of `sys.stderr`: asked for anew, it would be
    given its own words without end.
    """

    def __init__(self) -> None:
        self.stream = sys.stderr

    encoding = property(lambda self: self.stream.encoding)

    def isatty(self) -> bool:
        return self.stream.isatty()

    def fileno(self) -> int:
        return self.stream.fileno()

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self.stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self.stream.flush()


@contextlib.contextmanager
def shown(show: bool, label: str, total: int, done: int) -> Iterator[Callable[[int], None]]:
    if not show or not processes.first() or os.environ.get("ZITTER_PROGRESS") == "0":
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    terminal: Any = _Terminal()
    with Progress(*columns, console=Console(file=terminal)) as bar:
        task = bar.add_task(label, total=total, completed=done)
        yield lambda n: bar.update(task, completed=n)
