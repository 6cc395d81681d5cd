"""Which solver to take when the user names none."""

from __future__ import annotations

from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.chebyshev_filter import ChebyshevFilter
from zitter.eigensolvers.direct import DENSE_LIMIT, Direct, has_short_form
from zitter.eigensolvers.lobpcg import LOBPCG
from zitter.eigensolvers.preconditioners import can_separate
from zitter.hamiltonian import Hamiltonian

SMALL = 1024  # unknowns that LAPACK treats in the time an iterative solver needs to compile


def recommended(H: Hamiltonian, n: int) -> Eigensolver:
    """Direct for small, banded, radial or non-orthonormal problems, LOBPCG on large grids."""
    several_axes = len(H.shape) > 1
    if H.basis.size <= SMALL or not H.basis.orthonormal or 8 * n > H.basis.size:
        return Direct()
    if several_axes and can_separate(H):
        return LOBPCG()
    if H.basis.size <= DENSE_LIMIT or has_short_form(H.operator) or not H.operator.bounded_below:
        return Direct()
    if H.basis.finds_states(H.operator):
        return Direct()
    return ChebyshevFilter()
