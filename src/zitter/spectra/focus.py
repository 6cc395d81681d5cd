"""Average over the intensities in a laser focus.

A Gaussian beam of peak intensity I₀ holds the volume of intensities between I and I + dI
    |dV/dI| ∝ (2I + I₀) √(I₀ − I) / I^{5/2}      whole focus
    |dV/dI| ∝ 1/I                                thin target (a slice across the beam)
(Augst, Meyerhofer, Strickland & Chin, J. Opt. Soc. Am. B 8, 858 (1991)).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from zitter import checks


def focal_average(
    intensities: Any, values: Any, target: Literal["volume", "slice"] = "volume"
) -> np.ndarray:
    """∫ values(I) |dV/dI| dI over a scan of rising intensities; the last one is the peak I₀.

    In units where the focal volume scale (π w₀² z_R/3 or π w₀²/2) is one. Between the points of
    the scan log values are taken linear in log I, which is exact for multiphoton powers.
    """
    intensities = checks.array("intensities", intensities, (None,))
    values = np.asarray(checks.array("values", values))
    checks.choice("target", target, ("volume", "slice"))
    if len(intensities) < 2 or np.any(np.diff(intensities) <= 0) or intensities[0] <= 0:
        raise checks.InputError("intensities", "must be positive and rise, but do not")
    if len(values) != len(intensities):
        raise checks.InputError(
            "values", f"must have one entry for each intensity ({len(intensities)}), "
            f"but has {len(values)}"
        )  # fmt: skip
    peak = intensities[-1]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    total = np.zeros(values.shape[1:])
    logs = np.log(np.maximum(values, 1e-300))
    for i in range(len(intensities) - 1):
        # u = √(1 − I/I₀) removes the root at the peak.
        high, low = (np.sqrt(1 - intensities[j] / peak) for j in (i, i + 1))
        u = 0.5 * (high + low) + 0.5 * (high - low) * nodes
        intensity = peak * (1 - u**2)
        share = (np.log(intensity / intensities[i])) / np.log(intensities[i + 1] / intensities[i])
        share = share.reshape(-1, *([1] * (values.ndim - 1)))
        between = np.exp((1 - share) * logs[i] + share * logs[i + 1])
        if target == "volume":
            density = (2 * intensity + peak) * np.sqrt(peak) * u / intensity**2.5
        else:
            density = 1 / intensity
        # dI = 2 I₀ u du
        factor = 0.5 * (high - low) * weights * density * 2 * peak * u
        total = total + np.tensordot(factor, between, axes=1)
    return total
