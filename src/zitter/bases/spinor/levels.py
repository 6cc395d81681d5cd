"""Field-free levels of a spinor basis: the eigenvectors of H₀(κ) for every κ.

    H₀(κ) C_κ = S(κ) C_κ E_κ,    C_κ† S(κ) C_κ = 1

In these coefficients the metric is one and H₀ is diagonal, so that any function of H₀ (a resolvent,
an exponential, a projection) is one factor for each level. All μ of one κ share the matrix: going
over and back are batched real products, the κ taken in a few groups of similar size since the
triangle |μ| < |κ| would leave half of one rectangle empty.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.field_free import FieldFreeLevels
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.linalg.bands import dense_from_bands
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.pairs import times_rows

GROUP = 4  # values of |κ| treated as one rectangle, up to eight groups


class SpinorLevels(FieldFreeLevels):
    """Coefficients among levels have the shape of the basis (channels, 2n): level i of (κ, μ).

    Unknowns that the basis holds at zero leave empty places behind the levels of a κ.
    """

    energies: jax.Array  # (distinct κ, 2n), rising; zero in empty places
    vectors: tuple[jax.Array, ...]  # one (κ, 2n, level) for each group
    basis: SpinorBasis = eqx.field(static=True)

    def __init__(self, fixed: Operator, basis: SpinorBasis, dtype: Any = jnp.float64):
        if not isinstance(fixed, SpinorBlocks) or not fixed.hermitian:
            raise Unsupported(
                "levels need a Hermitian field-free part that keeps κ and μ, such as Dirac() with "
                "a central potential gives"
            )
        self.basis = basis
        energies, vectors = diagonalized(
            fixed.bands().astype(jnp.float64), basis.overlap_matrices(), basis.mask
        )
        self.energies = energies.astype(dtype)
        kappas = np.abs(basis.distinct_kappas)
        edges = [int(np.searchsorted(kappas, k)) for k in _group_starts(basis)] + [len(kappas)]
        self.vectors = tuple(vectors[a:b].astype(dtype) for a, b in itertools.pairwise(edges))

    @property
    def sizes(self) -> np.ndarray:
        """The number of levels of each distinct κ."""
        return self.basis.mask.sum(axis=1).astype(int)

    @property
    def labels(self) -> np.ndarray:
        return self.basis.distinct_kappas

    @property
    def c(self) -> float:
        return self.basis.c

    def populations(self, psi: Any) -> Any:
        """|⟨κμi|ψ⟩|², summed over μ."""
        found = np.abs(np.asarray(self.from_splines(jnp.asarray(self.basis.checked(psi))))) ** 2
        return np.stack([found[self.basis.kappas == kappa].sum(axis=0) for kappa in self.labels])

    def free_part(self, psi: Any, flight: float) -> np.ndarray:
        """H₀ is diagonal among the levels, so the flight is exact: the box is its only limit."""
        found = np.asarray(self.from_splines(jnp.asarray(self.basis.checked(psi))))
        energies = np.asarray(self.per_channel(self.energies))
        kept = np.where(energies >= 0, found * np.exp(-1j * energies * flight), 0)
        return np.asarray(self.to_splines(jnp.asarray(kept)))

    def per_channel(self, values: jax.Array) -> jax.Array:
        """(distinct κ, …) → (channels, …): every μ of a κ shares its row."""
        place = {int(kappa): i for i, kappa in enumerate(self.basis.distinct_kappas)}
        return values[np.asarray([place[int(kappa)] for kappa in self.basis.kappas])]

    def from_splines(self, psi: jax.Array) -> jax.Array:
        """a = C†Sψ."""
        return self.project(self.basis.overlap(psi))

    def project(self, image: jax.Array) -> jax.Array:
        """C† of what an operator made of ψ, ⟨B|O|ψ⟩: the coefficients of Oψ."""
        return self._transformed(image, transpose=False)

    def to_splines(self, levels: jax.Array) -> jax.Array:
        """ψ = C a."""
        return self._transformed(levels, transpose=True)

    def _transformed(self, rows: jax.Array, transpose: bool) -> jax.Array:
        groups, places = _grouping(self.basis)
        padded = jnp.concatenate([rows, jnp.zeros_like(rows[:1])])
        parts = []
        for channels, matrices in zip(groups, self.vectors, strict=True):
            picked = padded[channels]  # (κ, μ, 2n)
            if transpose:
                matrices = jnp.swapaxes(matrices, 1, 2)
            parts.append(times_rows(picked, matrices).reshape(-1, rows.shape[1]))
        return jnp.concatenate(parts)[places]


_recent: dict[tuple[Any, ...], SpinorLevels] = {}


def levels_of(fixed: Operator, basis: SpinorBasis, dtype: Any = jnp.float64) -> SpinorLevels:
    """The levels, kept for the next caller who asks for the same ones: they take long to find."""
    if checks.is_traced(fixed) or not isinstance(fixed, SpinorBlocks):
        return SpinorLevels(fixed, basis, dtype)
    digest = hashlib.sha256(np.asarray(fixed.coefficients).tobytes()).hexdigest()
    key = (basis, jnp.dtype(dtype), fixed.hermitian, digest)
    if key not in _recent:
        _recent.clear()
        _recent[key] = SpinorLevels(fixed, basis, dtype)
    return _recent[key]


def _group_starts(basis: SpinorBasis) -> list[int]:
    width = max(GROUP, -(-basis.kappa_max // 8))
    return list(range(1, basis.kappa_max + 1, width))


def _grouping(basis: SpinorBasis) -> tuple[list[np.ndarray], np.ndarray]:
    """Channels of each group as (κ, μ), with the number of channels where there is none; and where
    each channel is found in the groups laid end to end."""
    starts = [*_group_starts(basis), basis.kappa_max + 1]
    total, groups, places, before = basis.shape[0], [], np.zeros(basis.shape[0], int), 0
    for low, high in itertools.pairwise(starts):
        kappas = [k for k in basis.distinct_kappas if low <= abs(k) < high]
        width = max(int(np.sum(basis.kappas == kappa)) for kappa in kappas)
        table = np.full((len(kappas), width), total)
        for i, kappa in enumerate(kappas):
            rows = np.nonzero(basis.kappas == kappa)[0]
            table[i, : len(rows)] = rows
            places[rows] = before + i * width + np.arange(len(rows))
        groups.append(table)
        before += table.size
    return groups, places


@jax.jit
def diagonalized(bands: jax.Array, overlaps: jax.Array, mask: Any) -> tuple[jax.Array, jax.Array]:
    """E and C of H₀C = SCE for each κ, by S = LLᵀ."""

    def solve(pieces):
        bands, overlap, mask = pieces
        overlap, matrix = dense_from_bands(overlap), dense_from_bands(bands)
        # With unit diagonal S is well conditioned, however fine the knots are near the nucleus.
        scale = 1 / jnp.sqrt(jnp.diag(overlap))
        overlap, matrix = (scale[:, None] * m * scale for m in (overlap, matrix))
        factor = jnp.linalg.cholesky(overlap)
        half = jax.scipy.linalg.solve_triangular(factor, matrix, lower=True)
        whole = jax.scipy.linalg.solve_triangular(factor, half.T, lower=True)
        # Unknowns held at zero get an energy above all others, so that they come last.
        edge = 2 * jnp.max(jnp.sum(jnp.abs(whole), axis=1))
        whole = 0.5 * (whole + whole.T) + jnp.diag((1 - mask) * edge)
        _, vectors = jnp.linalg.eigh(whole)
        vectors = jax.scipy.linalg.solve_triangular(factor, vectors, lower=True, trans=1)
        # Rayleigh's quotient: its error is the square of the vector's.
        energies = jnp.sum(vectors * (matrix @ vectors), axis=0)
        real = jnp.arange(len(mask)) < jnp.sum(mask)
        return jnp.where(real, energies, 0), jnp.where(real, scale[:, None] * vectors, 0)

    return jax.lax.map(solve, (bands, overlaps, jnp.asarray(mask)))
