"""Which determinants of a long list are kept."""

from __future__ import annotations

import numpy as np

from zitter import checks
from zitter.qmc.bridges.calculation import Expansion


def kept(coefficients: np.ndarray, up: np.ndarray, down: np.ndarray, smallest: float) -> Expansion:
    """Determinants with |c| ≥ smallest, the largest first.

    Orbitals ascend in both spins, so that all determinants have one sign.
    """
    checks.non_negative("smallest", smallest)
    order = np.argsort(-np.abs(coefficients), kind="stable")
    order = order[np.abs(coefficients[order]) >= smallest]
    order = order[coefficients[order] != 0]
    if not len(order):
        raise checks.InputError(
            "smallest", f"must leave a determinant, but none has a coefficient of {smallest:g}"
        )
    return Expansion(coefficients[order], up[order], down[order])
