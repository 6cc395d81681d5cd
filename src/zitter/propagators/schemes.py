"""How a time-dependent H enters one step, as exponentials of frozen combinations of H.

ψ(t+Δt) = Π_s exp(−iΔt Σ_n w_{sn} H(t + c_n Δt)) ψ(t)
"""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx

Stage = tuple[tuple[float, ...], tuple[float, ...]]  # weights, nodes


class TimeScheme(eqx.Module):
    """Weights and nodes of the exponentials that make one step."""

    order: eqx.AbstractClassVar[int]
    stages: eqx.AbstractClassVar[tuple[Stage, ...]]

    @property
    def nodes(self) -> tuple[float, ...]:
        """All nodes of a step, from 0 to 1."""
        return tuple(sorted({node for _, nodes in self.stages for node in nodes}))


class Midpoint(TimeScheme):
    """The exponential midpoint rule, order 2: exp(−iΔt H(t + Δt/2))."""

    order: ClassVar[int] = 2
    stages: ClassVar[tuple[Stage, ...]] = (((1.0,), (0.5,)),)


_ROOT = math.sqrt(3)
_NODES = (0.5 - _ROOT / 6, 0.5 + _ROOT / 6)
_A, _B = 0.25 + _ROOT / 6, 0.25 - _ROOT / 6


class CommutatorFree4(TimeScheme):
    """The commutator-free Magnus scheme of order 4 with two exponentials on Gauss nodes.

    exp(−iΔt(b H₁ + a H₂)) exp(−iΔt(a H₁ + b H₂)),  a, b = ¼ ± √3/6
    (Blanes & Moan, Appl. Numer. Math. 56, 1519 (2006); Thalhammer, SIAM J. Numer. Anal. 44 (2006)).
    """

    order: ClassVar[int] = 4
    stages: ClassVar[tuple[Stage, ...]] = (((_A, _B), _NODES), ((_B, _A), _NODES))
