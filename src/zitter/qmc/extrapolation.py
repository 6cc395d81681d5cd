"""DMC energies at zero time step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zitter import checks


def extrapolate(
    timesteps: Sequence[float],
    energies: Sequence[float],
    errors: Sequence[float],
    order: int = 1,
) -> tuple[float, float, float]:
    """(E, error, χ² per degree of freedom) at zero time step, by a weighted polynomial fit.

    Where χ² per degree of freedom is above one, the curve or the error bars do not suit the
    energies: then the error is its root times that of the fit. A fit through as many energies as it
    has coefficients cannot tell.
    """
    given = {"timesteps": timesteps, "energies": energies, "errors": errors}
    tau, y, s = (checks.numbers(key, values) for key, values in given.items())
    order = checks.integer("order", order, 1)
    if not len(tau) == len(y) == len(s) or len(tau) <= order:
        raise checks.InputError(
            "timesteps", f"must be at least {order + 1} with their energies and errors, "
            f"but are {len(tau)}"
        )  # fmt: skip
    if np.any(tau < 0):
        raise checks.InputError("timesteps", f"must not be negative, but are {tau.tolist()}")
    for key, values in (("timesteps", tau), ("energies", y)):
        if not np.all(np.isfinite(values)):
            raise checks.InputError(key, f"must be finite, but are {values.tolist()}")
    if not np.all((s > 0) & np.isfinite(s)):
        raise checks.InputError(
            "errors", f"must be positive and finite (a run that has none needs more blocks), but "
            f"are {s.tolist()}"
        )  # fmt: skip
    if len(np.unique(tau)) <= order:
        raise checks.InputError(
            "timesteps", f"must hold {order + 1} different ones, but are {tau.tolist()}"
        )
    matrix = np.stack([tau**k for k in range(order + 1)], axis=1) / s[:, None]
    covariance = np.linalg.inv(matrix.T @ matrix)
    fit = covariance @ matrix.T @ (y / s)
    residual = float(np.sum((matrix @ fit - y / s) ** 2))
    chi = residual / max(len(tau) - order - 1, 1)
    return float(fit[0]), float(np.sqrt(covariance[0, 0] * max(chi, 1.0))), chi
