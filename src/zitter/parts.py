"""Arrays that lie on many processes, in files: each process writes what it holds.

A part file has one dataset for each piece of an array, with the place of its first number. The
index shows the pieces of all parts as whole arrays (HDF5 virtual datasets), so that reading one
does not ask how many processes wrote it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from zitter import files, io

PARTS = "parts"  # the attribute of an index that names its files


def write(path: Path, arrays: dict[str, Any]) -> None:
    """What this process holds of each array; copies on several devices once."""
    import h5py

    with files.whole(path, checksum=True) as sink, h5py.File(sink, "w") as file:
        for name, array in arrays.items():
            group = file.create_group(name)
            for shard in array.addressable_shards:
                if shard.replica_id == 0:
                    piece = group.create_dataset(str(len(group)), data=_stored(shard.data))
                    first = [s.start or 0 for s in shard.index]
                    piece.attrs["first"] = first + [0] * (piece.ndim - len(first))


def write_index(
    path: Path, dataset: io.Dataset, arrays: dict[str, Any], names: list[str], before: Path | None
) -> None:
    """The file of a dataset in which arrays stand that lie in the named files beside it."""
    import h5py

    dataset.attributes[PARTS] = names
    show = lambda file: _show(h5py, file, path.parent, arrays, names)  # noqa: E731
    io.write(path, dataset, show, before)


def _show(h5py: Any, file: Any, folder: Path, arrays: dict[str, Any], names: list[str]) -> None:
    layouts = {}
    for name, array in arrays.items():
        complex_numbers = np.issubdtype(array.dtype, np.complexfloating)
        shape = (*array.shape, 2) if complex_numbers else array.shape
        dtype = np.zeros(0, array.dtype).real.dtype
        layouts[name] = h5py.VirtualLayout(shape, dtype)
    for part in names:
        with h5py.File(folder / part, "r") as source:
            for name, layout in layouts.items():
                for number, piece in source[name].items():
                    place = zip(piece.attrs["first"], piece.shape, strict=True)
                    region = tuple(slice(int(a), int(a) + n) for a, n in place)
                    layout[region] = h5py.VirtualSource(part, f"{name}/{number}", piece.shape)
    for name, layout in layouts.items():
        item = file.create_virtual_dataset(name, layout)
        item.attrs["complex"] = int(np.issubdtype(arrays[name].dtype, np.complexfloating))


def named_in(path: Path) -> list[str]:
    """The parts of an index; none where it has none or cannot be read."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return list(json.loads(file.attrs.get(PARTS, "[]")))
    except io.UNREADABLE:
        return []


def require_all(path: Path, attributes: dict[str, Any]) -> None:
    """Refuse an index whose parts are not all there and whole: HDF5 itself would show zeros."""
    for part in json.loads(attributes.get(PARTS, "[]")):
        if not (path.parent / part).exists():
            raise files.Damaged("file", f'must have its part "{part}" beside it: "{path}"')
        files.verify(path.parent / part)


def _stored(values: Any) -> np.ndarray:
    """What is stored of a piece: complex numbers as real and imaginary parts."""
    values = np.asarray(values)
    return io.pairs(values) if np.iscomplexobj(values) else values
