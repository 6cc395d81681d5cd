"""Coulomb energy of electrons and nuclei without boundaries.

V = Σ_{i<j} 1/r_ij − Σ_iI Z_I/r_iI + Σ_{I<J} Z_I Z_J/R_IJ
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from zitter.qmc.cells import squared
from zitter.qmc.energies.base import EnergyTerm


class CoulombEnergy(EnergyTerm):
    """V by pairs: electron_electron, electron_nucleus and nucleus_nucleus, where there are any."""

    charges: Any  # (nuclei,)
    positions: Any  # (nuclei, d)
    sees_psi: ClassVar[bool] = False

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        r, parts = walker.r, {}
        if r.shape[1] > 1:
            first, second = np.triu_indices(r.shape[1], 1)
            parts["electron_electron"] = jnp.sum(1 / _distance(r[:, first] - r[:, second], dtype))
        if len(self.charges):
            apart = r[:, :, None] - self.positions.T[:, None, :]
            parts["electron_nucleus"] = -jnp.sum(self.charges / _distance(apart, dtype))
        if len(self.charges) > 1:
            parts["nucleus_nucleus"] = self.repulsion()
        return parts

    def repulsion(self) -> Any:
        """Σ_{I<J} Z_I Z_J/R_IJ, which the electrons do not change."""
        first, second = np.triu_indices(len(self.charges), 1)
        distance = jnp.linalg.norm(self.positions[first] - self.positions[second], axis=1)
        return jnp.sum(self.charges[first] * self.charges[second] / distance)


def _distance(apart: Any, dtype: Any) -> Any:
    """|x| of displacements (d, …); the difference is taken in double before it is rounded."""
    return jnp.sqrt(squared(list(apart))).astype(dtype).astype(jnp.float64)
