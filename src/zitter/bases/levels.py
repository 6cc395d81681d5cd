"""A finite set of orthonormal states: two-level atoms, Λ systems, any model given by matrices.

    zt.Levels(2)

A state is its vector of amplitudes.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.bases.base import Basis


class Levels(Basis):
    """n orthonormal states |0⟩ … |n−1⟩; S is one."""

    shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, n: int):
        runtime.settings()
        self.shape = (checks.integer("n", n, 1),)

    @property
    def orthonormal(self) -> bool:
        return True

    def axes(self) -> dict[str, np.ndarray]:
        return {"level": np.arange(self.size)}

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩ = Σ bra* ket."""
        return jnp.vdot(bra, ket)
