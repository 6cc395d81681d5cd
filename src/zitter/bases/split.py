"""A step split into kicks by light and implicit steps of the field-free part.

    ψ(t+τ) = e^{−iτ/2 E·r} C(τ) e^{−iτ/2 E·r} ψ(t),    C(τ) = Π (1 + z/s)/(1 − z/s),  z = −iτS⁻¹H₀

A basis chooses the coefficients in which the kicks are cheap.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.linalg.base import Operator, Solver, Unsupported, real_like
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import Resolvents

NEEDS_LENGTH_GAUGE = "AngularSplit needs light in length gauge; use CrankNicolson in velocity gauge"


class LightSplit(eqx.Module):
    """The kicks e^{−iθ_j O_j} of the operators O_j that the fields of light multiply."""

    def ready(self) -> LightSplit:
        """The same with what is worked out once for a run."""
        return self

    def enter(self, psi: jax.Array) -> jax.Array:
        """ψ in the coefficients of the kicks."""
        return psi

    def leave(self, psi: jax.Array) -> jax.Array:
        return psi

    @abc.abstractmethod
    def kick(self, psi: jax.Array, angles: Sequence[Any], order: int) -> jax.Array:
        """e^{−iθ_j O_j} for each j, from the first to the last (`order` 1) or back (−1)."""

    @abc.abstractmethod
    def cayley(self, family: Resolvents, solver: Solver, z: Any, psi: jax.Array) -> jax.Array:
        """(S + zH₀)⁻¹(S − zH₀) ψ = 2(S + zH₀)⁻¹Sψ − ψ, by the factors of S + zH₀."""


class DiagonalSplit(LightSplit):
    """Light that multiplies each coefficient: its kick is a phase."""

    lights: tuple[Diagonal, ...]

    def kick(self, psi, angles, order):
        turn = jnp.zeros((), jnp.finfo(psi.dtype).dtype)
        for light, angle in zip(self.lights, angles, strict=True):
            turn = turn + real_like(angle, psi) * light.values
        return jnp.exp(-1j * turn) * psi

    def cayley(self, family, solver, z, psi):
        return 2 * family.leave(family.resolved(solver, z, family.enter(psi))) - psi


def diagonal_split(lights: Sequence[Operator]) -> DiagonalSplit:
    """The kicks of light that is diagonal; any other is refused."""
    kept = [light for light in lights if isinstance(light, Diagonal)]
    if len(kept) < len(lights):
        raise Unsupported(NEEDS_LENGTH_GAUGE)
    return DiagonalSplit(tuple(kept))
