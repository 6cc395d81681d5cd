"""Signals that ask a run to stop."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

from zitter import processes


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Signals that ask to stop set a flag while the run is on; a second SIGINT ends it at once."""
    flag: list[int] = []

    def remember(number, frame):
        if flag and number == signal.SIGINT:
            raise KeyboardInterrupt
        flag.append(number)

    previous = {}
    for number in processes.stopping():
        with contextlib.suppress(ValueError):  # not in the main thread: leave signals alone
            previous[number] = signal.signal(number, remember)
    try:
        yield lambda: bool(flag)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
