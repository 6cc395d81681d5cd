"""A step split into kicks by light and implicit steps of the field-free part.

    ψ(t+τ) = e^{−iτ/2 E·r} C(τ) e^{−iτ/2 E·r} ψ(t),    C(τ) = Π (1 + z/s)/(1 − z/s),  z = −iτS⁻¹H₀

A basis chooses the coefficients in which the kicks are cheap. Kicks add up, so that the second half
of one step and the first half of the next are one.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import Resolvents, factors_at

NEEDS_LENGTH_GAUGE = "AngularSplit needs light in length gauge; use CrankNicolson in velocity gauge"


class LightSplit(eqx.Module):
    """The kicks e^{−iΣθ_jO_j} of the operators O_j that the fields of light multiply."""

    def ready(self) -> LightSplit:
        """The same with what is worked out once for a run."""
        return self

    @property
    def narrows(self) -> bool:
        """Whether there is something that a run may not reach."""
        return False

    def narrowed(self, *psi: jax.Array) -> LightSplit:
        """The same for runs that start from these states, without what they cannot reach."""
        return self

    def enter(self, psi: jax.Array) -> jax.Array:
        """ψ in the coefficients of the kicks."""
        return psi

    def leave(self, psi: jax.Array) -> jax.Array:
        return psi

    @abc.abstractmethod
    def kick(self, psi: jax.Array, angles: jax.Array) -> jax.Array:
        """e^{−iΣθ_jO_j} ψ, one angle θ_j for each light."""

    def factors(self, family: Resolvents, zs: Sequence[Any]) -> Any:
        """What `free` steps with: solvers, made once for a run."""
        return factors_at(family, zs)

    @abc.abstractmethod
    def free(self, family: Resolvents, factors: Any, zs: Sequence[Any], psi: jax.Array):
        """Π (S + zH₀)⁻¹(S − zH₀) ψ, each as 2(S + zH₀)⁻¹Sψ − ψ."""


class DiagonalSplit(LightSplit):
    """Light that multiplies each coefficient: its kick is a phase."""

    lights: tuple[Diagonal, ...]

    def kick(self, psi, angles):
        turn = jnp.zeros((), jnp.finfo(psi.dtype).dtype)
        for j, light in enumerate(self.lights):
            turn = turn + real_like(angles[j], psi) * light.values
        return jnp.exp(-1j * turn) * psi

    def free(self, family, factors, zs, psi):
        for solver, z in zip(factors, zs, strict=True):
            psi = 2 * family.leave(family.resolved(solver, z, family.enter(psi))) - psi
        return psi


def diagonal_split(lights: Sequence[Operator]) -> DiagonalSplit:
    """The kicks of light that is diagonal; any other is refused."""
    kept = [light for light in lights if isinstance(light, Diagonal)]
    if len(kept) < len(lights):
        raise Unsupported(NEEDS_LENGTH_GAUGE)
    return DiagonalSplit(tuple(kept))
