"""H and S on the host: sparse where they have such a form, else dense."""

from __future__ import annotations

import contextlib
from typing import Any

import equinox as eqx
import jax
import numpy as np

from zitter.bases.base import Basis, dense_overlap
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported

DENSE_LIMIT = 8192
SPARSE_LIMIT = 32768  # the factors of a cube of 32³ points take 1 GB with order 4


def matrices(H: Hamiltonian, method: str) -> tuple[Any, Any]:
    """H and S, both sparse or both dense; S is None for one."""
    size = H.basis.size
    if size <= SPARSE_LIMIT or len(H.shape) == 1:
        with contextlib.suppress(Unsupported):
            return H.operator.as_sparse(), H.basis.sparse_overlap()
    if size > DENSE_LIMIT:
        raise Unsupported(
            f"{method} takes at most {DENSE_LIMIT} unknowns, or {SPARSE_LIMIT} on splines "
            f"and on grids with Kinetic(order=2, 4, 6 or 8), but this basis has {size}"
        )
    return dense_matrix(H.operator), dense_metric(H.basis)


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
