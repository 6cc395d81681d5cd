"""(S + zH₀)⁻¹ on spinors, in two families: among the levels of H₀, and among the splines.

The levels take (2n)² numbers for each κ and a diagonalization; then M is one number for each level,
and any z costs nothing. Factors of M among the splines take (2n)^{5/3} numbers for each κ and
seconds to make: the way for the largest bases.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.levels import SpinorLevels, levels_of
from zitter.bases.spinor.solver import SpinorSolver
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.resolvents import Factors, Resolvents


def keeps_kappa(operator: Operator) -> bool:
    """Whether levels can be found for it: no coupling of κ or μ, and no absorption."""
    return isinstance(operator, SpinorBlocks) and operator.hermitian


class LevelResolvents(Resolvents):
    """Coefficients among the levels, where S is one and H₀ a diagonal of energies."""

    levels: SpinorLevels

    def at(self, z):
        return Factors(1 / (1 + z * self.levels.per_channel(self.levels.energies)))

    def enter(self, psi):
        return self.levels.from_splines(psi)

    def leave(self, coefficients):
        return self.levels.to_splines(coefficients)

    def image(self, operator, coefficients):
        return self.levels.project(operator.apply(self.levels.to_splines(coefficients)))


def level_resolvents(basis: SpinorBasis, operator: Operator) -> LevelResolvents:
    return LevelResolvents(levels_of(operator, basis, jnp.finfo(operator.dtype).dtype))


class FactoredResolvents(Resolvents):
    """Banded factors of M for each κ, by `SpinorSolver`."""

    operator: SpinorBlocks
    basis: SpinorBasis = eqx.field(static=True)

    def __init__(self, operator: Operator, basis: SpinorBasis):
        if not isinstance(operator, SpinorBlocks):
            raise Unsupported(
                f"{type(operator).__name__} couples channels; only what keeps κ and μ, such as "
                "Dirac() gives, is factored"
            )
        self.operator = operator
        self.basis = basis

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        overlap = self.basis.overlap_matrices(jnp.finfo(jnp.result_type(z)).dtype)
        return SpinorSolver(self.basis, overlap + z * self.operator.bands())

    def resolved(self, solver, z: Any, coefficients: jax.Array) -> jax.Array:
        return solver.solve(self.basis.overlap(coefficients))
