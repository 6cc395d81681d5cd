"""A potential in a file: values on a grid from HDF5, npz or Gaussian cube files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from zitter import checks, data_files
from zitter.cube import read_cube

DATASET = "potential"  # the name to look for where none is given
Lattice = tuple[tuple[float, float], ...]  # (first point, step) of each axis, in bohr


def read_array(path: str, dataset: str) -> tuple[np.ndarray, Lattice | None]:
    """Values from an HDF5, npz, npy or cube file, and where they are if the file, a cube, says so.

    A file with one array alone needs no name for it.
    """
    file = Path(path)
    match file.suffix:
        case ".cube" | ".cub":
            values, axes = read_cube(file)
            return values, _lattice(axes)
        case ".npz" | ".npy":
            reader = _from_numpy
        case ".h5" | ".hdf5" | ".nc":
            reader = _from_hdf5
        case _:
            raise checks.InputError(
                "file", f'must end in .h5, .hdf5, .nc, .npz, .npy or .cube, but is "{path}"'
            )
    names, values = reader(file, dataset)
    if values is None:
        raise checks.InputError(
            "dataset", f'must be one of {", ".join(names)} in "{path}", but is "{dataset}"'
        )
    return values, None


def _from_numpy(file: Path, dataset: str) -> tuple[list[str], np.ndarray | None]:
    """(the names in the file, the array of that name)."""
    arrays = data_files.numpy_arrays(file, f"an {file.suffix[1:]} file of numbers")
    if "" in arrays:
        return [DATASET], arrays[""] if dataset == DATASET else None
    names = list(arrays)
    name = names[0] if len(names) == 1 and dataset == DATASET else dataset
    return names, arrays.get(name)


def _from_hdf5(file: Path, dataset: str) -> tuple[list[str], np.ndarray | None]:
    import h5py

    with data_files.hdf5(file, "an HDF5 file") as data:
        names = [name for name, item in data.items() if isinstance(item, h5py.Dataset)]
        alone = len(names) == 1 and dataset == DATASET and dataset not in data
        item = data.get(names[0] if alone else dataset)
        return names, np.asarray(item) if isinstance(item, h5py.Dataset) else None


# Six digits after the point are what programs print in the head of a cube file.
_PRINTED = 1e-6


def _lattice(axes: Sequence[np.ndarray]) -> Lattice:
    return tuple((float(x[0]), float(x[-1] - x[0]) / max(len(x) - 1, 1)) for x in axes)


def check_lattice(found: Lattice, axes: Sequence[np.ndarray]) -> None:
    """A file that says where its values are must mean the grid's points."""
    wanted = _lattice(axes)
    if not np.allclose(found, wanted, rtol=1e-5, atol=_PRINTED):
        raise checks.InputError(
            "file",
            f"must hold values at the grid's points, {_told(wanted)}, but has them {_told(found)}",
        )


def _told(lattice: Lattice) -> str:
    first, steps = (", ".join(f"{x:.6g}" for x in row) for row in zip(*lattice, strict=True))
    return f"from ({first}) in steps of ({steps}) bohr"
