"""Files: HDF5 that reads as NetCDF-4, written whole or not at all.

Every variable has named dimensions (HDF5 dimension scales), `units` and `long_name`. Complex
numbers are kept as a trailing dimension `complex` of length 2 (real, imaginary part). Objects that
belong to the numbers, such as a basis, lie in the group `objects`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zitter import __version__, checks

OBJECTS = "objects"  # the only group of a file


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


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place only when the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write(path: str | os.PathLike[str], dataset: Dataset) -> None:
    write_then(path, dataset, lambda file: None)


def write_then(path: str | os.PathLike[str], dataset: Dataset, more: Callable[[Any], None]) -> None:
    """The dataset, and what `more` puts into the open file, whole or not at all."""
    import h5py

    with whole_file(path) as temporary, h5py.File(temporary, "w") as file:
        sizes: dict[str, int] = {}
        for name, variable in dataset.variables.items():
            stored, dims = _stored(variable)
            if len(dims) != stored.ndim:
                raise ValueError(f"{name}: {stored.ndim} axes but dimensions {dims}")
            for dim, size in zip(dims, stored.shape, strict=True):
                if sizes.setdefault(dim, size) != size:
                    raise ValueError(f"dimension {dim} has length {sizes[dim]} and {size}")
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


def read(path: str | os.PathLike[str]) -> Dataset:
    import h5py

    try:
        with h5py.File(path, "r") as file:
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
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise checks.InputError(
            "file", f'must be a readable result file, but "{path}" is not: {error}'
        ) from None


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
        return np.stack([np.real(data), np.imag(data)], axis=-1), (*variable.dims, "complex")
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


def _complex(pairs: np.ndarray) -> np.ndarray:
    """The pairs' own bits: a sum x + iy would lose the sign of zeros."""
    kind = np.result_type(pairs.dtype, np.complex64)
    return np.ascontiguousarray(pairs).view(kind)[..., 0]


def _describe(item: Any, variable: Variable) -> None:
    item.attrs["units"] = variable.units
    item.attrs["long_name"] = variable.long_name


def _dimension(item: Any, axis: int, name: str) -> str:
    if item.is_scale:
        return name
    scales = item.dims[axis]
    return scales[0].name.lstrip("/") if len(scales) else f"dim_{axis}"
