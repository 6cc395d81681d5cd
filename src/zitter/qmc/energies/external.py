"""A potential that every electron feels by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.energies.base import EnergyTerm


class ExternalPotential(EnergyTerm):
    """Σ_i V(r_i) for a function V of positions (d, N) that gives the energy (N,) of each electron.

    A function with arrays of its own is best an equinox module; others are compiled in.
    """

    potential: Callable[[Any], Any]
    name: str = eqx.field(static=True)
    sees_psi: ClassVar[bool] = False

    def __init__(self, potential: Callable[[Any], Any], name: str = "external"):
        if not callable(potential):
            raise checks.InputError("potential", f"must be a function, but is {potential!r}")
        self.potential = potential
        self.name = checks.instance("name", name, str)

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        return {self.name: jnp.sum(self.potential(walker.r))}
