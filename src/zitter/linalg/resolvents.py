"""(S + zH₀)⁻¹ for any z: what implicit steps are made of.

A basis chooses the coefficients in which that is cheap (its own, or those of the eigenvectors of
H₀), so a method that uses resolvents enters them once, steps there, and leaves at the end.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.linalg.banded import Banded
from zitter.linalg.banded_solver import BandedSolver
from zitter.linalg.base import Operator


class Solver(eqx.Module):
    """Factors of one matrix."""

    @abc.abstractmethod
    def solve(self, image: jax.Array) -> jax.Array:
        """The coefficients x with M x = image."""


class Resolvents(eqx.Module):
    """The family S + zH₀ of one field-free part H₀."""

    @abc.abstractmethod
    def at(self, z: Any) -> Solver:
        """Factors of S + zH₀."""

    def enter(self, psi: jax.Array) -> jax.Array:
        """ψ in the coefficients of this family."""
        return psi

    def leave(self, coefficients: jax.Array) -> jax.Array:
        return coefficients

    def metric(self, coefficients: jax.Array) -> jax.Array:
        """S c."""
        return coefficients

    def image(self, operator: Operator, coefficients: jax.Array) -> jax.Array:
        """⟨B|O|ψ⟩, what an operator of the basis makes of ψ, as `Solver.solve` takes it."""
        return operator.apply(coefficients)


class Factors(Solver):
    """A number for each coefficient: M is diagonal."""

    values: jax.Array

    def solve(self, image):
        return image / self.values


class DiagonalResolvents(Resolvents):
    """H₀ is a diagonal of energies and S is one."""

    energies: jax.Array

    def at(self, z):
        return Factors(1 + z * self.energies)


class BandedResolvents(Resolvents):
    """H₀ is a banded matrix on a line and S is one."""

    banded: Banded

    def at(self, z):
        bands = z * self.banded.bands
        return BandedSolver(bands.at[self.banded.half_width].add(1))


class _Inverse(Solver):
    inverse: jax.Array

    def solve(self, image):
        return (self.inverse @ image.reshape(-1)).reshape(image.shape)


class DenseResolvents(Resolvents):
    """H₀ and S (None for one) as full matrices: whatever has no other form, and is small."""

    matrix: jax.Array
    overlap: jax.Array | None
    apply_overlap: Callable[[jax.Array], jax.Array] = eqx.field(static=True)

    def at(self, z):
        overlap = jnp.eye(len(self.matrix)) if self.overlap is None else self.overlap
        return _Inverse(jnp.linalg.inv(overlap + z * self.matrix))

    def metric(self, coefficients):
        return self.apply_overlap(coefficients)
