"""Arrays that lie on many processes, in files: each process writes what it holds.

A part file has one dataset for each piece of an array, with the place of its first number. The
index shows the pieces of all parts as whole arrays (HDF5 virtual datasets), so that reading one
does not ask how many processes wrote it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from zitter import checks, io

PARTS = "parts"  # the attribute of an index that names its files


def write(path: Path, arrays: dict[str, Any]) -> None:
    """What this process holds of each array; copies on several devices once."""
    import h5py

    with io.whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        for name, array in arrays.items():
            group = file.create_group(name)
            for shard in array.addressable_shards:
                if shard.replica_id == 0:
                    piece = group.create_dataset(str(len(group)), data=pairs(shard.data))
                    first = [s.start or 0 for s in shard.index]
                    piece.attrs["first"] = first + [0] * (piece.ndim - len(first))


def write_index(path: Path, dataset: io.Dataset, arrays: dict[str, Any], files: list[str]) -> None:
    """The file of a dataset in which arrays stand that lie in these files beside it."""
    import h5py

    dataset.attributes[PARTS] = files
    io.write_then(path, dataset, lambda file: _show(h5py, file, path.parent, arrays, files))


def _show(h5py: Any, file: Any, folder: Path, arrays: dict[str, Any], files: list[str]) -> None:
    layouts = {}
    for name, array in arrays.items():
        complex_numbers = np.issubdtype(array.dtype, np.complexfloating)
        shape = (*array.shape, 2) if complex_numbers else array.shape
        dtype = np.zeros(0, array.dtype).real.dtype
        layouts[name] = h5py.VirtualLayout(shape, dtype)
    for part in files:
        with h5py.File(folder / part, "r") as source:
            for name, layout in layouts.items():
                for number, piece in source[name].items():
                    place = zip(piece.attrs["first"], piece.shape, strict=True)
                    region = tuple(slice(int(a), int(a) + n) for a, n in place)
                    layout[region] = h5py.VirtualSource(part, f"{name}/{number}", piece.shape)
    for name, layout in layouts.items():
        item = file.create_virtual_dataset(name, layout)
        item.attrs["complex"] = int(np.issubdtype(arrays[name].dtype, np.complexfloating))


def require_all(path: Path, attributes: dict[str, Any]) -> None:
    """Refuse an index whose parts are not all there: HDF5 itself would show zeros."""
    import json

    for part in json.loads(attributes.get(PARTS, "[]")):
        if not (path.parent / part).exists():
            raise checks.InputError("file", f'must have its part "{part}" beside it: "{path}"')


def pairs(values: Any) -> np.ndarray:
    """Complex numbers as a last axis of real and imaginary parts."""
    values = np.asarray(values)
    if not np.iscomplexobj(values):
        return values
    return np.stack([values.real, values.imag], axis=-1)
