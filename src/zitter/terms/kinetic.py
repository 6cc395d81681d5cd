"""Kinetic energy −∇²/2m, on every basis that has it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import equinox as eqx

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Contribution
from zitter.terms.base import SMOOTH_ORDER, Term

Order = Literal["spectral", 2, 4, 6, 8]
ORDERS = ("spectral", 2, 4, 6, 8)


class Kinetic(Term):
    """T = −∇²/(2m).

    On grids `order` is "spectral" (plane waves on a periodic grid, sines on one with zero
    boundary: errors fall faster than any power of the spacing) or the order 2, 4, 6, 8 of a
    central finite difference.
    """

    alone: ClassVar[bool] = True
    mass: Any
    order: Order = eqx.field(static=True)

    def __init__(self, mass: float | str = 1.0, order: Order = "spectral"):
        self.mass = checks.mass(mass)
        self.order = checks.choice("order", order, ORDERS)

    def discretize(self, basis: Basis) -> list[Contribution]:
        return [basis.kinetic(self.mass, self.order)]

    @property
    def moving_mass(self) -> Any:
        return self.mass

    def lattice_order(self, basis: Basis) -> int:
        return SMOOTH_ORDER if self.order == "spectral" else self.order
