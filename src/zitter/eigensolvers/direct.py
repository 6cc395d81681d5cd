"""Direct diagonalization on the host: dense, banded where the operator is, or shift-invert."""

from __future__ import annotations

import contextlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.channels import lowest_of_all, nearest_of_all
from zitter.eigensolvers.dirac import lowest_electrons, nearest_spinors
from zitter.eigensolvers.shift_invert import nearest
from zitter.eigensolvers.sparse import as_sparse, sparse_metric
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.bands import lapack_upper
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.diagonal import Diagonal

DENSE_LIMIT = 8192
SPARSE_LIMIT = 32768  # the factors of a cube of 32³ points take 1 GB with order 4


class Direct(Eigensolver):
    """LAPACK on the whole matrix: exact to rounding, for up to 8192 unknowns or a 1D banded H.

    With `near` it finds the n states nearest to that energy, in the interior of the spectrum, by
    shift-invert: also on grids of up to 32768 points with finite differences. There 32³ points
    with order 4 take half a minute on two CPU cores.
    """

    near: float | None = eqx.field(static=True)

    def __init__(self, near: float | str | None = None):
        self.near = None if near is None else float(checks.scalar("near", near, "energy"))

    def solve(self, H, n):
        operator = H.operator
        size = operator.size
        if n > size:
            raise checks.InputError("n", f"must be at most {size}, but is {n}")
        if self.near is not None:
            return self._nearest(H, n, self.near)
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
        return energies, _as_states(H.basis, vectors), {"solver": method}

    def _nearest(self, H, n, near):
        info = {"solver": f"shift-invert near {near:g} hartree", "near": near}
        if isinstance(H.operator, RadialBlocks):
            return *nearest_of_all(H, n, near), info
        if isinstance(H.basis, SpinorBasis):
            return *nearest_spinors(H, n, near), info | {"solver": "LAPACK, one κ at a time"}
        matrix, metric = _matrices(H)
        energies, vectors = nearest(matrix, metric, n, near)
        return energies, _as_states(H.basis, vectors), info


def has_short_form(operator: Operator) -> bool:
    """Whether `Direct` needs no full matrix for the lowest states, whatever the size."""
    if isinstance(operator, RadialBlocks | SpinorBlocks | Diagonal):
        return True
    try:
        operator.as_banded()
    except Unsupported:
        return False
    return True


def _as_states(basis: Basis, vectors: np.ndarray) -> jax.Array:
    states = jnp.asarray(vectors.T).reshape(-1, *basis.shape)
    return states / jnp.asarray(basis.norm(states[0]))


def _matrices(H: Hamiltonian) -> tuple[Any, Any]:
    """H and S: sparse where they have such a form, else dense; S is None for the identity."""
    size = H.basis.size
    if size <= SPARSE_LIMIT or len(H.shape) == 1:
        with contextlib.suppress(Unsupported):
            return as_sparse(H.operator), sparse_metric(H.basis)
    if size > DENSE_LIMIT:
        raise Unsupported(
            f"Direct(near=…) takes at most {DENSE_LIMIT} unknowns, or {SPARSE_LIMIT} on splines "
            f"and on grids with Kinetic(order=2, 4, 6 or 8), but this basis has {size}"
        )
    matrix = np.asarray(_matrix(H.operator))
    return 0.5 * (matrix + matrix.conj().T), None if H.basis.orthonormal else _metric(H.basis)


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
            lapack_upper(bands), select="i", select_range=(0, n - 1)
        )
    return np.asarray(energies), np.asarray(vectors)
