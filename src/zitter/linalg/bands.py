"""Banded matrices stored by diagonals: products, and the forms other libraries want.

    bands[…, p + k, j] = O[j, j + k],  −p ≤ k ≤ p        (entries outside the matrix are zero)

Functions named `host_` take and give NumPy arrays, for what is prepared outside compiled loops.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from zitter.linalg.base import total


def banded_product(bands: jax.Array, rows: jax.Array) -> jax.Array:
    """(O row)_j = Σ_k O[j, j + k] row_{j+k} over the last axis; the others broadcast."""
    if jnp.iscomplexobj(rows) and not jnp.iscomplexobj(bands):
        # Real numbers by real numbers: XLA would make the bands complex.
        parts = (banded_product(bands, part(rows)) for part in (jnp.real, jnp.imag))
        return jax.lax.complex(*parts)
    p, n = bands.shape[-2] // 2, bands.shape[-1]
    padded = jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(p, p)])
    return total(bands[..., p + k, :] * padded[..., p + k : p + k + n] for k in range(-p, p + 1))


def host_product(bands: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """O v."""
    p, n = bands.shape[0] // 2, bands.shape[1]
    wide = np.pad(vector, p)
    return total(bands[p + k] * wide[p + k : p + k + n] for k in range(-p, p + 1))


def dense_from_bands(bands: jax.Array) -> jax.Array:
    """Full matrices (…, n, n) of bands (…, 2p + 1, n)."""
    p, n = bands.shape[-2] // 2, bands.shape[-1]
    offset = np.arange(n)[None, :] - np.arange(n)[:, None]
    picked = bands[..., np.clip(p + offset, 0, 2 * p), np.arange(n)[:, None]]
    return jnp.where(np.abs(offset) <= p, picked, 0)


def host_dense(bands: Any) -> np.ndarray:
    """The full matrix."""
    bands = np.asarray(bands)
    p, n = bands.shape[0] // 2, bands.shape[1]
    matrix = np.zeros((n, n), bands.dtype)
    for k in range(-min(p, n - 1), min(p, n - 1) + 1):
        row = np.arange(max(0, -k), min(n, n - k))
        matrix[row, row + k] = bands[p + k, row]
    return matrix


def lapack_bands(bands: Any) -> np.ndarray:
    """LAPACK's a[p + i − j, j] = O[i, j], for general matrices."""
    bands = np.asarray(bands)
    p, n = bands.shape[0] // 2, bands.shape[1]
    result = np.zeros_like(bands)
    for k in range(-p, p + 1):
        rows = np.arange(max(0, -k), min(n, n - k))
        result[p - k, rows + k] = bands[p + k, rows]
    return result


def lapack_upper(bands: Any) -> np.ndarray:
    """LAPACK's a[p + i − j, j] = O[i, j] for i ≤ j, for Hermitian matrices."""
    bands = np.asarray(bands)
    return lapack_bands(bands)[: bands.shape[0] // 2 + 1]


def sparse_bands(bands: Any) -> Any:
    """The matrix as SciPy has it."""
    bands = np.asarray(bands)
    p, n = bands.shape[0] // 2, bands.shape[1]
    offsets = range(-min(p, n - 1), min(p, n - 1) + 1)
    rows = [bands[p + k, max(0, -k) : min(n, n - k)] for k in offsets]
    return sparse.diags(rows, list(offsets), shape=(n, n))  # type: ignore[arg-type]
