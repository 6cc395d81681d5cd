"""(S + zH₀)⁻¹ for any z: what implicit steps are made of.

A basis chooses the coefficients in which that is cheap (its own, or those of the eigenvectors of
H₀), so a method that uses resolvents enters them once, steps there, and leaves at the end.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import runtime
from zitter.linalg.banded import Banded
from zitter.linalg.banded_solver import BandedSolver
from zitter.linalg.base import Operator, Solver
from zitter.linalg.pairs import times_vector


class Resolvents(eqx.Module):
    """The family S + zH₀ of one field-free part H₀."""

    @property
    def renewable(self) -> bool:
        """Whether the family of another H₀ is at hand without work, and its factors cheap enough
        to be made anew at each step where H₀ changes with time."""
        return False

    @abc.abstractmethod
    def at(self, z: Any) -> Solver:
        """Factors of S + zH₀, in the precision of z."""

    def enter(self, psi: jax.Array) -> jax.Array:
        """ψ in the coefficients of this family."""
        return psi

    def leave(self, coefficients: jax.Array) -> jax.Array:
        return coefficients

    def image(self, operator: Operator, coefficients: jax.Array) -> jax.Array:
        """⟨B|O|ψ⟩, what an operator of the basis makes of ψ, as `Solver.solve` takes it."""
        return operator.apply(coefficients)

    def resolved(self, solver: Solver, z: Any, coefficients: jax.Array) -> jax.Array:
        """(S + zH₀)⁻¹S of a state, by the factors `at(z)`; here for an S that is one."""
        return solver.solve(coefficients)


def factors_at(family: Resolvents, zs: Sequence[Any]) -> tuple[Solver, ...]:
    """Factors for each z, one after another on a CPU.

    Items of a scan make a batch of each matrix that `inverses` takes alone; two batches at a time
    can wait for each other's threads for good; a z that depends on the factors before it, by zero
    times one of their numbers, keeps them apart.
    """
    now, found = runtime.settings(), []
    apart = now.device.platform == "cpu" and now.mesh is None
    for z in zs:
        known = eqx.filter(found[-1:], eqx.is_inexact_array) if apart else []
        for number in [jnp.ravel(leaf)[0] for leaf in jax.tree.leaves(known) if leaf.size][:1]:
            z = z + 0 * jnp.real(number).astype(jnp.finfo(z.dtype).dtype)
        found.append(family.at(z))
    return tuple(found)


class Factors(Solver):
    """A number for each coefficient: M is diagonal."""

    inverse: jax.Array

    def solve(self, image):
        return self.inverse * image


class DiagonalResolvents(Resolvents):
    """H₀ is a diagonal of energies and S is one; zero where the basis has no state (`there`)."""

    energies: jax.Array
    there: jax.Array | None = None

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        factors = 1 / (1 + z * self.energies)
        return Factors(factors if self.there is None else jnp.where(self.there, factors, 0))


class BandedResolvents(Resolvents):
    """H₀ is a banded matrix on a line and S is one."""

    banded: Banded

    @property
    def renewable(self) -> bool:
        return True

    def at(self, z):
        bands = z * self.banded.bands
        return BandedSolver(bands.at[self.banded.half_width].add(1))

    def resolved(self, solver, z, coefficients):
        """c − M⁻¹zH₀c, not M⁻¹c: the error of M⁻¹ then falls on the small change."""
        return coefficients - solver.solve(z * self.banded.apply(coefficients))


class Inverse(Solver):
    """M⁻¹ as a full matrix."""

    inverse: jax.Array

    def solve(self, image):
        return (self.inverse @ image.reshape(-1)).reshape(image.shape)


class DenseResolvents(Resolvents):
    """H₀ and S (None for one) as full matrices: whatever has no other form, and is small."""

    matrix: jax.Array
    overlap: jax.Array | None

    def at(self, z):
        metric = jnp.eye(len(self.matrix)) if self.overlap is None else self.overlap
        return Inverse(jnp.linalg.inv((metric + z * self.matrix).astype(jnp.result_type(z))))

    def resolved(self, solver, z, coefficients):
        if self.overlap is None:
            return solver.solve(coefficients)
        image = times_vector(self.overlap, coefficients.reshape(-1)).astype(coefficients.dtype)
        return solver.solve(image.reshape(coefficients.shape))
