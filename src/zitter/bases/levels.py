"""A finite set of orthonormal states: two-level atoms, Λ systems, any model given by matrices.

    zt.Levels(2)

A state is its vector of amplitudes.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis, Refused
from zitter.bases.places import Places
from zitter.linalg.base import Operator
from zitter.linalg.dense import Dense

NO_SPACE = "levels have no coordinates; use Matrix, DrivenMatrix and Populations"


class Levels(Basis):
    """n orthonormal states |0⟩ … |n−1⟩; S is one."""

    shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, n: int):
        runtime.settings()
        self.shape = (checks.integer("n", n, 1),)
        runtime.require_memory("n", 8 * self.shape[0] ** 2)  # of one matrix

    @property
    def orthonormal(self) -> bool:
        return True

    def axes(self) -> dict[str, np.ndarray]:
        return {"level": np.arange(self.size)}

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩ = Σ bra* ket."""
        return jnp.vdot(bra, ket)

    # Operators.

    def matrix(self, matrix: Any) -> Operator:
        if matrix.shape != (self.size, self.size):
            raise checks.InputError(
                "matrix", f"must be {self.size}×{self.size} on this basis, but is {matrix.shape}"
            )
        return Dense(matrix, self.shape)

    def places(self) -> Places:
        raise Refused(self, "a function of space", NO_SPACE)

    def position(self, unit: Any) -> Operator:
        raise Refused(self, "the position", NO_SPACE)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        raise Refused(self, "the momentum", NO_SPACE)
