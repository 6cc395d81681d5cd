"""Absorbing boundaries: a complex potential in H, or a mask after each step."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Absorbing, Contribution, Mask
from zitter.linalg.base import total
from zitter.terms.base import Term


class ComplexAbsorber(Term):
    """The transmission-free absorbing potential of Manolopoulos, J. Chem. Phys. 117, 9552 (2002).

        V = −i E_min y(x),   y(x) = ax − bx³ + 4/(c−x)² − 4/(c+x)²,   0 ≤ x < c = 2.62206
        a = 1 − 16/c³,  b = (1 − 17/c³)/c²,  E_min = k_min²/2m,  k_min = c/(2δ·width)

    Waves with k ≥ k_min are absorbed, with reflection below about 1 % for δ = 0.2. The rise to
    infinity at the edge is cut at 1/(2mh²), the scale of the largest kinetic energy. `mass` is that
    of the particle, as in `Kinetic`.
    """

    moves: ClassVar[bool] = False
    width: Any
    delta: Any
    mass: Any

    def __init__(self, width: float | str, delta: float = 0.2, mass: float | str = 1.0):
        self.width = checks.positive("width", width, "length")
        self.delta = checks.positive("delta", delta)
        self.mass = checks.mass(mass)

    def discretize(self, basis: Basis) -> list[Contribution]:
        return [Absorbing(basis.absorber(self.width, self._strength))]

    def _strength(self, depth: np.ndarray, h: float) -> np.ndarray:
        """E_min y at a depth of 0 … 1, cut at the scale that the spacing h can carry."""
        c = 2.62206
        a, b = 1 - 16 / c**3, (1 - 17 / c**3) / c**2
        energy = (c / (2 * self.delta * self.width)) ** 2 / (2 * self.mass)
        x = c * np.minimum(depth, 1 - 1e-9)
        y = a * x - b * x**3 + 4 / (c - x) ** 2 - 4 / (c + x) ** 2
        return np.minimum(energy * y, 1 / (2 * self.mass * h**2))


class MaskAbsorber(Term):
    """ψ is multiplied by M(x)^{Δt/τ} after each step, where, in the outer
    `width`, M = cos(π·depth/2)^power and the depth goes from 0 to 1.

    `per` is τ, so that the absorption does not depend on the time step.
    """

    moves: ClassVar[bool] = False
    width: Any
    power: Any
    per: Any

    def __init__(self, width: float | str, power: float = 0.125, per: float | str = 0.1):
        self.width = checks.positive("width", width, "length")
        self.power = checks.positive("power", power)
        self.per = checks.positive("per", per, "time")

    def discretize(self, basis: Basis) -> list[Contribution]:
        depths = basis.mask_depths(self.width)
        logs = total(self.power * np.log(np.cos(0.5 * np.pi * depth)) for depth in depths)
        return [Mask(jnp.asarray(basis.cut_evenly(logs / self.per)))]
