"""The one place where files are written: whole or not at all, and with a checksum if asked for.

A file is written under a temporary name beside its own, brought to the disk, and renamed. Whatever
the disk refuses on the way (no space, a limit, a folder that is gone) is one `OSError` that names
the file; what was there before is untouched.

HDF5 writes through a `Sink`, which never tells it of a failure: its library does not survive one
when it closes a file. The error is raised when HDF5 is done.

A checksum is a trailer behind the contents, where HDF5 does not look: "zitter", the length of the
contents and their digest. A program that changes the file cuts it off: then there is none.
Digests are of pieces, several at a time, since one core hashes more slowly than disks write.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import io
import os
import re
import secrets
import socket
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zitter import checks

TEMPORARY = ".*.tmp"  # how names of files look that are not whole yet
DAY = 86400.0  # seconds
# Of earlier versions they do not name the writer.
_WRITER = re.compile(r"(@(?P<host>[^@]+)@(?P<process>\d+)@|\.)[0-9a-f]{12}\.tmp$")
_MARK = b"zitter\x00\x02"
_TRAILER = struct.Struct(f"<{len(_MARK)}sQ32s")
_CHUNK = 2**22
_MANY = 2**26  # bytes that take a time worth telling
_THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4)
_SMALL = 2**16  # bytes: what HDF5 may want to read again are short tables


class Disk:
    """All that is asked of the disk, one system call each; tests put a failing one in its place."""

    def folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def write(self, handle: int, data: Any, offset: int) -> int:
        return os.pwrite(handle, data, offset)

    def append(self, path: Path, data: bytes) -> None:
        # A pipe that nobody reads would be waited for.
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        handle = os.open(path, how, 0o666)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def sync_folder(self, path: Path) -> None:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


disk = Disk()


class Sink(io.RawIOBase):
    """A file that takes all that is written and remembers the first error, see above."""

    def __init__(self, handle: int):
        self.handle, self.place, self.size = handle, 0, 0
        self.error: OSError | None = None
        self.lost: dict[int, bytes] = {}  # what came after the error, as far as HDF5 may read it

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self.place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.place}.get(whence, self.size)
        return self.place

    def tell(self) -> int:
        return self.place

    def truncate(self, size: int | None = None) -> int:
        self.size = self.place if size is None else size
        return self.size

    def readinto(self, buffer: Any) -> int:
        kept = self.lost.get(self.place, b"")
        found = kept if len(kept) == len(buffer) else os.pread(self.handle, len(buffer), self.place)
        buffer[: len(found)] = found
        self.place += len(found)
        return len(found)

    def write(self, data: Any) -> int:
        data = memoryview(data).cast("B")
        if self.error is None:
            try:
                self._put(data)
            except OSError as error:
                self.error = error
        if self.error is not None and len(data) < _SMALL:
            self.lost[self.place] = bytes(data)
        self.place += len(data)
        self.size = max(self.size, self.place)
        return len(data)

    def _put(self, data: memoryview) -> None:
        done = 0
        while done < len(data):
            done += disk.write(self.handle, data[done:], self.place + done)


@contextlib.contextmanager
def whole(
    path: str | os.PathLike[str], checksum: bool = False, before: Path | None = None
) -> Iterator[Sink]:
    """A file to be written, which takes the place of `path` only when the block succeeds.

    What had that name is kept as `before`, if given.
    """
    path = Path(path)
    if path.is_dir():
        raise checks.InputError("path", f'must name a file, but "{path}" is a folder')
    writer = f"{socket.gethostname()[:64]}@{os.getpid()}"
    temporary = path.parent / f".{path.name[:64]}@{writer}@{secrets.token_hex(6)}.tmp"
    try:
        disk.folder(path.parent)
        handle = disk.create(temporary)
        try:
            sink = Sink(handle)
            failed: Exception | None = None
            try:
                yield sink
            except Exception as error:
                failed = error
            if sink.error is not None:
                raise sink.error
            if failed is not None:
                raise failed
            os.ftruncate(handle, sink.size)
            if checksum:
                _write_trailer(sink)
            disk.sync(handle)
        finally:
            os.close(handle)
        if before is not None and path.exists():
            disk.replace(path, before)
        disk.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        # The temporary name says nothing to people.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            disk.remove(temporary)


def seconds_to_write(folder: Path, size: float) -> float:
    """Time for so many bytes with their checksums, from a few that are written without a name in
    the nearest folder there is; 0 where they are few, or none can be written there."""
    if size < _MANY:
        return 0.0
    try:
        folder = folder.absolute()
        while not folder.is_dir():
            folder = folder.parent
        # A disk may still be busy with what came before.
        return min(_seconds_of_trial(folder) for _ in range(2)) * size / _MANY
    except OSError:  # a run would say so
        return 0.0


def _seconds_of_trial(folder: Path) -> float:
    data = os.urandom(_CHUNK)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        tick = time.perf_counter()
        for _ in range(_MANY // _CHUNK):
            file.write(data)
        _digest(file.fileno(), _MANY)
        os.fsync(file.fileno())
        return time.perf_counter() - tick


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with whole(path) as file:
        file.write(text.encode())


def kept_text(path: Path) -> str:
    """What `write_text` wrote; a damaged file gives another text, which equals none that is looked
    for, and so does a pipe, which would be waited for.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        return ""
    return path.read_text(encoding="utf-8", errors="replace")


def append(path: Path, text: str) -> None:
    """A line of a log; a disk that does not take it ends no run, and a folder that somebody has
    removed is not made anew.
    """
    with contextlib.suppress(OSError):
        disk.append(path, text.encode())


def clear_temporary(*folders: Path, shared: bool = False) -> None:
    """Remove what a killed run was writing in these folders, and not in those inside them, which
    may be another run's.

    In `shared` folders others may be at work, on machines whose locks are not seen here: of files
    there the writer must be gone. Elsewhere nobody else may be at work.
    """
    for folder in folders:
        for file in folder.glob(TEMPORARY):
            match = _WRITER.search(file.name)
            if match is None:  # somebody else's
                continue
            host, process = match["host"] or "", match["process"] or "0"
            with contextlib.suppress(OSError):
                if not shared or is_abandoned(file, host, process):
                    disk.remove(file)


def tree(folder: Path) -> list[Path]:
    """A folder, and all inside it."""
    return [Path(place) for place, _, _ in os.walk(folder)]


def is_abandoned(path: Path, host: str, process: str) -> bool:
    """Whether who made a file is gone: a process of this machine that has ended, or one elsewhere
    of which nothing was seen for a day. Who asks is making none: one of the same number was another
    process, as in containers, where numbers come again."""
    if host == socket.gethostname()[:64]:
        if int(process) == os.getpid():
            return True
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # somebody else's, and alive
            pass
    return time.time() - path.stat().st_mtime > DAY


def reason(error: OSError) -> str:
    """What the disk refused, as a clause: "cannot write out/result.h5: No space left on device"."""
    what = error.strerror or str(error) or type(error).__name__
    return f"cannot write {error.filename}: {what}" if error.filename else what


def verify(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose contents are not those of its checksum; one without passes."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise checks.InputError("file", f'must be a file, but "{path}" is none')
        with open(path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - _TRAILER.size, 0))
            tail = file.read(_TRAILER.size)
            if tail.startswith(_MARK) and len(tail) == _TRAILER.size:
                _, length, digest = _TRAILER.unpack(tail)
                whole = length == end - _TRAILER.size and _digest(file.fileno(), length) == digest
            else:
                whole = not _is_cut(tail, end)
    except OSError as error:
        what = error.strerror or str(error)
        raise checks.InputError("file", f'must be readable, but "{path}" is not: {what}') from None
    if not whole:
        raise Damaged("file", f'must be as it was written, but "{path}" is damaged: its checksum '
                      "is another one")  # fmt: skip


def _is_cut(tail: bytes, end: int) -> bool:
    """Whether a file ends inside its trailer: with the mark and, as far as it goes, its place."""
    place = tail.rfind(_MARK)
    if place < 0:
        return False
    length = struct.pack("<Q", end - len(tail) + place)
    return tail[place + len(_MARK) :][: len(length)] == length[: len(tail) - place - len(_MARK)]


def has_checksum(path: str | os.PathLike[str]) -> bool:
    """Whether a file has one; `verify` compares it."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - _TRAILER.size, 0))
        return file.read(len(_MARK)) == _MARK


class Damaged(checks.InputError):
    """A file is not as it was written."""


def _write_trailer(sink: Sink) -> None:
    length = sink.size
    sink.seek(length)
    sink.write(_TRAILER.pack(_MARK, length, _digest(sink.handle, length)))
    if sink.error is not None:
        raise sink.error


def _digest(handle: int, length: int) -> bytes:
    """BLAKE2b of the first `length` bytes: of the digests of their pieces."""

    def piece(start: int) -> bytes:
        data = os.pread(handle, min(_CHUNK, length - start), start)
        return hashlib.blake2b(data, digest_size=32).digest()

    starts = range(0, length, _CHUNK)
    if len(starts) < 4:
        found = map(piece, starts)
    else:
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(piece, starts))
    return hashlib.blake2b(b"".join(found), digest_size=32).digest()


def _sync_folder(folder: Path) -> None:
    """So that the new name outlives a power cut, where the file system can promise that."""
    with contextlib.suppress(OSError):
        disk.sync_folder(folder)
