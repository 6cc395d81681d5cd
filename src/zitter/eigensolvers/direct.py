"""Direct diagonalisation on the host: dense, or banded where the operator is."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.eigensolvers.base import Eigensolver
from zitter.operators.base import Unsupported

DENSE_LIMIT = 8192


class Direct(Eigensolver):
    """LAPACK on the whole matrix: exact to rounding, for up to 8192 unknowns or a 1D banded H."""

    def solve(self, H, n):
        operator = H.operator
        size = operator.size
        if n > size:
            raise checks.InputError("n", f"must be at most {size}, but is {n}")
        try:
            bands = np.asarray(operator.as_banded().bands)
        except Unsupported:
            bands = None
        if bands is not None:
            half = bands.shape[0] // 2
            energies, vectors = scipy.linalg.eig_banded(
                _upper(bands), select="i", select_range=(0, n - 1)
            )
            method = f"LAPACK, banded ({2 * half + 1} diagonals)"
        elif size <= DENSE_LIMIT:
            matrix = np.asarray(operator.as_matrix())
            energies, vectors = scipy.linalg.eigh(
                0.5 * (matrix + matrix.conj().T), subset_by_index=(0, n - 1)
            )
            method = "LAPACK, dense"
        else:
            raise Unsupported(
                f"Direct takes at most {DENSE_LIMIT} unknowns, but this basis has {size}; "
                "use an iterative solver"
            )
        states = jnp.asarray(vectors.T).reshape(n, *H.basis.shape)
        states = states / jnp.asarray(H.basis.norm(states[0]))
        return energies, states, {"solver": method}


def _upper(bands: np.ndarray) -> np.ndarray:
    """LAPACK's upper form a[p + i − j, j] = H[i, j] from bands[p + k, j] = H[j, j + k]."""
    p, n = bands.shape[0] // 2, bands.shape[1]
    upper = np.zeros((p + 1, n), bands.dtype)
    for k in range(p + 1):
        upper[p - k, k:] = bands[p + k, : n - k]
    return upper
