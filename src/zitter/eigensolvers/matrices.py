"""H and S on the host: sparse where they have such a form, else dense."""

from __future__ import annotations

import contextlib
from typing import Any

import equinox as eqx
import jax
import numpy as np

from zitter import checks
from zitter.bases.base import Basis, dense_overlap
from zitter.eigensolvers.base import Factors
from zitter.hamiltonian import Hamiltonian
from zitter.linalg import shift_invert
from zitter.linalg.base import Operator, Unsupported

DENSE_LIMIT = 8192
SPARSE_LIMIT = 32768  # unknowns of a cube of 32³ points, whose factors fit most memories


def matrices(H: Hamiltonian, method: str) -> tuple[Any, Any]:
    """H and S, both sparse or both dense; S is None for one."""
    found = _sparse(H)
    if found is None:
        _require_few(H, method)
        found = dense_matrix(H.operator), dense_metric(H.basis)
    return found


def require_matrices(H: Hamiltonian, method: str, n: int = 0) -> None:
    """That `matrices` can be made, and where n of their states need them as full ones, those."""
    size = H.basis.size
    if size > DENSE_LIMIT and shift_invert.all_at_once(size, n):
        raise checks.InputError(
            "n", f"must be at most {size // 4} of {size} unknowns for {method}, but is {n}"
        )
    if size > DENSE_LIMIT and _bands(H) is None and _sparse(H) is None:
        _require_few(H, method)


def _require_few(H: Hamiltonian, method: str) -> None:
    if H.basis.size > DENSE_LIMIT:
        raise Unsupported(
            f"{method} takes at most {DENSE_LIMIT} unknowns, or {SPARSE_LIMIT} on splines "
            "and on grids with Kinetic(order=2, 4, 6 or 8), but this basis has "
            f"{H.basis.size}"
        )


def _sparse(H: Hamiltonian) -> tuple[Any, Any] | None:
    if H.basis.size <= SPARSE_LIMIT or len(H.shape) == 1:
        with contextlib.suppress(Unsupported):
            return H.operator.as_sparse(), H.basis.sparse_overlap()
    return None


def _bands(H: Hamiltonian) -> int | None:
    """How many diagonals a matrix on a line has; nothing is made."""
    if len(H.shape) == 1:
        with contextlib.suppress(Unsupported):
            form = eqx.filter_eval_shape(lambda operator: operator.as_banded().bands, H.operator)
            return form.shape[0]
    return None


def factors_near(H: Hamiltonian) -> Factors | None:
    """What is factorized for states near an energy; None where they cannot be found. Nothing of
    its size is made: on a line and of full matrices, shapes tell."""
    size, each = H.basis.size, np.dtype(H.operator.dtype).itemsize
    bands = _bands(H)
    if bands is not None:
        numbers = 3 * bands * size
        return Factors(3.0 * bands**2 * size, numbers, 2 * numbers * (each + 4))
    pair = _sparse(H)
    if pair is not None:
        cut = shift_invert.dissection(*pair, H.shape)
        # Each number has an index of four bytes, but for L, where columns share those of rows.
        made = cut.numbers * (each + 2) + 4 * pair[0].nnz * (each + 4)
        return Factors(cut.operations, cut.numbers, made)
    if size > DENSE_LIMIT:
        return None
    return Factors(2 / 3 * size**3, size**2, 4 * size**2 * each)


def memory_near(H: Hamiltonian, n: int) -> int | None:
    """Bytes of matrices, factors and ARPACK's vectors."""
    found, each = factors_near(H), np.dtype(H.operator.dtype).itemsize
    vectors = 2 * max(2 * n + 1, 20) * H.basis.size * each
    return None if found is None else found.memory + vectors


def dense_matrix(operator: Operator) -> np.ndarray:
    """H as a full matrix, without what rounding leaves of H − H† where that is zero."""
    matrix = np.asarray(full_matrix(operator))
    return 0.5 * (matrix + matrix.conj().T) if operator.hermitian else matrix


def dense_metric(basis: Basis) -> np.ndarray | None:
    """S as a full matrix, None for one."""
    return None if basis.orthonormal else dense_overlap(basis)


@eqx.filter_jit
def full_matrix(operator: Operator) -> jax.Array:
    """Compiled once for all operators of a kind, as moving nuclei need it."""
    return operator.as_matrix()
