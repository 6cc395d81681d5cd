"""Energy minimization by the linear method (Toulouse and Umrigar, J. Chem. Phys. 126, 084102).

Ψ is linearized in its parameters, Ψ ≈ Ψ₀ + Σ Δp_i Ψ̄_i with Ψ̄_i orthogonal to Ψ₀, and H is
diagonalized in that space with matrix elements from the samples. The non-symmetric estimator has
zero variance in the limit of an exact Ψ. Directions whose overlap is below a threshold are left
out, because samples cannot tell them apart; a level shift of all others against Ψ₀ shortens the
step. Several of both are proposed.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import numpy as np

from zitter import checks, runtime
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.sums import hamiltonian, log_covariance
from zitter.qmc.optimizers.tables import Draws, Table, limited
from zitter.qmc.wavefunction import Wavefunction

SHIFTS = (0.0, 0.3, 3.0, 30.0)  # of the spread of the local energy
CALM = 0.02  # what the spread of the local energy counts beside the energy
THRESHOLDS = (1e-7, 1e-5, 1e-3)  # of the largest eigenvalue of the overlap


class LinearMethod(Method):
    """The linear method: at most `iterations` steps, each from samples of its own.

    Steps are judged by the energy and a fiftieth of the spread of the local energy.
    """

    iterations: int = eqx.field(static=True)

    def __init__(self, iterations: int = 20):
        self.iterations = checks.integer("iterations", iterations, 1)

    def objective(self, energy, variance):
        # Of steps that are alike in energy the one with less noise, whose energy is better known.
        return energy + CALM * math.sqrt(max(variance, 0.0))

    def candidates(self, psi: Wavefunction, draws: Draws, table: Table) -> list[np.ndarray]:
        present = np.asarray(psi.parameters)
        energy = runtime.of_first(limited(table.energy))
        spread = float(np.std(energy))
        found = log_covariance(table, energy)
        scale = np.sqrt(np.diag(found.matrix))
        # Parameters nothing depends on (a channel that never meets) stay where they are.
        active = scale > 1e-10 * np.max(scale)
        overlap = found.matrix[np.ix_(active, active)] / np.outer(scale[active], scale[active])
        # How many directions are kept is the shape of what follows, on all processes.
        values, vectors = map(runtime.of_first, np.linalg.eigh(overlap))
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > min(THRESHOLDS) * values[0]
        # Directions of unit norm, orthogonal to each other and to Ψ₀.
        directions = np.zeros((len(present), np.count_nonzero(kept)))
        directions[active] = vectors[:, kept] / np.sqrt(values[kept]) / scale[active, None]
        H = hamiltonian(table, energy, found.mean, directions)
        trials = []
        for threshold in THRESHOLDS:
            size = np.count_nonzero(values > threshold * values[0])
            for shift in SHIFTS:
                change = _lowest(H[: size + 1, : size + 1], shift * spread, spread)
                trials += [present + directions[:, :size] @ change]
            trials += [present + 0.3 * (trials[-len(SHIFTS)] - present)]
        return trials


def _lowest(H: np.ndarray, shift: float, spread: float) -> np.ndarray:
    """Δp of the lowest state that is mostly Ψ₀; NaN where there is none."""
    shifted = H + shift * np.diag([0.0] + [1.0] * (len(H) - 1))
    solved: Any = np.linalg.eig(shifted)
    values, vectors = solved[0], solved[1]
    weight = np.abs(vectors[0]) ** 2 / np.sum(np.abs(vectors) ** 2, axis=0)
    # Spurious low states of few samples have little of Ψ₀.
    allowed = (np.abs(values.imag) < 1e-6 * spread) & (weight > 0.3)
    if not np.any(allowed):
        return np.full(len(H) - 1, np.nan)
    pick = int(np.argmin(np.where(allowed, values.real, np.inf)))
    return (vectors[1:, pick] / vectors[0, pick]).real
