"""Disks that fail, and disks of a process that is killed, at a chosen system call."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zitter import files


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


class Watched(files.Disk):
    """Counts what is asked of it, by name and file."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.names: dict[int, str] = {}

    def before(self, call: str, path: Any) -> None:
        self.calls.append((call, str(path)))

    def folder(self, path: Path) -> None:
        self.before("folder", path)
        super().folder(path)

    def create(self, path: Path) -> int:
        self.before("create", path)
        handle = super().create(path)
        self.names[handle] = path.name
        return handle

    def write(self, handle: int, data: Any, offset: int) -> int:
        self.before("write", self.names[handle])
        return super().write(handle, data, offset)

    def append(self, path: Path, data: bytes) -> None:
        self.before("append", path)
        super().append(path, data)

    def sync(self, handle: int) -> None:
        self.before("sync", self.names[handle])
        super().sync(handle)

    def sync_folder(self, path: Path) -> None:
        self.before("sync_folder", path)
        super().sync_folder(path)

    def replace(self, source: Path, target: Path) -> None:
        self.before("replace", target)
        super().replace(source, target)

    def remove(self, path: Path) -> None:
        self.before("remove", path)
        super().remove(path)

    def moments(self) -> list[int]:
        """Numbers of calls that differ: of the writes to one file the first and the last."""
        calls = [("", ""), *self.calls, ("", "")]
        inside = lambda k: calls[k][0] == "write" and calls[k - 1] == calls[k] == calls[k + 1]  # noqa: E731
        return [k - 1 for k in range(1, len(calls) - 1) if not inside(k)]


class Failing(Watched):
    """From call number k on there is no space; removing works."""

    def __init__(self, k: int, number: int = errno.ENOSPC):
        super().__init__()
        self.k, self.number = k, number

    def before(self, call: str, path: Any) -> None:
        super().before(call, path)
        if len(self.calls) > self.k and call != "remove":
            raise OSError(self.number, os.strerror(self.number), str(path))


class Killing(Watched):
    """The process is killed at call number k, half-way through it if it writes.

    What would run afterwards (`finally`, `with`) finds a disk that does nothing, so that the disk
    stays as SIGKILL would leave it.
    """

    def __init__(self, k: int):
        super().__init__()
        self.k = k

    def before(self, call: str, path: Any) -> None:
        super().before(call, path)
        if len(self.calls) > self.k:
            raise Killed

    def write(self, handle: int, data: Any, offset: int) -> int:
        if len(self.calls) == self.k:
            files.Disk.write(self, handle, data[: len(data) // 2], offset)
        return super().write(handle, data, offset)


@contextlib.contextmanager
def put(disk: files.Disk) -> Iterator[files.Disk]:
    """All files of this process go through `disk`."""
    before, files.disk = files.disk, disk
    try:
        yield disk
    finally:
        files.disk = before
