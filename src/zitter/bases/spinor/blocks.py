"""Operators on spinors that keep κ and μ: the free Dirac operator and central potentials.

O(κ) = o0 + κ o1 + κ² o2 + κ³ o3 with banded matrices o_p: only these are stored, for every κ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.spinor.kinetic_balance import allowed, held, masked, polynomial
from zitter.linalg.base import Operator, keeps_hermitian, real_like, total

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis
    from zitter.linalg.layouts import Layout


class SpinorBlocks(Operator):
    """One banded matrix for each κ: `coefficients` (powers of κ, 2p + 1, 2n)."""

    coefficients: jax.Array
    basis: SpinorBasis = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)
    floor: bool = eqx.field(static=True)  # potentials have one, the Dirac operator has none

    def __init__(
        self,
        coefficients: Any,
        basis: SpinorBasis,
        assumed_hermitian: bool = True,
        floor: bool = True,
    ):
        self.coefficients = jnp.asarray(coefficients)
        self.basis = basis
        self.assumed_hermitian = assumed_hermitian
        self.floor = floor

    @property
    def shape(self) -> tuple[int, ...]:
        return self.basis.shape

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    @property
    def bounded_below(self) -> bool:
        return self.floor

    def bands(self, kappas: Any = None) -> jax.Array:
        """The matrices of the distinct κ, or of others, (κ, 2p + 1, 2n)."""
        kappas = self.basis.distinct_kappas if kappas is None else kappas
        mask = allowed(kappas, self.basis.radial.n)
        return masked(polynomial(self.coefficients, kappas), mask)

    def apply(self, psi: jax.Array) -> jax.Array:
        return self.basis.product(self.bands(), psi)

    def divided(self, layout: Layout) -> Operator:
        from zitter.bases.spinor.divided import DividedBlocks
        from zitter.bases.spinor.folded import FoldedChain

        if not isinstance(layout, FoldedChain):
            return super().divided(layout)
        return DividedBlocks(self, layout)

    def scaled(self, factor: Any) -> SpinorBlocks:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        coefficients = real_like(factor, self.coefficients) * self.coefficients
        return SpinorBlocks(coefficients, self.basis, hermitian, self.floor)

    def merged(self, other: Operator) -> SpinorBlocks | None:
        if not isinstance(other, SpinorBlocks) or other.basis != self.basis:
            return None
        powers = max(len(self.coefficients), len(other.coefficients))
        padded = [
            jnp.pad(o.coefficients, ((0, powers - len(o.coefficients)), (0, 0), (0, 0)))
            for o in (self, other)
        ]
        both = self.assumed_hermitian and other.assumed_hermitian
        return SpinorBlocks(padded[0] + padded[1], self.basis, both, self.floor and other.floor)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Gershgorin's discs of the matrices."""
        bands = self.bands()
        p = bands.shape[1] // 2
        center = jnp.real(bands[:, p])
        radius = jnp.sum(jnp.abs(bands), axis=1) - jnp.abs(bands[:, p])
        return jnp.min(center - radius), jnp.max(center + radius)


def row_by_row(coefficients: jax.Array, rows: jax.Array, kappas: Any) -> jax.Array:
    """Σ_p κᵖ o_p of each row (rows, 2n) with its own κ, without the matrices of any κ.

    One pass over the rows: the compiler makes the numbers of a band where they are used. As
    constants it would make them before a loop, all bands at once, each as large as the rows: so κ
    depends on one number of the rows, and not on a barrier, which would keep the rows themselves
    out of that pass (more than twice the time on a GPU).
    """
    p, n = coefficients.shape[1] // 2, coefficients.shape[2]
    kappa = jnp.asarray(kappas, coefficients.dtype)[:, None]
    kappa = kappa + 0 * jnp.real(rows[:1, :1]).astype(kappa.dtype)
    padded = jnp.pad(held(rows, kappas), ((0, 0), (p, p)))

    def band(k: int) -> jax.Array:
        result = coefficients[-1, p + k] * jnp.ones_like(kappa)
        for coefficient in coefficients[-2::-1, p + k]:
            result = result * kappa + coefficient
        return result

    image = total(band(k) * padded[:, p + k : p + k + n] for k in range(-p, p + 1))
    return held(image, kappas)
