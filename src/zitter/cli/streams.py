"""What a command prints: words on stderr that nobody can read end no run, and results that cannot
be printed end in a sentence."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zitter import checks


class Unprintable(checks.RunError):
    """Standard output takes nothing: its disk is full, or its reader has gone."""


class _Stream:
    """A stream as it was, but for what happens when it fails."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        with self._met():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._met():
            self.stream.flush()

    @contextlib.contextmanager
    def _met(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Python would try what is left once more when it ends.
            self.stream = _nowhere()
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Of words about a run: the log has them."""


class _Output(_Stream):
    problem = ""

    def _failed(self, error: OSError) -> None:
        self.problem = f"cannot write to standard output: {error.strerror or error}"

    @contextlib.contextmanager
    def _met(self) -> Iterator[None]:
        with super()._met():
            yield
        if self.problem:  # also later on: who has tried first may not have told it
            raise Unprintable(self.problem)


def prepare() -> None:
    """For a command as a whole."""
    # A file that got the number of a closed stream would be sent what libraries say.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, kind in (("stdout", _Output), ("stderr", _Stream)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # a terminal may not know our characters
            stream.reconfigure(errors="replace")
        setattr(sys, name, kind(stream or _nowhere()))


def move_stdout(handle: int) -> None:
    """To another number, under the same rules."""
    before = sys.stdout
    sys.stdout = _Output(os.fdopen(handle, "w", encoding=before.encoding, errors=before.errors))


def release() -> None:
    """At the end, when Python flushes what is left."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        setattr(sys, name, stream.stream if isinstance(stream, _Stream) else stream)


@contextlib.contextmanager
def of_result(path: Path) -> Iterator[None]:
    """What is printed about a result that is there."""
    try:
        yield
        sys.stdout.flush()
    except Unprintable as error:
        raise Unprintable(f"{error}. The result is whole: {path}") from None


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8")
