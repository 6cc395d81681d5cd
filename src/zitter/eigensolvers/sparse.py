"""Operators as sparse matrices (SciPy), for what is factorized on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from zitter.bases.base import Basis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.linalg.banded import Banded
from zitter.linalg.bands import sparse_bands
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.blocks import AngularCoupling, RadialBlocks
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import Sum


def as_sparse(operator: Operator) -> Any:
    """The matrix of an operator that couples each unknown to few others."""
    match operator:
        case Sum():
            return _sum([as_sparse(part) for part in operator.parts])
        case Diagonal():
            return sparse_bands(np.asarray(operator.full()).reshape(1, -1))
        case Banded():
            return sparse_bands(operator.bands)
        case Stencil():
            return _sum([_along_axis(operator, axis) for axis in range(len(operator.shape))])
        case RadialBlocks():
            return sparse.block_diag([sparse_bands(bands) for bands in operator.bands])
        case AngularCoupling():
            pairs = zip(np.asarray(operator.angular), np.asarray(operator.bands), strict=True)
            parts = [sparse.kron(angular, sparse_bands(bands)) for angular, bands in pairs]
            turned = operator.phase.imag != 0
            return (operator.phase if turned else operator.phase.real) * _sum(parts)
        case _:
            raise Unsupported(f"{type(operator).__name__} has no sparse matrix")


def sparse_metric(basis: Basis) -> Any:
    """S as a sparse matrix; None stands for the identity."""
    if basis.orthonormal:
        return None
    if not isinstance(basis, SphericalBasis):
        raise Unsupported(f"{type(basis).__name__} has no sparse overlap")
    return sparse.kron(sparse.identity(basis.shape[0]), sparse_bands(basis.radial.overlap))


def _along_axis(stencil: Stencil, axis: int) -> Any:
    """The differences along one axis; the points before and after it stay what they are."""
    p, n = stencil.half_width, stencil.shape[axis]
    steps = np.arange(-p, p + 1)
    row = np.asarray(stencil.coefficients)[axis]
    if stencil.periodic:
        steps, row = np.concatenate([steps - n, steps, steps + n]), np.tile(row, 3)
    inside = np.abs(steps) < n
    diagonals = [c * np.ones(n - abs(k)) for k, c in zip(steps[inside], row[inside], strict=True)]
    matrix = sparse.diags(diagonals, steps[inside].tolist(), shape=(n, n))  # type: ignore[arg-type]
    before = sparse.identity(int(np.prod(stencil.shape[:axis])))
    after = sparse.identity(int(np.prod(stencil.shape[axis + 1 :])))
    return sparse.kron(sparse.kron(before, matrix), after)


def _sum(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])
