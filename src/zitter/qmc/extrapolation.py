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
    """(E, error, χ² per degree of freedom) at zero time step, by a weighted polynomial fit."""
    tau, y, s = (np.asarray(v, np.float64) for v in (timesteps, energies, errors))
    order = checks.integer("order", order, 1)
    if not len(tau) == len(y) == len(s) or len(tau) <= order:
        raise checks.InputError(
            "timesteps", f"must be at least {order + 1} with their energies and errors, "
            f"but are {len(tau)}"
        )  # fmt: skip
    if not np.all(s > 0):
        raise checks.InputError("errors", f"must be positive, but are {s.tolist()}")
    if len(np.unique(tau)) <= order:
        raise checks.InputError(
            "timesteps", f"must hold {order + 1} different ones, but are {tau.tolist()}"
        )
    matrix = np.stack([tau**k for k in range(order + 1)], axis=1) / s[:, None]
    covariance = np.linalg.inv(matrix.T @ matrix)
    fit = covariance @ matrix.T @ (y / s)
    residual = float(np.sum((matrix @ fit - y / s) ** 2))
    freedom = max(len(tau) - order - 1, 1)
    return float(fit[0]), float(np.sqrt(covariance[0, 0])), residual / freedom
