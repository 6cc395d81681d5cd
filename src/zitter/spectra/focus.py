"""Signals added up over the intensities in a laser focus.

A Gaussian beam of peak intensity I₀ holds the volume of intensities between I and I + dI
    |dV/dI| ∝ (2I + I₀) √(I₀ − I) / I^{5/2}      whole focus
    |dV/dI| ∝ 1/I                                thin target (a slice across the beam)
(Augst, Meyerhofer, Strickland & Chin, J. Opt. Soc. Am. B 8, 858 (1991)). Both volumes are infinite,
since the weakest light reaches everywhere: "focal average" is the usual name of the integral, there
is nothing to divide it by. It exists where the signal falls faster than I^{3/2} towards low I, in a
slice where it falls at all.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from zitter import checks
from zitter.bases.edges import ConvergenceWarning
from zitter.keywords import caller

# Of the result: what a decade of intensities below the scan may add.
BELOW_LIMIT = 0.02


def focal_average(
    intensities: Any, values: Any, target: Literal["volume", "slice"] = "volume"
) -> np.ndarray:
    """∫ values(I) |dV/dI| dI over a scan of rising intensities; the last one is the peak I₀.

    Intensities are numbers, or strings with units such as "1e14 W/cm^2".

    An integral over the focus, not a mean: in units where its volume scale (π w₀² z_R/3 or
    π w₀²/2) is one, so it may exceed the largest value. Between the points of the scan log values
    are taken linear in log I, which is exact for multiphoton powers. Warns where the decade below
    the first intensity, by the power law of the first two, would change the result: for one photon
    the whole focus ("volume") has no finite signal.
    """
    intensities = _numbers(intensities)
    values = np.asarray(checks.array("values", values))
    checks.choice("target", target, ("volume", "slice"))
    if len(intensities) < 2 or np.any(np.diff(intensities) <= 0) or intensities[0] <= 0:
        raise checks.InputError("intensities", "must be positive and rise, but do not")
    if values.shape[:1] != intensities.shape:
        raise checks.InputError(
            "values", f"must have one entry for each intensity ({len(intensities)}), "
            f"but has shape {values.shape}"
        )  # fmt: skip
    logs = np.log(np.maximum(values, 1e-300))
    total = np.zeros(values.shape[1:])
    for i in range(len(intensities) - 1):
        total = total + _part(intensities, logs, i, intensities[i], intensities[i + 1], target)
    first = intensities[0]
    below = np.max(_part(intensities, logs, 0, first / 10, first, target), initial=0.0)
    if np.any(values > 0) and below > BELOW_LIMIT * np.max(total):
        warnings.warn(
            f"the scan begins too high: the decade below its first intensity would add "
            f"{below / np.max(total):.2g} of the focal average; begin lower, or take "
            'target = "slice" for signals that fall more slowly than I^(3/2)',
            ConvergenceWarning,
            stacklevel=caller(),
        )
    return total


def _numbers(intensities: Any) -> np.ndarray:
    """As an array; strings with units, and numbers among them, in atomic units."""
    if isinstance(intensities, list | tuple) and any(isinstance(x, str) for x in intensities):
        intensities = [
            checks.positive(f"intensities.{i}", x, "intensity") for i, x in enumerate(intensities)
        ]
    elif isinstance(intensities, np.ndarray) and intensities.dtype.kind == "U":
        return _numbers(intensities.tolist())
    return checks.array("intensities", intensities, (None,))


def _part(
    intensities: np.ndarray, logs: np.ndarray, i: int, low: float, high: float, target: str
) -> np.ndarray:
    """The integral from `low` to `high` of the power law through the points i and i + 1."""
    peak = intensities[-1]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    # I = I₀(1 − u²) removes the root at the peak; far below it the steps are even in log I.
    if high > 0.5 * peak:
        ends = np.sqrt(1 - np.array([low, high]) / peak)
        u = 0.5 * (ends[0] + ends[1]) + 0.5 * (ends[0] - ends[1]) * nodes
        intensity, width = peak * (1 - u**2), 2 * peak * u * 0.5 * (ends[0] - ends[1])
    else:
        half = 0.5 * np.log(high / low)
        intensity = np.sqrt(low * high) * np.exp(half * nodes)
        u, width = np.sqrt(1 - intensity / peak), half * intensity
    if target == "volume":
        density = (2 * intensity + peak) * np.sqrt(peak) * u / intensity**2.5
    else:
        density = 1 / intensity
    share = np.log(intensity / intensities[i]) / np.log(intensities[i + 1] / intensities[i])
    share = share.reshape(-1, *([1] * (logs.ndim - 1)))
    between = np.exp((1 - share) * logs[i] + share * logs[i + 1])
    return np.tensordot(weights * width * density, between, axes=1)
