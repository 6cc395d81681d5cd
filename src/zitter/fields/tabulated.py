"""Field given by samples of E or A."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, final

import equinox as eqx
import numpy as np
from jaxtyping import Array
from scipy.interpolate import CubicSpline

from zitter import checks, data_files, units
from zitter.fields import polarization as directions
from zitter.fields.base import LinearField, check_beginning, shown
from zitter.fields.piecewise import Piecewise, spline

_SYMBOLS = {"electric_field": "E", "vector_potential": "A"}


@final
class Tabulated(LinearField):
    """E(t) = cubic spline through (tᵢ, Eᵢ),   A(t) = −∫E dt integrated exactly, piece by piece.

    Or, with `vector_potential` instead of `electric_field`, A(t) = cubic spline through (tᵢ, Aᵢ)
    and E = −dA/dt, whose error is of third instead of fourth order in the spacing of the samples.

    Atomic units, times increasing from t ≥ 0; E is zero outside the table, so A must begin at zero.
    Instead of the arrays, `file` names a text file of two columns, t and `quantity`, or an .npz or
    HDF5 file that holds `times` and an array with the name of that `quantity`: "electric_field" or
    "vector_potential". Whether A returns to zero depends on the table
    (`residual_vector_potential`).
    """

    potential: Piecewise
    axis: tuple[float, ...] | None = eqx.field(static=True)
    quantity: str = eqx.field(static=True)

    def __init__(
        self,
        times: Sequence[float] | None = None,
        electric_field: Sequence[float] | None = None,
        *,
        vector_potential: Sequence[float] | None = None,
        file: str | None = None,
        quantity: Literal["electric_field", "vector_potential"] | None = None,
        polarization: Sequence[float] | str | None = None,
    ):
        arrays = {"electric_field": electric_field, "vector_potential": vector_potential}
        in_memory = any(values is not None for values in (times, *arrays.values()))
        if (file is not None) == in_memory:
            raise checks.InputError(
                "file",
                "must be given instead of times with electric_field or vector_potential, "
                f"but is {file!r}",
            )
        if file is not None:
            self.quantity = checks.choice("quantity", quantity or "electric_field", _SYMBOLS)
            columns = _read(Path(file), self.quantity)
        elif quantity is not None:
            raise checks.InputError("quantity", f"must be given with file only, but is {quantity}")
        else:
            self.quantity = checks.only_one(arrays, "electric_field")
            columns = times, arrays[self.quantity]
        knots, values = _column("times", columns[0]), _column(self.quantity, columns[1])
        if len(knots) != len(values) or len(knots) < 2:
            raise checks.InputError(
                self.quantity,
                f"must have as many samples as times, at least 2, but has {len(values)} "
                f"for {len(knots)} times",
            )
        if knots[0] < 0 or np.any(np.diff(knots) <= 0):
            fault = f"begins at {knots[0]:g}" if knots[0] < 0 else "does not always increase"
            raise checks.InputError("times", f"must increase from t ≥ 0, but {fault}")
        if self.quantity == "electric_field":
            coefficients = -CubicSpline(knots, values).antiderivative().c
        else:
            check_beginning(self.quantity, values)
            coefficients = CubicSpline(knots, values - values[0]).c
        self.potential = spline(knots, coefficients)
        self.axis = directions.checked(polarization)

    @property
    def duration(self) -> Any:
        return self.potential.knots[-1]

    def _potential(self, t: Array) -> Array:
        return self.potential(t)

    def describe(self) -> str:
        return (
            f"Tabulated: {len(self.potential.knots)} samples of {_SYMBOLS[self.quantity]}, until "
            f"{shown(self.duration, units.TIME_S * 1e15)} fs, {directions.in_words(self.axis)}"
        )


def _column(key: str, values: Any) -> np.ndarray:
    if values is None:
        raise checks.InputError(key, "must be given, but is missing")
    if checks.is_traced(values):
        raise checks.InputError(key, "must be plain numbers, but is traced by JAX")
    column = checks.array(key, values, (None,))
    if np.iscomplexobj(column):
        raise checks.InputError(key, "must be real, but is complex")
    return column.astype(np.float64)


def _read(path: Path, quantity: str) -> tuple[Any, Any]:
    what = f"a text file of two columns, or .npz or .h5 with times and {quantity} (see quantity)"
    with data_files.reading(path, what):
        if path.suffix == ".npz":
            arrays = data_files.numpy_arrays(path, what)
            return arrays["times"], arrays[quantity]
        if path.suffix in (".h5", ".hdf5", ".nc"):
            with data_files.hdf5(path, what) as data:
                return np.asarray(data["times"]), np.asarray(data[quantity])
        return _columns(path, data_files.text(path, what).splitlines(), quantity)


def _columns(path: Path, lines: list[str], quantity: str) -> tuple[list[float], list[float]]:
    """Two numbers in each line, but for what follows a #."""
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            row = []
        if words and len(row) != 2:
            what = checks.shown(line.strip()) if not row else f"{len(row)} of them"
            raise checks.InputError(
                "file",
                f"must hold two numbers in each line, t and {quantity}, but line {number} of "
                f'"{path}" has {what}',
            )
        rows += [row] if words else []
    if not rows:
        raise checks.InputError("file", f'must hold t and {quantity}, but "{path}" holds none')
    return [t for t, _ in rows], [value for _, value in rows]
