"""Every kind of run on disks that fail, in this process, and then resumed.

A run survives if it ends with status 1 and one sentence (or not at all: a log that cannot be
written ends nothing), leaves no file half written, and gives, resumed, the bits of a run that
nobody disturbed and no other files.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import zitter as zt
from reliability.disks import Failing, Watched, put
from reliability.runs import Run, same

SIZES = (0, 500, 2000, 4000, 8000, 12000)  # bytes that a file may have, from none to most of them


class ReadOnly(Failing):
    """From call number k on nothing can be changed, and nothing be removed."""

    def __init__(self, k: int):
        super().__init__(k, errno.EROFS)

    def before(self, call: str, path: Any) -> None:
        super().before(call, path)
        if len(self.calls) > self.k:
            raise OSError(self.number, os.strerror(self.number), str(path))


class Gone(Watched):
    """A folder is removed after so many files have come to their names."""

    def __init__(self, folder: Path, moment: int):
        super().__init__()
        self.folder_to_remove, self.moment = folder, moment

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        if sum(call == "replace" for call, _ in self.calls) == self.moment:
            shutil.rmtree(self.folder_to_remove)


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """RLIMIT_FSIZE, as queues set it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Faults:
    """Disks of one kind of run that fail, with what was wrong about it."""

    def __init__(self, kind: str, folder: Path):
        self.kind, self.folder, self.wrong = kind, folder, []
        whole, disk = Run(kind, folder / "whole"), Watched()
        with put(disk):
            code, said = _told(whole.status)
        assert code == 0 and not whole.leftovers(), said
        self.numbers, self.disk = whole.numbers(), disk

    @property
    def out(self) -> Path:
        return Run(self.kind, self.folder / "disturbed").out

    def moments(self) -> list[int]:
        """Every call that a full disk may refuse."""
        return [k for k, (call, _) in enumerate(self.disk.calls) if call != "remove"]

    def replacements(self) -> int:
        return sum(call == "replace" for call, _ in self.disk.calls)

    def full_disks(self, moments: Iterable[int]) -> tuple[int, int]:
        """(tried, survived): no space from one of these calls on."""
        return self._tried("full disk", moments, lambda k: put(Failing(k)), errno.ENOSPC)

    def read_only_disks(self, moments: Iterable[int]) -> tuple[int, int]:
        """The same, of a disk that becomes read-only."""
        return self._tried("read-only disk", moments, lambda k: put(ReadOnly(k)), errno.EROFS)

    def limits_of_size(self, sizes: Iterable[int]) -> tuple[int, int]:
        """The same, where no file may have more bytes than that."""
        return self._tried("limit of size", sizes, limited, errno.EFBIG)

    def removed_folders(self, moments: Iterable[int]) -> tuple[int, int]:
        """The same, where the folder is removed after so many files."""
        gone: Callable[[int], Any] = lambda k: put(Gone(self.out, k))  # noqa: E731
        return self._tried("removed folder", moments, gone, errno.ENOENT)

    def _tried(
        self,
        what: str,
        values: Iterable[int],
        disturbance: Callable[[int], AbstractContextManager[Any]],
        number: int,
    ) -> tuple[int, int]:
        tried = survived = 0
        for value in values:
            tried += 1
            if found := self._against(disturbance(value), number):
                self.wrong.append([what, value, found])
            survived += not found
            shutil.rmtree(self.folder / "disturbed")
        return tried, survived

    def _against(self, disturbance: AbstractContextManager[Any], number: int) -> str:
        """What is to be said against a disturbed run; nothing where it survived."""
        run = Run(self.kind, self.folder / "disturbed")
        run.command()  # writes the input
        with disturbance:
            code, said = _told(run.status)
        lines = [line for line in said.splitlines() if not line.startswith("warning: ")]
        sentence = len(lines) == 1 and lines[0].startswith("error: ")
        why = said
        if "items failed, as" in said:  # of a sweep, which goes on without them
            why = (run.out / "log.txt").read_text()
        told = os.strerror(number) in why
        if code and (code != 1 or not sentence or not told):
            return f"status {code}: {said[-300:]}"
        if number != errno.EROFS and any(run.out.glob("**/.*.tmp")):
            return "temporary files were left"
        if (run.out / "result.h5").exists():
            zt.load(run.out)
        code, said = _told(run.status, "--resume")
        if code:
            return f"not resumed: {said[-300:]}"
        if not same(run.numbers(), self.numbers):
            return "other numbers"
        return f"left {run.leftovers()}" if run.leftovers() else ""


def _told(status: Callable[..., int], *more: str) -> tuple[int, str]:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        return status(*more), said.getvalue()


def spread(values: list[int], count: int | None) -> list[int]:
    """About so many of them, the first and the last among them; all where that is None."""
    if count is None or count >= len(values):
        return values
    return sorted({values[i * (len(values) - 1) // (count - 1)] for i in range(count)})
