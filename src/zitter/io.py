"""Files: HDF5 that reads as NetCDF-4, written whole or not at all.

Every variable has named dimensions (HDF5 dimension scales), `units` and `long_name`. Complex
numbers are kept as a trailing dimension `complex` of length 2 (real, imaginary part). Objects that
belong to the numbers, such as a basis, lie in the group `objects`.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from zitter import __version__, checks, files

MUCH = 2**28  # bytes
OBJECTS = "objects"  # the only group of a file
# What HDF5, or what is made of its contents, may raise where a file is damaged.
UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError,
              ArithmeticError, LookupError, MemoryError)  # fmt: skip


@dataclasses.dataclass
class Variable:
    """One array with the names of its dimensions."""

    data: np.ndarray
    dims: tuple[str, ...]
    units: str = "a.u."
    long_name: str = ""


@dataclasses.dataclass
class Packed:
    """An object as plain data: its form in JSON, and the arrays that the form names."""

    form: Any
    arrays: dict[str, np.ndarray]


@dataclasses.dataclass
class Dataset:
    """Variables and attributes; a variable named like a dimension is its coordinate."""

    variables: dict[str, Variable]
    attributes: dict[str, Any]
    objects: dict[str, Packed] = dataclasses.field(default_factory=dict)


def write(
    path: str | os.PathLike[str],
    dataset: Dataset,
    more: Callable[[Any], None] = lambda file: None,
    before: Path | None = None,
) -> None:
    """The dataset, and what `more` puts into the open file, whole or not at all.

    What had that name is kept as `before`, if given.
    """
    import h5py

    with files.whole(path, True, before) as sink, h5py.File(sink, "w") as file:
        sizes = sizes_of(dataset)
        scales = {}
        for dim, size in sizes.items():
            coordinate = dataset.variables.get(dim)
            if coordinate is not None:
                scale = file.create_dataset(dim, data=_stored(coordinate)[0])
                _describe(scale, coordinate)
                scale.make_scale(dim)
            else:
                scale = file.create_dataset(dim, data=np.zeros(size, np.float32))
                # NetCDF's mark for a dimension that has no coordinate values.
                scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{size:10d}")
            scales[dim] = scale
        for name, variable in dataset.variables.items():
            if name in scales:
                continue
            stored, dims = _stored(variable)
            item = file.create_dataset(name, data=stored)
            _describe(item, variable)
            for axis, dim in enumerate(dims):
                item.dims[axis].attach_scale(scales[dim])
        for key, value in dataset.attributes.items():
            file.attrs[key] = value if isinstance(value, str) else json.dumps(value)
        file.attrs["version"] = __version__
        for name, packed in dataset.objects.items():
            _write_object(file.create_group(f"{OBJECTS}/{name}"), packed)
        more(file)


def sizes_of(dataset: Dataset) -> dict[str, int]:
    """The length of each dimension; a `ValueError` where arrays do not fit their dimensions."""
    sizes: dict[str, int] = {}
    for name, variable in dataset.variables.items():
        stored, dims = _stored(variable)
        if len(dims) != stored.ndim:
            raise ValueError(f"{name}: {stored.ndim} axes but dimensions {dims}")
        for dim, size in zip(dims, stored.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(f"dimension {dim} has length {sizes[dim]} and {size}")
    return sizes


def read(path: str | os.PathLike[str]) -> Dataset:
    import h5py

    files.verify(path)
    try:
        with h5py.File(path, "r") as file:
            require_memory(file)
            groups = {name: item for name, item in file.items() if isinstance(item, h5py.Group)}
            for name in groups:
                if name != OBJECTS:
                    raise checks.InputError(
                        "file", f'must hold datasets only, but "{name}" in "{path}" is a group'
                    )
            found = {name: _variable(name, x) for name, x in file.items() if name not in groups}
            variables = {name: v for name, v in found.items() if v is not None}
            kept = groups.get(OBJECTS, {})
            objects = {name: _read_object(item) for name, item in kept.items()}
            return Dataset(variables, dict(file.attrs), objects)
    except checks.InputError:
        raise
    except UNREADABLE as error:
        told = f'"{path}" is not'
        told = f"{told}: {error}" if isinstance(error, OSError) else told
        raise files.Damaged("file", f"must be a readable result file, but {told}") from None


def require_memory(data: Any, key: str = "file") -> None:
    """Refuse an open HDF5 file that declares more numbers than the memory holds."""
    import h5py

    sizes: list[float] = []

    def count(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            sizes.append(float(np.prod(np.asarray(item.shape or (), float))) * item.dtype.itemsize)

    data.visititems(count)
    if sum(sizes) > MUCH:  # else it is shown without waiting for JAX
        from zitter import runtime

        runtime.require_memory(key, sum(sizes))


def _write_object(group: Any, packed: Packed) -> None:
    group["form"] = json.dumps(packed.form)
    for key, values in packed.arrays.items():
        stored, dims = _stored(Variable(values, ()))
        group[key] = stored
        group[key].attrs["complex"] = int(bool(dims))


def _read_object(group: Any) -> Packed:
    form = json.loads(group["form"].asstr()[()])
    arrays = {}
    for key, item in group.items():
        if key != "form":
            values = item[()]
            arrays[key] = _complex(values) if item.attrs["complex"] else values
    return Packed(form, arrays)


def to_xarray(dataset: Dataset) -> Any:
    import xarray

    coordinates, data = {}, {}
    for name, v in dataset.variables.items():
        entry = (v.dims, v.data, {"units": v.units, "long_name": v.long_name})
        (coordinates if v.dims == (name,) else data)[name] = entry
    # As in the file: NetCDF knows numbers and text, but no dictionaries.
    attributes = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in dataset.attributes.items()
    }
    return xarray.Dataset(data, coordinates, attributes)


def _stored(variable: Variable) -> tuple[np.ndarray, tuple[str, ...]]:
    data = np.asarray(variable.data)
    if np.iscomplexobj(data):
        return pairs(data), (*variable.dims, "complex")
    return data, tuple(variable.dims)


def _variable(name: str, item: Any) -> Variable | None:
    """What `write` stored, or None for a dimension that has no coordinate values."""
    label = item.attrs.get("NAME", b"")
    label = label.decode() if isinstance(label, bytes) else str(label)
    if "not a netCDF variable" in label:
        return None
    dims = tuple(_dimension(item, axis, name) for axis in range(item.ndim))
    data = item[()]
    if (dims and dims[-1] == "complex") or item.attrs.get("complex"):
        data, dims = _complex(data), dims[:-1]
    return Variable(
        data, dims, str(item.attrs.get("units", "")), str(item.attrs.get("long_name", ""))
    )


def pairs(numbers: np.ndarray) -> np.ndarray:
    """Complex numbers as a last axis of real and imaginary parts: the same bits, not a copy."""
    numbers = np.ascontiguousarray(numbers).reshape(np.shape(numbers))  # which may be ()
    return numbers.reshape(-1).view(np.real(numbers).dtype).reshape(*numbers.shape, 2)


def _complex(parts: np.ndarray) -> np.ndarray:
    """The numbers' own bits: a sum x + iy would lose the sign of zeros."""
    parts = checks.native(parts)
    kind = np.result_type(parts.dtype, np.complex64)
    return np.ascontiguousarray(parts).view(kind)[..., 0]


def _describe(item: Any, variable: Variable) -> None:
    item.attrs["units"] = variable.units
    item.attrs["long_name"] = variable.long_name


def _dimension(item: Any, axis: int, name: str) -> str:
    """The name of an axis. Not asked of HDF5's library, which trusts attributes that anybody can
    change, and ends the process where they are not what it expects."""
    if item.attrs.get("CLASS") in (b"DIMENSION_SCALE", "DIMENSION_SCALE"):
        return name
    lists = item.attrs.get("DIMENSION_LIST")
    if lists is None or not len(lists[axis]):
        return f"dim_{axis}"
    return item.file[lists[axis][0]].name.lstrip("/")
