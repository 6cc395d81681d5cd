"""Direct diagonalization on the host: dense, banded where the operator is, or shift-invert."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import checks
from zitter.bases.base import Basis
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.matrices import (
    DENSE_LIMIT,
    dense_matrix,
    dense_metric,
    factors_near,
    full_matrix,
    matrices,
    memory_near,
    require_matrices,
)
from zitter.linalg.bands import lapack_upper
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.shift_invert import all_at_once, factorized, nearest
from zitter.segments import memory_to_call

_NEAR = "Direct(near=…)"


class Direct(Eigensolver):
    """LAPACK on the whole matrix: exact to rounding, for up to 8192 unknowns or a 1D banded H.

    With `near` it finds the n states nearest to that energy, in the interior of the spectrum, by
    shift-invert: also on grids of up to 32768 points with finite differences.
    """

    near: float | None = eqx.field(static=True)

    def __init__(self, near: float | str | None = None):
        self.near = None if near is None else float(checks.scalar("near", near, "energy"))

    def check(self, H, n):
        Eigensolver.check(self, H, n)
        if self.near is not None and not H.basis.finds_states(H.operator):
            require_matrices(H, _NEAR, n)

    def memory(self, H, n):
        """Of dense matrices: while H is made, or H and LAPACK's copy of it; S likewise. Of sparse
        ones with their factors."""
        if H.basis.finds_states(H.operator):
            return None
        if self.near is not None and not all_at_once(H.basis.size, n):
            return memory_near(H, n)
        short = self.near is None and H.basis.orthonormal and has_short_form(H.operator)
        if short or H.basis.size > DENSE_LIMIT:
            return None
        matrix = H.basis.size**2 * np.dtype(H.operator.dtype).itemsize
        made = memory_to_call(full_matrix, H.operator)
        return max(made, (2 if H.basis.orthonormal else 4) * matrix)

    def factors(self, H):
        if self.near is None or H.basis.finds_states(H.operator):
            return None
        return factors_near(H)

    def factorize(self, H):
        assert self.near is not None
        factorized(*matrices(H, _NEAR), self.near, H.shape)

    @property
    def on_other_bases(self):
        return None if self.near is None else self

    def solve(self, H, n):
        operator, basis = H.operator, H.basis
        if n > operator.size:
            raise checks.InputError("n", f"must be at most {operator.size}, but is {n}")
        info = {} if self.near is None else {"near": self.near}
        found = basis.stationary(operator, n, self.near)
        if found is not None:
            energies, states, how = found
            return energies, states, info | {"solver": how}
        if self.near is None:
            energies, vectors, how = _lowest(operator, basis, n)
        else:
            how = f"shift-invert near {self.near:g} hartree"
            energies, vectors = nearest(*matrices(H, _NEAR), n, self.near, H.shape)
        states = jnp.asarray(vectors.T).reshape(-1, *basis.shape)
        return energies, states / jnp.asarray(basis.norm(states[0])), info | {"solver": how}


def _lowest(operator: Operator, basis: Basis, n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """(energies, states as columns, how)."""
    if isinstance(operator, Diagonal):
        return *_sorted(operator, n), "sorting"
    if not operator.bounded_below:
        raise Unsupported(
            "this Hamiltonian has no lowest states: positrons lie below all electrons; "
            "use H.static, whose states keep κ and μ"
        )
    if basis.orthonormal and has_short_form(operator):
        bands = np.asarray(operator.as_banded().bands)
        return *_banded(bands, n), f"LAPACK, banded ({len(bands)} diagonals)"
    if operator.size > DENSE_LIMIT:
        raise Unsupported(
            f"Direct takes at most {DENSE_LIMIT} unknowns, but this basis has {operator.size}; "
            "use an iterative solver"
        )
    energies, vectors = scipy.linalg.eigh(
        dense_matrix(operator), dense_metric(basis), subset_by_index=(0, n - 1)
    )
    return energies, vectors, "LAPACK, dense"


def has_short_form(operator: Operator) -> bool:
    """Whether the lowest states need no full matrix, whatever the size."""
    try:
        operator.as_banded()
    except Unsupported:
        return isinstance(operator, Diagonal)
    return True


def _sorted(operator: Diagonal, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A diagonal H is solved: unit vectors in the order of their energies."""
    values = np.asarray(operator.full()).reshape(-1)
    lowest = np.argsort(values, kind="stable")[:n]
    vectors = np.zeros((len(values), n))
    vectors[lowest, np.arange(n)] = 1.0
    return values[lowest], vectors


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
