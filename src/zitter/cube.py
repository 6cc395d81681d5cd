"""Gaussian cube files: values on a three-dimensional grid, for molecular viewers and from them.

The format: two comment lines; the number of atoms and the origin; for each axis its number of
points and step vector; one line for each atom; the values, z fastest. Lengths are in bohr, or in Å
where the numbers of points are negative.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zitter import checks, data_files, files, units

ANGSTROM = units.parse("1 angstrom", "length")


def write_cube(
    path: str | os.PathLike[str],
    values: Any,
    axes: Sequence[Any] | Mapping[str, Any],
    atoms: Sequence[tuple[float, Sequence[float]]] = (),
    comment: str = "zitter",
) -> None:
    """Real `values` at the points of three uniform `axes`, a list or what `grid.axes()` gives.

    `atoms` are (charge, position).
    """
    path = checks.path("path", path)
    values = checks.array("values", values)
    if values.ndim != 3:
        raise checks.InputError("values", f"must have three axes, but have {values.ndim}")
    if len(axes) != 3:
        raise checks.InputError("axes", f"must be three, but are {len(axes)}")
    if np.iscomplexobj(values):
        raise checks.InputError("values", "must be real, such as |ψ|², but are complex")
    listed = axes.values() if isinstance(axes, Mapping) else axes
    points = [checks.array("axes", x, (None,)) for x in listed]
    if tuple(len(x) for x in points) != values.shape:
        raise checks.InputError(
            "values",
            f"must have the axes' shape {tuple(len(x) for x in points)}, but have {values.shape}",
        )
    for x in points:
        if not np.allclose(np.diff(x), (x[-1] - x[0]) / max(len(x) - 1, 1), rtol=1e-6, atol=0.0):
            raise checks.InputError("axes", "must have points at equal distances, but one has not")
    steps = np.diag([(x[-1] - x[0]) / max(len(x) - 1, 1) for x in points])
    # Viewers want at least one atom: a ghost of charge 0 in the middle where none is given.
    shown = atoms or [(0.0, [0.5 * (x[0] + x[-1]) for x in points])]
    write_tilted_cube(path, values, [x[0] for x in points], steps, shown, comment)


def write_tilted_cube(
    path: str | os.PathLike[str],
    values: np.ndarray,
    origin: Sequence[float] | np.ndarray,
    steps: np.ndarray,
    atoms: Sequence[tuple[float, Sequence[float]]],
    comment: str = "zitter",
) -> None:
    """Real `values` at origin + i·steps[0] + j·steps[1] + k·steps[2]."""
    head = [" ".join(comment.split())[:80], "values on a grid, z fastest, atomic units"]
    head.append(_line(len(atoms), origin))
    head += [_line(n, step) for n, step in zip(values.shape, steps, strict=True)]
    for charge, place in atoms:
        head.append(_line(round(charge), [charge, *place]))
    rows = values.reshape(-1, values.shape[2])
    with files.whole(path) as sink, io.TextIOWrapper(io.BufferedWriter(sink), "ascii") as file:
        file.write("\n".join(head) + "\n")
        for row in rows:
            lines = [row[i : i + 6] for i in range(0, len(row), 6)]
            file.write("\n".join(" ".join(f"{v:13.6e}" for v in line) for line in lines) + "\n")


def read_cube(path: str | os.PathLike[str]) -> tuple[np.ndarray, list[np.ndarray]]:
    """(values, the three axes' points in bohr); only cubes whose steps run along x, y and z."""
    path = checks.path("file", path)
    try:
        text = data_files.text(path, "a Gaussian cube file").splitlines()
        count, *origin = _numbers(text[2])
        rows = [_numbers(text[i]) for i in range(3, 6)]
        counts = [int(row[0]) for row in rows]
        steps = np.array([row[1:4] for row in rows]).reshape(3, 3)
        data = np.array(" ".join(text[6 + abs(int(count)) :]).split(), dtype=float)
    except checks.InputError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise checks.InputError(
            "file", f'must be a Gaussian cube file, but "{path}" is not: {error}'
        ) from None
    if np.any(np.abs(steps - np.diag(np.diag(steps))) > 1e-8):
        raise checks.InputError("file", "must have axes along x, y and z, but its axes are tilted")
    shape = tuple(abs(n) for n in counts)
    if len({n > 0 for n in counts}) > 1:
        raise checks.InputError(
            "file", f"must have numbers of points of one sign (bohr or Å), but has {counts}"
        )
    if count < 0:
        data = data[1 + int(data[0]) :]  # a list of orbitals stands before their values
    if data.size != np.prod(shape):
        raise checks.InputError(
            "file", f"must hold {np.prod(shape)} values for its grid {shape}, but holds {data.size}"
        )
    unit = ANGSTROM if counts[0] < 0 else 1.0
    axes = [unit * (origin[a] + steps[a, a] * np.arange(n)) for a, n in enumerate(shape)]
    return data.reshape(shape), axes


def _line(count: int, numbers: Sequence[float] | np.ndarray) -> str:
    return f"{count:5d} " + " ".join(f"{x:14.8f}" for x in numbers)


def _numbers(line: str) -> list[float]:
    return [float(word) for word in line.split()]
