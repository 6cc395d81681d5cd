"""Momentum distributions of states on a `SpinorBasis`, by projection on plane waves.

d³P/dp³ = Σ_spin |u†ψ̃|² with the spinors u of free electrons. Bound states are to be left out
beforehand (`free_part`); what Coulomb's tail still does to the waves falls off with the flight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.plane_waves import PlaneWaves, plane_wave_components
from zitter.linalg.base import Unsupported
from zitter.spectra.momentum_distribution import MomentumDistribution, MomentumGrid
from zitter.spectra.relativistic_sfa import BoundState


def momentum_distribution(basis: Basis, psi: Any, grid: MomentumGrid) -> MomentumDistribution:
    """d³P/dp³ of ψ on the points of the grid, spins summed."""
    waves = _plane_waves(basis, psi)
    checks.instance("grid", grid, MomentumGrid)
    spinors = waves.on_spheres(grid.momenta, grid.cosines, grid.azimuths)
    amplitudes = plane_wave_components(grid.vectors, spinors, waves.c)
    return MomentumDistribution(grid, np.sum(np.abs(amplitudes) ** 2, axis=-1))


class SplineState(BoundState):
    """A stationary state on a `SpinorBasis` as the start of the strong-field approximation."""

    def __init__(self, basis: Basis, psi: Any, energy: float):
        self.waves = _plane_waves(basis, psi)
        self.energy, self.c = float(energy), self.waves.c

    def transformed(self, q: np.ndarray) -> np.ndarray:
        return self.waves.at(q)


def _plane_waves(basis: Basis, psi: Any) -> PlaneWaves:
    given = checks.with_article(type(basis).__name__)
    refusal = checks.InputError("basis", f"must be a SpinorBasis, but is {given}")
    if not isinstance(basis, Basis):
        raise refusal
    try:
        return basis.plane_waves(psi)
    except Unsupported:
        raise refusal from None
