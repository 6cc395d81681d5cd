"""Direct solution with one banded matrix for each κ, S(κ) + iΔt/2 H₀(κ), for all μ at once.

Channels of one κ share their matrix, so a solution is a few products of stored inverses with 2|κ|
right-hand sides: the factors of `RadialSolver` (chunks of unknowns, and the Schur complement of
those between them), met by matrices instead of vectors. |κ| is cut into classes, so that little is
computed for the pairs |μ| > |κ| that do not exist.
"""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.spinor.basis import SpinorBasis
from zitter.linalg.base import Solver
from zitter.linalg.radial_solver import RadialSolver

CLASSES = 4


class SpinorSolver(Solver):
    """Factors of bands[k, p + i, j] = M_κ[j, j + i]; `solve` gives M⁻¹ of a state."""

    factors: tuple[RadialSolver, ...]
    basis: SpinorBasis = eqx.field(static=True)

    def __init__(self, basis: SpinorBasis, bands: jax.Array):
        """`bands` has one matrix for each of `basis.distinct_kappas`."""
        self.basis = basis
        bands = bands.astype(jnp.result_type(bands, jnp.complex64))
        self.factors = tuple(RadialSolver(bands[a:b]) for a, b, _ in _classes(basis))

    def solve(self, rhs: jax.Array) -> jax.Array:
        padded = jnp.pad(rhs, ((0, 1), (0, 0)))
        pieces = [
            factor.solve_many(padded[places])
            for factor, (_, _, places) in zip(self.factors, _classes(self.basis), strict=True)
        ]
        flat = jnp.concatenate([piece.reshape(-1, rhs.shape[1]) for piece in pieces])
        return flat[_order(self.basis)]


def _classes(basis: SpinorBasis) -> list[tuple[int, int, np.ndarray]]:
    """(first, last + 1) of the distinct κ of each class, and their channels (κ, μ)."""
    grouped = basis.channels_by_kappa
    count = min(CLASSES, max(1, basis.kappa_max // 4))
    edges = [basis.kappa_max * i // count for i in range(count + 1)]
    middle = grouped.shape[1] // 2
    return [
        (2 * a, 2 * b, grouped[2 * a : 2 * b, middle - min(b, middle) : middle + min(b, middle)])
        for a, b in itertools.pairwise(edges)
    ]


def _order(basis: SpinorBasis) -> np.ndarray:
    """Where each channel stands in the classes, one after the other."""
    flat = np.concatenate([places.reshape(-1) for _, _, places in _classes(basis)])
    order = np.zeros(basis.shape[0], int)
    used = flat < basis.shape[0]
    order[flat[used]] = np.nonzero(used)[0]
    return order
