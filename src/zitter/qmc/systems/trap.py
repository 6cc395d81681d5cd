"""One electron with exact answers."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.cells import squared
from zitter.qmc.energies import ExternalPotential, KineticEnergy
from zitter.qmc.orbitals import Nodeless
from zitter.qmc.systems.base import System


class Trap(System):
    """One electron in the potential −Z/r + ½ω²r² without boundaries.

    Z = 0 is the harmonic trap (E = dω/2), ω = 0 the hydrogen-like atom (E = −Z²/2 in three
    dimensions). The orbital exp(−ζr − a r²/2) with ζ = Z has the right cusp for every a.
    """

    cell: None
    frequency: Any
    charge: Any
    orbital: Nodeless
    spins: tuple[int, int] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(
        self, frequency: float = 0.0, Z: float = 0.0, width: float | None = None, dimension: int = 3
    ):
        self.cell = None
        self.frequency = checks.non_negative("frequency", frequency, "energy")
        self.charge = checks.non_negative("Z", Z)
        if self.frequency == 0 and self.charge == 0:
            raise checks.InputError(
                "frequency", "must be positive where there is no charge, but is 0"
            )
        self.dimension = checks.choice("dimension", dimension, (2, 3))
        self.spins = (1, 0)
        # In two dimensions the cusp of −Z/r is 2Z: φ'/φ = −2Z/(d−1) at the nucleus.
        zeta = 2 * self.charge / (dimension - 1)
        self.orbital = Nodeless(zeta, self.frequency if width is None else width)

    @property
    def energies(self):
        return KineticEnergy(), ExternalPotential(_Well(self.frequency, self.charge))

    def default_orbitals(self):
        return self.orbital

    def start(self, key, walkers):
        return self.length * jax.random.normal(key, (walkers, self.dimension, 1), jnp.float64)

    @property
    def length(self):
        scales = []
        if self.charge > 0:
            scales.append(1 / float(self.charge))
        if self.frequency > 0:
            scales.append(1 / math.sqrt(float(self.frequency)))
        return min(scales)

    @property
    def units(self):
        return 1, "hartree"


class _Well(eqx.Module):
    frequency: Any
    charge: Any

    def __call__(self, r: Any) -> Any:
        square = squared(list(r))
        return 0.5 * self.frequency**2 * square - self.charge / jnp.sqrt(square)
