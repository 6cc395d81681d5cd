"""One run per folder: a lock that ends with its process, however that ends.

The kernel holds it (`flock` on the file ".lock"), so that a killed run leaves none behind; the file
says who holds it. Where a network file system does not pass locks on to its server, it keeps the
processes of one machine apart, not those of two: nobody removes what may be another machine's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from zitter import checks, files

NAME = ".lock"
PATIENCE = 10.0  # seconds that who shares a folder waits for others to begin
_HOLDER = re.compile(r"process (\d+) on (.*), since ")
# Of file systems that know no locks: better a run without than none.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class InUse(checks.InputError):
    """Another run is at work in a folder."""


class Taken(checks.RunError):
    """A folder was removed under a run, and what has its name now may be another one's."""


@dataclasses.dataclass
class Lock:
    """A folder that is held. Its handles keep the kernel from giving their numbers to others."""

    path: Path
    how: int
    handle: int
    folder: int

    @property
    def ours(self) -> bool:
        """Whether nobody has removed the folder, or the lock, and made it anew."""
        return _is(self.path.parent, self.folder) and _is(self.path, self.handle)

    def take_again(self) -> None:
        """Hold a folder that was removed: made anew here, unless another one was faster."""
        try:
            fresh = _taken(self.path, "", self.how, None)
        except InUse:
            raise self.taken() from None
        old = self.folder, self.handle
        self.folder, self.handle = fresh.folder, fresh.handle
        for handle in old:
            os.close(handle)

    def taken(self) -> Taken:
        return Taken(
            f"the run broke off: {self.path.parent} was removed while it was on, and what is there "
            "now is not its own. Nothing more is written there."
        )

    def release(self, made: list[Path]) -> None:
        """The last one removes the file; who waits for it meanwhile will find that it is gone."""
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self.ours:
                    files.disk.remove(self.path)
                    for place in made:  # if nothing was put into it
                        place.rmdir()
        finally:
            os.close(self.folder)
            os.close(self.handle)


def _is(path: Path, handle: int) -> bool:
    """Whether a path is what a handle was opened for; what is not there is nobody else's."""
    try:
        there = os.stat(path)
    except OSError:
        return True
    try:
        return os.path.samestat(there, os.fstat(handle))
    except OSError:  # of a folder that another machine has removed
        return False


Wait = Callable[[str], None]
_held_here: list[Lock] = []  # by this process


def ours(place: Path) -> bool:
    """Whether nobody has removed a folder that this process holds around a place and made it
    anew."""
    return all(lock.ours for lock in _around(place))


def require_ours(place: Path, there: bool = False) -> None:
    """Before something is written or removed; of folders that are gone, too, if they have to be
    `there`."""
    for lock in _around(place):
        folder = lock.path.parent
        if there and not folder.is_dir():
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
        if not lock.ours:
            raise lock.taken()


def take_again(place: Path) -> None:
    """Before a result is written, which is not to be lost: a folder that is gone is made anew, and
    is this process's as before."""
    for lock in _around(place):
        if not lock.path.parent.is_dir():
            lock.take_again()
    require_ours(place)


def _around(place: Path) -> list[Lock]:
    return [lock for lock in _held_here if place.is_relative_to(lock.path.parent)]


@contextlib.contextmanager
def held(folder: Path, key: str, wait: Wait | None = None) -> Iterator[None]:
    """Keep a folder for this process; refuse, in the name of `key`, while another one has it.

    With `wait`, which is told whom it waits for, it waits instead.
    """
    with _held(folder, key, fcntl.LOCK_EX, wait):
        yield


@contextlib.contextmanager
def shared(folder: Path, key: str, alone: Callable[[], None]) -> Iterator[None]:
    """Keep a folder together with others that do; `alone` is called if there are none yet."""
    try:
        with _held(folder, key, fcntl.LOCK_EX, None):
            alone()
    except InUse:
        pass
    with contextlib.ExitStack() as stack:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                stack.enter_context(_held(folder, key, fcntl.LOCK_SH, None))
                break
            except InUse:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)  # another one that begins is `alone` just now
        yield


@contextlib.contextmanager
def _held(folder: Path, key: str, how: int, wait: Wait | None) -> Iterator[None]:
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    lock = _taken(folder / NAME, key, how, wait)
    _held_here.append(lock)
    try:
        yield
    finally:
        _held_here.remove(lock)
        lock.release(made)


def clear(folder: Path) -> None:
    """Remove the locks of killed processes in a folder of them."""
    for place in folder.glob("*"):
        with contextlib.suppress(OSError):
            _remove_abandoned(place / NAME)
        with contextlib.suppress(OSError):  # it is held
            place.rmdir()
    with contextlib.suppress(OSError):  # others are held
        folder.rmdir()


def _remove_abandoned(path: Path) -> None:
    """A lock that was taken on this machine and is held no more, as the kernel knows; of others,
    what `files` can tell."""
    match = _HOLDER.match(files.kept_text(path))
    process, host = match.groups() if match else ("0", "")
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            known = host == socket.gethostname()[:64]
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                return
            known = False
        if known or files.is_abandoned(path, host, process):
            files.disk.remove(path)


def _taken(path: Path, key: str, how: int, wait: Wait | None) -> Lock:
    while True:
        with contextlib.ExitStack() as opened:
            handle = _opened(path)
            opened.callback(os.close, handle)
            if not _locked(path, handle, key, how, wait):
                continue
            try:
                folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:  # removed just now
                continue
            opened.pop_all()
            return Lock(path, how, handle, folder)


def _opened(path: Path, tries: int = 100) -> int:
    """The file of a lock, in a folder that who had it before may be removing just now."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except (FileNotFoundError, FileExistsError):  # it was there when it was to be made
            tries -= 1
            if not tries:
                raise


def _locked(path: Path, handle: int, key: str, how: int, wait: Wait | None) -> bool:
    """Whether the lock is taken; not if the file was removed before that."""
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        refusal = _in_use(path.parent, handle, key)
        if wait is None:
            raise refusal from None
        wait(_holder(handle))
        fcntl.flock(handle, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    try:
        if not os.path.samestat(os.stat(path), os.fstat(handle)):
            return False
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # a full disk: held all the same
        os.ftruncate(handle, 0)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        told = f"process {os.getpid()} on {socket.gethostname()[:64]}, since {since}"
        os.pwrite(handle, told.encode(), 0)
    return True


def _in_use(folder: Path, handle: int, key: str) -> InUse:
    return InUse(
        key, f"must not be in use by another run, but {folder} is taken by {_holder(handle)}"
    )


def _holder(handle: int) -> str:
    told = os.pread(handle, 200, 0).decode(errors="replace")
    return " ".join(told.split()) or "another process"
