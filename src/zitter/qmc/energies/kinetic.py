"""The kinetic energy of all electrons."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp

from zitter.qmc.energies.base import EnergyTerm


class KineticEnergy(EnergyTerm):
    """−½ Σ_i ∇_i²Ψ/Ψ, the real part of it where Ψ is complex."""

    sees_psi: ClassVar[bool] = True

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        _, laplacian = psi.derivatives(walker, dtype)
        return {"kinetic": jnp.real(-0.5 * laplacian)}
