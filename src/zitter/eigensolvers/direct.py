"""Direct diagonalisation on the host: dense, or banded where the operator is."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.base import Basis
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.channels import lowest_of_all
from zitter.eigensolvers.dirac import lowest_electrons
from zitter.operators.base import Operator, Unsupported
from zitter.operators.blocks import RadialBlocks
from zitter.operators.diagonal import Diagonal
from zitter.operators.spinor_blocks import SpinorBlocks

DENSE_LIMIT = 8192


class Direct(Eigensolver):
    """LAPACK on the whole matrix: exact to rounding, for up to 8192 unknowns or a 1D banded H."""

    def solve(self, H, n):
        operator = H.operator
        size = operator.size
        if n > size:
            raise checks.InputError("n", f"must be at most {size}, but is {n}")
        if isinstance(operator, RadialBlocks):
            energies, states = lowest_of_all(H, n)
            return energies, states, {"solver": "LAPACK, one channel at a time"}
        if isinstance(operator, SpinorBlocks):
            energies, states = lowest_electrons(H, n)
            return energies, states, {"solver": "LAPACK, one κ at a time"}
        if isinstance(operator, Diagonal):
            return *_sorted(operator, H.basis, n), {"solver": "sorting"}
        if not operator.bounded_below:
            raise Unsupported(
                "this Hamiltonian has no lowest states: positrons lie below all electrons; "
                "use H.static, whose states keep κ and μ"
            )
        try:
            bands = np.asarray(operator.as_banded().bands)
        except Unsupported:
            bands = None
        if bands is not None:
            energies, vectors = _banded(bands, n)
            method = f"LAPACK, banded ({len(bands)} diagonals)"
        elif size <= DENSE_LIMIT:
            matrix = np.asarray(_matrix(operator))
            metric = None if H.basis.orthonormal else _metric(H.basis)
            energies, vectors = scipy.linalg.eigh(
                0.5 * (matrix + matrix.conj().T), metric, subset_by_index=(0, n - 1)
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


@eqx.filter_jit
def _matrix(operator: Operator) -> jax.Array:
    """H as a full matrix; compiled once for all operators of a kind, as moving nuclei need it."""
    return operator.as_matrix()


def _metric(basis: Basis) -> np.ndarray:
    """S as a full matrix."""
    unit = jnp.eye(basis.size).reshape(basis.size, *basis.shape)
    columns = jax.lax.map(basis.overlap, unit, batch_size=256)
    return np.asarray(columns).reshape(basis.size, basis.size).T


def _sorted(operator: Diagonal, basis: Basis, n: int):
    """A diagonal H is solved: unit vectors in the order of their energies."""
    values = np.asarray(operator.full())
    lowest = np.argsort(values, axis=None, kind="stable")[:n]
    states = jnp.zeros((n, basis.size)).at[np.arange(n), lowest].set(1.0)
    return values.reshape(-1)[lowest], states.reshape(n, *basis.shape)


def _banded(bands: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The lowest states; a real tridiagonal matrix needs no reduction, which costs n² otherwise."""
    if len(bands) == 3 and not np.iscomplexobj(bands):
        energies, vectors = scipy.linalg.eigh_tridiagonal(
            bands[1], bands[2, :-1], select="i", select_range=(0, n - 1)
        )
    else:
        energies, vectors = scipy.linalg.eig_banded(
            _upper(bands), select="i", select_range=(0, n - 1)
        )
    return np.asarray(energies), np.asarray(vectors)


def _upper(bands: np.ndarray) -> np.ndarray:
    """LAPACK's upper form a[p + i − j, j] = H[i, j] from bands[p + k, j] = H[j, j + k]."""
    p, n = bands.shape[0] // 2, bands.shape[1]
    upper = np.zeros((p + 1, n), bands.dtype)
    for k in range(p + 1):
        upper[p - k, k:] = bands[p + k, : n - k]
    return upper
