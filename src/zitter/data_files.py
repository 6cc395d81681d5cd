"""Files that others wrote: whatever a name leads to, the answer is their content or one sentence.

A pipe would be waited for without end, a device has no end, and a damaged file may declare more
numbers than any machine holds: all of it is found out before anything is read.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError  # of the head of an npy file
from typing import Any

import numpy as np

from zitter import checks, io

LARGEST_TEXT = 2**30  # bytes
# What readers raise where a file is not what its name or its head says.
FAULTS = (*io.UNREADABLE, EOFError, zipfile.BadZipFile, zlib.error, SyntaxError, TokenError)


def plain(path: str | os.PathLike[str], what: str = "a file", key: str = "file") -> Path:
    """The path, if it leads to a file that can be read: no folder, no pipe, no device."""
    found = Path(path)
    try:
        kind = found.stat().st_mode
        fault = "" if stat.S_ISREG(kind) else _SPECIAL.get(stat.S_IFMT(kind), "no file")
        if not fault and not os.access(found, os.R_OK):
            fault = "not to be read by you"
    except FileNotFoundError:
        fault = "no file"
    except (OSError, ValueError) as error:  # too long, a link to itself, a zero byte
        fault = f"no file ({getattr(error, 'strerror', None) or error})"
    if fault:
        shown = checks.cut(str(path), 200)
        raise checks.InputError(key, f'must name {what}, but "{shown}" is {fault}')
    return found


_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], what: str, key: str = "file") -> Iterator[Path]:
    """Inside, whatever goes wrong is the file's fault."""
    file = plain(path, what, key)
    try:
        yield file
    except checks.ZitterError:
        raise
    except FAULTS as error:
        # Only the system speaks to people; a reader's words are about its own variables.
        reason = getattr(error, "strerror", None)
        told = f'"{checks.cut(str(path), 200)}" is none or damaged'
        told = f"{told}: {reason}" if reason else told
        raise checks.InputError(key, f"must be {what}, but {told}") from None


@contextlib.contextmanager
def hdf5(path: str | os.PathLike[str], what: str, key: str = "file") -> Iterator[Any]:
    """An open HDF5 file, all of whose numbers fit the memory."""
    import h5py

    with reading(path, what, key) as file:
        if not h5py.is_hdf5(file):
            raise checks.InputError(key, f'must be {what}, but "{path}" is not HDF5')
        with h5py.File(file, "r") as data:
            io.require_memory(data, key)
            yield data


def numpy_arrays(path: str | os.PathLike[str], what: str, key: str = "file") -> dict[str, Any]:
    """The arrays of an npz file by name, or the one of an npy file under the name ""."""
    with reading(path, what, key) as file:
        if file.suffix == ".npy":
            with open(file, "rb") as stream:
                _require_npy(stream, key)
                stream.seek(0)
                return {"": np.lib.format.read_array(stream, allow_pickle=False)}
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    _require_npy(stream, key)
        with np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}


def _require_npy(stream: Any, key: str) -> None:
    version = np.lib.format.read_magic(stream)
    head = np.lib.format.read_array_header_1_0 if version == (1, 0) else None
    head = head or np.lib.format.read_array_header_2_0
    shape, _, dtype = head(stream)
    _require_memory(key, float(np.prod(np.asarray(shape, float))) * dtype.itemsize)


def text(
    path: str | os.PathLike[str],
    what: str = "a file",
    key: str = "file",
    largest: int = LARGEST_TEXT,
) -> str:
    """The text of a file in UTF-8, without the mark that editors of Windows begin it with."""
    with reading(path, what, key) as file:
        size = file.stat().st_size
        if size > largest:
            raise checks.InputError(
                key, f'must have at most {largest} bytes, but "{path}" has {size}'
            )
        return file.read_text(encoding="utf-8-sig")


def _require_memory(key: str, needed: float) -> None:
    from zitter import runtime  # which brings JAX along: numbers are shown without it

    runtime.require_memory(key, needed)
