"""Coulomb energy of electrons and ions in a periodic cell.

    V = Σ_{i<j} v_E(r_ij) + ½N v_M − Σ_iI Z_I v_E(r_i − R_I)
        + Σ_{I<J} Z_I Z_J v_E(R_IJ) + ½v_M Σ_I Z_I²

Each of the three parts counts a uniform background of its own, since v_E has the mean 0; in a
neutral cell the backgrounds cancel, in a charged one that of the net charge is left.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from zitter.qmc.energies.base import EnergyTerm
from zitter.qmc.energies.ewald import Ewald


class CrystalEnergy(EnergyTerm):
    """V by pairs: electron_electron, electron_nucleus and nucleus_nucleus.

    The last, and the ions' part of the reciprocal sums, are computed once; each walker takes the
    structure factor of its electrons and the pairs in real space. All parts have the same v_E, so
    that what its series neglect cancels in a neutral cell.
    """

    ewald: Ewald
    charges: Any  # (nuclei,)
    positions: Any  # (nuclei, d)
    structure: Any  # ρ_G of the nuclei
    repulsion: Any
    sees_psi: ClassVar[bool] = False

    def __init__(self, ewald: Ewald, charges: Any, positions: Any):
        self.ewald, self.charges, self.positions = ewald, charges, positions
        self.structure, self.repulsion = _fixed(ewald, positions.T, charges)

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        r = walker.r
        rho = self.ewald.structure(r, dtype=dtype)
        apart = [x[:, None] - place for x, place in zip(r, self.positions.T, strict=True)]
        attraction = self.ewald.between(apart, self.charges, rho, self.structure, dtype)
        return {
            "electron_electron": self.ewald.energy(r, dtype=dtype, rho=rho),
            "electron_nucleus": -attraction,
            "nucleus_nucleus": self.repulsion,
        }


@eqx.filter_jit
def _fixed(ewald: Ewald, r: Any, charges: Any) -> tuple[Any, Any]:
    rho = ewald.structure(r, charges)
    return rho, ewald.energy(r, charges, rho=rho)
