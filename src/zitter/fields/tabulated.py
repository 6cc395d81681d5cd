"""Field given by samples of the electric field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, final
from zipfile import BadZipFile

import equinox as eqx
import h5py
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import CubicSpline

from zitter import checks, units
from zitter.fields import polarization as directions
from zitter.fields.base import LinearField, shown


@final
class Tabulated(LinearField):
    """E(t) = cubic spline through (tᵢ, Eᵢ),   A(t) = −∫E dt integrated exactly, piece by piece.

    Atomic units, times increasing from t ≥ 0; E is zero outside the table. Instead of the arrays,
    `file` names a text file of two columns, or an .npz or HDF5 file that holds `times` and
    `electric_field`. Whether A returns to zero depends on the table (`residual_vector_potential`).
    """

    knots: Float[np.ndarray, " n"]
    coefficients: Float[np.ndarray, "5 n-1"]  # of A on each interval, highest power first
    axis: tuple[float, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        times: Sequence[float] | None = None,
        electric_field: Sequence[float] | None = None,
        *,
        file: str | None = None,
        polarization: Sequence[float] | str | None = None,
    ):
        if (file is None) == (times is None and electric_field is None):
            raise checks.InputError(
                "file", f"must be given instead of times and electric_field, but is {file!r}"
            )
        columns = (times, electric_field) if file is None else _read(Path(file))
        knots, values = _column("times", columns[0]), _column("electric_field", columns[1])
        if len(knots) != len(values) or len(knots) < 2:
            raise checks.InputError(
                "electric_field",
                f"must have as many samples as times, at least 2, but has {len(values)} "
                f"for {len(knots)} times",
            )
        if knots[0] < 0 or np.any(np.diff(knots) <= 0):
            fault = f"begins at {knots[0]:g}" if knots[0] < 0 else "does not always increase"
            raise checks.InputError("times", f"must increase from t ≥ 0, but {fault}")
        self.knots = knots
        self.coefficients = -CubicSpline(knots, values).antiderivative().c
        self.axis = directions.checked(polarization)

    @property
    def duration(self) -> Any:
        return self.knots[-1]

    def _potential(self, t: Array) -> Array:
        first, last = self.knots[0], self.knots[-1]
        t = jnp.where(t < first, first, jnp.where(t > last, last, t))
        piece = jnp.clip(jnp.searchsorted(self.knots, t, side="right") - 1, 0, len(self.knots) - 2)
        return jnp.polyval(self.coefficients[:, piece], t - self.knots[piece])

    def describe(self) -> str:
        return (
            f"Tabulated: {len(self.knots)} samples, until "
            f"{shown(self.duration, units.TIME_S * 1e15)} fs"
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


def _read(path: Path) -> tuple[Any, Any]:
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as data:
                return data["times"], data["electric_field"]
        if path.suffix in (".h5", ".hdf5", ".nc"):
            with h5py.File(path, "r") as data:
                return np.asarray(data["times"]), np.asarray(data["electric_field"])
        return np.loadtxt(path, usecols=0, ndmin=1), np.loadtxt(path, usecols=1, ndmin=1)
    except (OSError, EOFError, KeyError, TypeError, ValueError, BadZipFile) as error:
        raise checks.InputError(
            "file",
            "must be a text file of two columns, or .npz or .h5 with times and electric_field, "
            f'but is "{path}" ({error})',
        ) from None
