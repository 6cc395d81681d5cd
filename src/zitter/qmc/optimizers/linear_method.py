"""Energy minimization by the linear method (Toulouse and Umrigar, J. Chem. Phys. 126, 084102).

Ψ is linearized in its parameters, Ψ ≈ Ψ₀ + Σ Δp_i Ψ̄_i with Ψ̄_i orthogonal to Ψ₀, and H is
diagonalized in that space with matrix elements from the samples. The non-symmetric estimator has
zero variance in the limit of an exact Ψ. A constant added to the diagonal, but for Ψ₀, shortens the
step; several are tried by correlated sampling.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import numpy as np

from zitter import checks
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.tables import Data, Table
from zitter.qmc.wavefunction import Wavefunction

STABILIZERS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of the spread of the local energy


class LinearMethod(Method):
    """The linear method; each iteration draws samples anew."""

    iterations: int = eqx.field(static=True)

    def __init__(self, iterations: int = 6):
        self.iterations = checks.integer("iterations", iterations, 1)

    def objective(self, energy, variance):
        return energy

    def candidates(self, psi: Wavefunction, data: Data, table: Table) -> list[np.ndarray]:
        import scipy.linalg

        present = np.asarray(psi.parameters)
        energy, mean = table.energy, float(np.mean(table.energy))
        O = table.log_slope - np.mean(table.log_slope, axis=0)
        scale = np.sqrt(np.mean(O**2, axis=0))
        # Parameters nothing depends on (a channel that never meets) stay where they are.
        active = scale > 1e-10 * np.max(scale)
        O = O[:, active] / scale[active]
        slope = table.energy_slope[:, active] / scale[active]
        samples, size = O.shape
        overlap = O.T @ O / samples
        H = np.empty((size + 1, size + 1))
        H[0, 0] = mean
        H[1:, 0] = O.T @ (energy - mean) / samples
        H[0, 1:] = H[1:, 0] + np.mean(slope, axis=0)
        H[1:, 1:] = (O.T * energy) @ O / samples + O.T @ slope / samples
        S = np.eye(size + 1)
        S[1:, 1:] = overlap + 1e-8 * np.eye(size)
        spread = float(np.std(energy))
        trials = []
        for stabilizer in STABILIZERS:
            shifted = H.copy()
            shifted[1:, 1:] += stabilizer * spread * np.eye(size)
            solved: Any = scipy.linalg.eig(shifted, S)
            values, vectors = solved[0], solved[1]
            weight = np.abs(vectors[0]) ** 2 / np.sum(np.abs(vectors) ** 2, axis=0)
            # Lowest of the states that are mostly Ψ₀: spurious low states of few samples are not.
            allowed = (np.abs(values.imag) < 1e-6 * spread) & (weight > 0.3)
            if not np.any(allowed):
                continue
            pick = int(np.argmin(np.where(allowed, values.real, np.inf)))
            change = (vectors[1:, pick] / vectors[0, pick]).real
            step = np.zeros_like(present)
            step[active] = change / scale[active]
            trials += [present + step, present + 0.3 * step]
        return trials
