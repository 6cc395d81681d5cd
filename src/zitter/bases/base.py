"""What a state is expanded in: a shape, an inner product, and names for its axes."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp


class Basis(eqx.Module):
    """Coefficients live in an array of `shape`; the metric (overlap) lives here, not in operators.

    ⟨φ|ψ⟩ = φ† S ψ. For grids S is a number (the cell volume); for B-splines a banded matrix.
    Where S is a matrix, operators are the matrices ⟨B_i|O|B_j⟩ and the state Oψ is S⁻¹(O ψ).
    """

    shape: eqx.AbstractVar[tuple[int, ...]]

    @property
    @abc.abstractmethod
    def orthonormal(self) -> bool:
        """Whether S is a multiple of one, so that Hψ needs no solve with S."""

    @abc.abstractmethod
    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩."""

    def overlap(self, psi: jax.Array) -> jax.Array:
        """Sψ, for S ≠ 1; on a grid operators leave the cell volume out, so ψ itself."""
        return psi

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        """S⁻¹ of what an operator made of ψ: the coefficients of that state."""
        return image

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        """⟨bra|O|ket⟩ from image = O ket, as operators of this basis give it."""
        return self.inner(bra, image)

    @abc.abstractmethod
    def axes(self) -> dict[str, Any]:
        """Names and coordinate values of the axes, as they are written to files."""

    @property
    def size(self) -> int:
        total = 1
        for n in self.shape:
            total *= n
        return total

    def norm(self, psi: jax.Array) -> jax.Array:
        """‖ψ‖ = √⟨ψ|ψ⟩."""
        return jnp.sqrt(jnp.real(self.inner(psi, psi)))

    def normalize(self, psi: jax.Array) -> jax.Array:
        return psi / self.norm(psi).astype(jnp.real(psi).dtype)
