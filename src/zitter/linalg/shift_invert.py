"""The states nearest to an energy σ: the largest eigenvalues of A = (H − σS)⁻¹S, by Lanczos
iterations, or Arnoldi's where H is not Hermitian (ARPACK).

Ericsson and Ruhe, Math. Comput. 35, 1251 (1980). Iterations may miss members of a degenerate level,
so what has been found is projected out and the search repeated, from another vector, until nothing
nearer appears. Where σ is as good as an eigenvalue, A knows of nothing but that one, and of all
others only to rounding times 1/|E − σ|: then a shift τ beside σ is inverted. What is then found
around τ is all there is around σ once the next state E is as far away as

    |E − τ| ≥ |Eₙ − σ| + |τ − σ|

Rounding is measured by what a state adds up, ‖|H||c|‖/‖Sc‖: ‖H‖ itself may be that of a wall or of
the finest knots, where these states are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

from zitter import checks
from zitter.linalg.dissection import Dissection

SMALL = 64  # unknowns for which all states are found at once
PIVOT = 0.01  # of a column's largest number: a diagonal that is smaller is not divided by
CLOSE = 1e-4, 1e-10  # to σ: of the distance of the farthest state asked for, and of ‖|H||c|‖/‖Sc‖
ASIDE = 1e-2, 1e-9  # how far the shift then moves, likewise
ONE_LEVEL = 1e-3  # its states are as far from σ to this part
ALIKE = 1e-9, 1e-12  # distances, in parts of them and of ‖|H||c|‖/‖Sc‖
TRIES = 5
FARTHER = 30.0  # the shift moves where a search fails
RESTARTS = 30  # of iterations that converge in ten or so
UNSOLVED = 1e-6  # of ‖|H||c|‖/‖Sc‖: a state with such a residual is none
Shape = tuple[int, ...]
Solve = Callable[[np.ndarray], np.ndarray]
Found = tuple[np.ndarray, np.ndarray]  # energies, states as columns


def nearest(matrix: Any, metric: Any, n: int, sigma: float, shape: Shape = ()) -> Found:
    """(energies, states as columns) of the n solutions of Hc = ESc nearest to σ, rising in energy.

    H and S (None for the identity) are Hermitian, both sparse or both dense; `shape` is that of a
    state.
    """
    if all_at_once(matrix.shape[0], n):
        found = scipy.linalg.eigh(_dense(matrix), _dense(metric))
    else:
        found = _complete(_lanczos, matrix, metric, n, sigma, shape)
    energies, vectors = _kept(found, n, sigma)
    order = np.argsort(energies, kind="stable")
    return energies[order], vectors[:, order]


def nearest_decaying(matrix: Any, metric: Any, n: int, sigma: complex, shape: Shape = ()) -> Found:
    """The same of any H and S, the nearest first."""
    if all_at_once(matrix.shape[0], n):
        found: Any = scipy.linalg.eig(_dense(matrix), _dense(metric))
    else:
        found = _complete(_arnoldi, matrix, metric, n, complex(sigma), shape)
    return _kept(found, n, sigma)


def all_at_once(size: int, n: int) -> bool:
    """Whether all states are found, from a full matrix."""
    return size <= SMALL or n > size // 4


def _complete(
    search: Callable[..., Found], matrix: Any, metric: Any, n: int, sigma: Any, shape: Shape
) -> Found:
    """The n states nearest to σ, by a shift at σ or as near as can be."""
    shift, aside, reason = sigma, ASIDE[1] * _least(matrix, metric), None
    for attempt in range(TRIES):
        try:
            solve = factorized(matrix, metric, shift, shape)
            found = _around(search, matrix, metric, n, shift, solve)
            whole = _added_up(matrix, metric, found[1])
            apart = np.abs(found[0] - shift)
            near, far = apart.min(), apart.max()
            if near > max(CLOSE[0] * far, CLOSE[1] * whole):
                return _all(search, matrix, metric, n, sigma, shift, solve, found)
            aside = max(aside, ASIDE[1] * whole)
            if near > CLOSE[1] * whole:  # else others are not known
                aside = max(aside, ASIDE[0] * far)
        # An eigenvalue to the last bit; iterations that do not end.
        except (RuntimeError, np.linalg.LinAlgError) as error:
            reason, aside = error, FARTHER * aside
        # Another part of it each time: there may be an eigenvalue, too.
        shift = sigma + 1.37**attempt * aside
    raise _lost(sigma) from reason


def _around(
    search: Callable[..., Found], matrix: Any, metric: Any, n: int, shift: Any, solve: Solve
) -> Found:
    """The states nearest to a shift: one more than n tells how far others are. There may be fewer,
    where states of one level come out one after another."""
    found = search(matrix, metric, n + 1, shift, solve, np.zeros((matrix.shape[0], 0)))
    apart = np.abs(found[0] - shift)
    if apart.max() > (1 + ONE_LEVEL) * apart.min():
        return found
    return _both(found, search(matrix, metric, 1, shift, solve, found[1]))


def _all(
    search: Callable[..., Found],
    matrix: Any,
    metric: Any,
    n: int,
    sigma: Any,
    shift: Any,
    solve: Solve,
    found: Found,
) -> Found:
    """The n states nearest to σ, beginning with some that are near the shift."""
    while found[1].shape[1] < matrix.shape[0] // 2:
        one = search(matrix, metric, 1, shift, solve, found[1])
        whole = _added_up(matrix, metric, np.concatenate([found[1], one[1]], axis=1))
        within = np.sort(np.abs(found[0] - sigma))[n - 1 : n] + abs(shift - sigma)
        if (abs(one[0][0] - shift) >= (1 - ALIKE[0]) * within - ALIKE[1] * whole).any():
            kept = _kept(found, n, sigma)
            if _residual(matrix, metric, kept) > UNSOLVED * whole:
                break
            return kept
        if _residual(matrix, metric, one) > UNSOLVED * whole:
            break
        found = _both(found, one)
    raise _lost(sigma)


def _lost(sigma: Any) -> checks.RunError:
    return checks.RunError(
        f"the states nearest to {sigma:g} hartree could not be told from others: take another "
        "energy, or more states"
    )


def _least(matrix: Any, metric: Any) -> float:
    """The least that a state could add up, from the columns of H; of no column of zeros."""
    columns = np.ravel(abs(matrix).sum(axis=0))
    if metric is not None:
        columns = columns / np.ravel(abs(metric).sum(axis=0))
    return float(columns.min(where=columns > 0, initial=columns.max())) or 1.0


def _added_up(matrix: Any, metric: Any, vectors: np.ndarray) -> float:
    """The largest of ‖|H||c|‖/‖Sc‖."""
    images = vectors if metric is None else metric @ vectors
    sums = np.linalg.norm(abs(matrix) @ np.abs(vectors), axis=0)
    return float((sums / np.linalg.norm(images, axis=0)).max())


def _residual(matrix: Any, metric: Any, found: Found) -> float:
    """The largest of |Hc − ESc|, in units of |Sc|."""
    energies, vectors = found
    images = vectors if metric is None else metric @ vectors
    wrong = np.abs(matrix @ vectors - images * energies).max(axis=0)
    return float((wrong / np.abs(images).max(axis=0)).max())


def _both(one: Found, other: Found) -> Found:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]], axis=1)


def _kept(found: Found, n: int, sigma: complex) -> Found:
    """The n nearest, the nearest first."""
    chosen = np.argsort(np.abs(found[0] - sigma), kind="stable")[:n]
    return found[0][chosen], found[1][:, chosen]


def _lanczos(
    matrix: Any, metric: Any, n: int, sigma: float, solve: Solve, known: np.ndarray
) -> Found:
    """n states outside the span of those known."""
    images = known if metric is None else metric @ known

    def inverse(v):
        # From both sides, so that it is Hermitian to rounding.
        found = solve(v - images @ (known.conj().T @ v))
        return found - known @ (images.conj().T @ found)

    # SciPy's own type hints do not know these calls.
    operator = scipy.sparse.linalg.LinearOperator(
        matrix.shape,
        inverse,
        dtype=matrix.dtype,  # type: ignore
    )
    vectors = _converged(
        lambda **limits: scipy.sparse.linalg.eigsh(
            matrix, n, metric, sigma, "LM", _start(known), OPinv=operator, **limits
        )
    )[1]
    # For complex matrices ARPACK does not orthogonalize the states of a degenerate level.
    products = (vectors if image is None else image @ vectors for image in (matrix, metric))
    energies, mix = scipy.linalg.eigh(*(vectors.conj().T @ product for product in products))
    return energies, vectors @ mix


def _arnoldi(
    matrix: Any, metric: Any, n: int, sigma: complex, solve: Solve, known: np.ndarray
) -> Found:
    """The same where H is not Hermitian: beside an orthonormal frame W of those known the other
    eigenvalues μ are those of (1 − WW†)A, with Schur vectors y. To states they are made by

        x = y + Wc,    (W†AW − μ) c = −W†Ay
    """
    frame = np.linalg.qr(known)[0]

    def inverse(v: np.ndarray) -> np.ndarray:
        return solve(v if metric is None else metric @ v)

    def outside(v: np.ndarray) -> np.ndarray:
        return v - frame @ (frame.conj().T @ v)

    # ARPACK's own generalized mode wants a Hermitian S, so the inverse is applied here.
    # SciPy's own type hints do not know this call.
    operator: Any = scipy.sparse.linalg.LinearOperator(
        matrix.shape,
        lambda v: outside(inverse(v)),
        dtype=complex,  # type: ignore
    )
    values, vectors = _converged(
        lambda **limits: scipy.sparse.linalg.eigs(
            operator, n, which="LM", v0=outside(_start(known) + 0j), **limits
        )
    )
    if known.shape[1]:
        inner = frame.conj().T @ np.stack([inverse(w) for w in frame.T], axis=1)
        for k, value in enumerate(values):
            coupling = frame.conj().T @ inverse(vectors[:, k])
            here = inner - value * np.eye(len(inner))
            vectors[:, k] -= frame @ np.linalg.lstsq(here, coupling, rcond=None)[0]
        vectors /= np.linalg.norm(vectors, axis=0)
    return sigma + 1 / values, vectors


def _converged(iterations: Callable[..., Any]) -> Any:
    """Eigenvalues and vectors that ARPACK finds; at least one."""
    try:
        return iterations(tol=1e-14, maxiter=RESTARTS)
    except scipy.sparse.linalg.ArpackNoConvergence as error:
        if not len(error.eigenvalues):
            raise
        return error.eigenvalues, error.eigenvectors


def _start(known: np.ndarray) -> np.ndarray:
    """Another vector for each search: of a degenerate level one and the same knows one state."""
    return np.random.default_rng(20 + known.shape[1]).standard_normal(len(known))


def dissection(matrix: Any, metric: Any, shape: Shape) -> Dissection:
    """How unknowns of a sparse pair are eliminated."""
    both = matrix if metric is None else abs(matrix) + abs(metric)
    return Dissection.of(both, shape or matrix.shape[:1])


def factorized(matrix: Any, metric: Any, sigma: complex, shape: Shape = ()) -> Solve:
    """v ↦ (H − σS)⁻¹v."""
    if sparse.issparse(matrix):
        identity = sparse.identity(matrix.shape[0])
        shifted = (matrix - sigma * (identity if metric is None else metric)).tocsc()
        order = dissection(matrix, metric, shape).order()
        # Rows stay beside their columns, so that the order is that of the factors, too: pivots
        # taken freely fill them up in the middle of the spectrum, tenfold in a plane.
        factors = scipy.sparse.linalg.splu(
            shifted[order][:, order].tocsc(),
            permc_spec="NATURAL",
            diag_pivot_thresh=PIVOT,
            options={"SymmetricMode": True},
        )

        def solve(v: np.ndarray) -> np.ndarray:
            found = np.empty_like(v, np.result_type(v, shifted.dtype))
            found[order] = factors.solve(v[order])
            return found

        return solve
    identity = np.eye(matrix.shape[0])
    shifted = matrix - sigma * (identity if metric is None else metric)
    factors = scipy.linalg.lu_factor(shifted, check_finite=False)
    if not np.all(np.diag(factors[0])):
        raise RuntimeError("a pivot vanishes")
    return lambda v: scipy.linalg.lu_solve(factors, v)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
