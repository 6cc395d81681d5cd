"""The states nearest to an energy σ: the largest eigenvalues of (H − σS)⁻¹S, by Lanczos (ARPACK).

Ericsson and Ruhe, Math. Comput. 35, 1251 (1980). Lanczos iterations may miss members of a
degenerate level, so what has been found is projected out and the search repeated until nothing
nearer appears.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

SMALL = 64  # unknowns for which all states are found at once


def nearest(matrix: Any, metric: Any, n: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """(energies, states as columns) of the n solutions of Hc = ESc nearest to σ, rising in energy.

    H and S (None for the identity) are both sparse or both dense.
    """
    size = matrix.shape[0]
    if size <= SMALL or n > size // 4:
        energies, vectors = scipy.linalg.eigh(_dense(matrix), _dense(metric))
        return _kept(energies, vectors, n, sigma)
    try:
        solve = factorized(matrix, metric, sigma)
    except RuntimeError:  # σ is an eigenvalue to the last bit
        sigma += 1e-8 * (1 + abs(sigma))
        solve = factorized(matrix, metric, sigma)
    energies, vectors = _lanczos(matrix, metric, n, sigma, solve, np.zeros((size, 0)))
    while True:
        energy, vector = _lanczos(matrix, metric, 1, sigma, solve, vectors)
        missed = abs(energy[0] - sigma) < np.max(np.abs(energies - sigma))
        if not missed:
            return _kept(energies, vectors, n, sigma)
        energies = np.concatenate([energies, energy])
        vectors = np.concatenate([vectors, vector], axis=1)


def _kept(energies: np.ndarray, vectors: np.ndarray, n: int, sigma: float):
    chosen = np.argsort(np.abs(energies - sigma), kind="stable")[:n]
    chosen = chosen[np.argsort(energies[chosen], kind="stable")]
    return energies[chosen], vectors[:, chosen]


def _lanczos(matrix, metric, n: int, sigma: float, solve: Callable, known: np.ndarray):
    """n states outside the span of those known."""
    size = matrix.shape[0]
    images = known if metric is None else metric @ known

    def inverse(v):
        found = solve(v)
        return found - known @ (images.conj().T @ found)

    # SciPy's own type hints do not know these calls.
    operator = scipy.sparse.linalg.LinearOperator(
        matrix.shape,
        inverse,
        dtype=matrix.dtype,  # type: ignore
    )
    start = np.random.default_rng(20).standard_normal(size)
    found: Any = scipy.sparse.linalg.eigsh(
        matrix, n, metric, sigma, "LM", start, OPinv=operator, tol=0
    )
    vectors = found[1]
    # For complex matrices ARPACK does not orthogonalize the states of a degenerate level.
    products = (vectors if image is None else image @ vectors for image in (matrix, metric))
    energies, mix = scipy.linalg.eigh(*(vectors.conj().T @ product for product in products))
    return energies, vectors @ mix


def factorized(matrix: Any, metric: Any, sigma: complex) -> Callable[[np.ndarray], np.ndarray]:
    """v ↦ (H − σS)⁻¹v."""
    if sparse.issparse(matrix):
        identity = sparse.identity(matrix.shape[0])
        shifted = (matrix - sigma * (identity if metric is None else metric)).tocsc()
        # This order of elimination suits symmetric patterns: half the time of the default.
        return scipy.sparse.linalg.splu(shifted, permc_spec="MMD_AT_PLUS_A").solve
    identity = np.eye(matrix.shape[0])
    shifted = matrix - sigma * (identity if metric is None else metric)
    factors = scipy.linalg.lu_factor(shifted, check_finite=False)
    if not np.all(np.diag(factors[0])):
        raise RuntimeError("a pivot vanishes")
    return lambda v: scipy.linalg.lu_solve(factors, v)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
