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
from zitter.linalg.radial_solver import RadialSolver

CLASSES = 4


class SpinorSolver(eqx.Module):
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
            _solve(factor, padded[places])
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


def _solve(factor: RadialSolver, rhs: jax.Array) -> jax.Array:
    """M⁻¹ rhs for rhs (κ, columns, n); the same steps as in `RadialSolver.solve`."""
    kappas, columns, n = rhs.shape
    count, q = factor.chunks.shape[1], factor.chunks.shape[3]
    p = factor.spread.shape[3] // 2
    rows = jnp.pad(rhs, ((0, 0), (0, 0), (0, count * (q + p) - n)))
    rows = jnp.moveaxis(rows.reshape(kappas, columns, count, q + p), 1, 3)
    rows = jnp.concatenate([jnp.real(rows), jnp.imag(rows)], axis=3)  # (κ, chunk, unknown, 2μ)
    sent = _product(factor.chunks, rows[:, :, :q])
    inside, right, left = sent[:, :, :q], sent[:, :, q : q + p], sent[:, :, q + p :]
    if count > 1:
        at = rows[:, :-1, q:] - right[:, :-1] - left[:, 1:]
        flat = at.reshape(kappas, (count - 1) * p, -1)
        at = _product(factor.schur, flat).reshape(at.shape)
        before, after = ((0, 0), (1, 0), (0, 0), (0, 0)), ((0, 0), (0, 1), (0, 0), (0, 0))
        around = jnp.concatenate([jnp.pad(at, before), jnp.pad(at, after)], axis=2)
        inside = inside - _product(factor.spread, around)
        inside = jnp.concatenate([inside, jnp.pad(at, after)], axis=2)
    solution = inside.reshape(kappas, -1, 2 * columns)[:, :n]
    solution = jax.lax.complex(solution[..., :columns], solution[..., columns:])
    return jnp.swapaxes(solution, 1, 2)


def _product(stacked: jax.Array, columns: jax.Array) -> jax.Array:
    """A complex matrix, stacked as (2a, b), times columns kept as (b, real and imaginary parts)."""
    parts = stacked @ columns
    a, m = parts.shape[-2] // 2, parts.shape[-1] // 2
    real = parts[..., :a, :m] - parts[..., a:, m:]
    imaginary = parts[..., :a, m:] + parts[..., a:, :m]
    return jnp.concatenate([real, imaginary], axis=-1)
