"""What a method of optimization can do."""

from __future__ import annotations

import abc

import equinox as eqx
import numpy as np

from zitter.qmc.optimizers.tables import Draws, Table
from zitter.qmc.wavefunction import Wavefunction


class Method(eqx.Module):
    """How to improve parameters from samples."""

    iterations: eqx.AbstractVar[int]

    @abc.abstractmethod
    def candidates(self, psi: Wavefunction, draws: Draws, table: Table) -> list[np.ndarray]:
        """Parameter vectors to try."""

    @abc.abstractmethod
    def objective(self, energy: float, variance: float) -> float:
        """What is made small."""
