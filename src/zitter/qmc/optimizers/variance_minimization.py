"""Minimization of the variance of the local energy on fixed samples (Umrigar, Wilson and Wilkins,
Phys. Rev. Lett. 60, 1719): least squares for E_L(R) − ⟨E_L⟩, by Levenberg and Marquardt's method.

The samples are not reweighted while parameters change, which is what makes it stable.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.sums import energy_covariance
from zitter.qmc.optimizers.tables import Draws, Table, energies, tabulate
from zitter.qmc.wavefunction import Wavefunction


class VarianceMinimization(Method):
    """Least squares on `iterations` sets of samples, with at most `steps` steps on each."""

    iterations: int = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    def __init__(self, iterations: int = 3, steps: int = 8):
        self.iterations = checks.integer("iterations", iterations, 1)
        self.steps = checks.integer("steps", steps, 1)

    def objective(self, energy, variance):
        return variance

    def candidates(self, psi: Wavefunction, draws: Draws, table: Table) -> list[np.ndarray]:
        start = present = np.asarray(psi.parameters)
        damping, variance = 1e-2, float(runtime.of_first(np.var(table.energy)))
        for _ in range(self.steps):
            normal, force, _ = energy_covariance(table)
            scale = np.diag(np.maximum(np.diag(normal), 1e-12 * np.max(np.diag(normal))))
            step = -np.linalg.solve(normal + damping * scale, force)
            trial = runtime.of_first(present + step)
            found = float(runtime.of_first(np.var(energies(psi, trial, draws)[0])))
            if np.isfinite(found) and found < variance:
                gain, variance, present = variance - found, found, trial
                damping = max(damping / 5, 1e-8)
                if gain < 1e-4 * variance:
                    break
                table = tabulate(psi.with_parameters(jnp.asarray(present)), draws)
            else:
                damping *= 10
                if damping > 1e4:
                    break
        # Shorter steps as well: a long one may leave the samples it was found on.
        return [start + f * (present - start) for f in (1.0, 0.5, 0.2)]
