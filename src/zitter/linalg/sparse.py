"""Sparse matrices (SciPy) from bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse


def sparse_bands(bands: Any) -> Any:
    """The matrix of bands[p + k, j] = O[j, j + k]."""
    bands = np.asarray(bands)
    p, n = bands.shape[0] // 2, bands.shape[1]
    offsets = range(-min(p, n - 1), min(p, n - 1) + 1)
    rows = [bands[p + k, max(0, -k) : min(n, n - k)] for k in offsets]
    return sparse.diags(rows, list(offsets), shape=(n, n))  # type: ignore[arg-type]
