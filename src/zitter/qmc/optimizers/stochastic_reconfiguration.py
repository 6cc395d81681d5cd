"""Energy minimization by stochastic reconfiguration (Sorella, Phys. Rev. Lett. 80, 4558):

    Δp = −η (S + εI)⁻¹ f,   S_ij = cov(O_i, O_j),   f_i = 2 cov(O_i, E_L),   O_i = ∂lnΨ/∂p_i,

the steepest descent of the energy in the metric of the wave function. Of several lengths η the one
that correlated sampling finds best is taken.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np

from zitter import checks, runtime
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.sums import log_covariance
from zitter.qmc.optimizers.tables import Draws, Table, limited
from zitter.qmc.wavefunction import Wavefunction

LENGTHS = (0.02, 0.1, 0.3, 1.0)  # of the present spread of the local energy, inverted


class StochasticReconfiguration(Method):
    """Stochastic reconfiguration with `regularization` ε in units of each parameter's own S_ii."""

    iterations: int = eqx.field(static=True)
    regularization: Any

    def __init__(self, iterations: int = 15, regularization: float = 1e-3):
        self.iterations = checks.integer("iterations", iterations, 1)
        self.regularization = checks.positive("regularization", regularization)

    def objective(self, energy, variance):
        return energy

    def candidates(self, psi: Wavefunction, draws: Draws, table: Table) -> list[np.ndarray]:
        present = np.asarray(psi.parameters)
        energy = runtime.of_first(limited(table.energy))
        found = log_covariance(table, energy)
        scale = np.sqrt(np.diag(found.matrix))
        active = scale > 1e-10 * np.max(scale)
        unit = scale[active]
        metric = found.matrix[np.ix_(active, active)] / np.outer(unit, unit)
        metric += float(self.regularization) * np.eye(len(unit))
        force = 2 * found.with_energy[active] / unit
        direction = np.zeros_like(present)
        direction[active] = -np.linalg.solve(metric, force) / unit
        spread = float(np.std(energy))
        return [present + length / spread * direction for length in LENGTHS]
