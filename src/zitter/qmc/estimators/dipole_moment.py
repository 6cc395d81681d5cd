"""The dipole moment of an atom or a molecule."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.estimators.base import Estimator, Prepared, average


class DipoleMoment(Estimator):
    """μ = Σ_I Z_I R_I − Σ_i r_i about the origin, in e·bohr (2.5417 debye), for open systems.

    It does not depend on the origin where the system is neutral.
    """

    def prepare(self, system):
        if system.cell is not None:
            raise checks.InputError(
                "estimators",
                "must not hold DipoleMoment for a system with a cell, whose images leave it "
                "undefined",
            )
        return _Dipole(system.nuclei.charges @ system.nuclei.positions)


class _Dipole(Prepared):
    nuclear: Any  # Σ_I Z_I R_I
    name: ClassVar[str] = "dipole_moment"

    def evaluate(self, psi, walker, key):
        return self.nuclear - jnp.sum(walker.r, axis=1)

    def finalize(self, blocks, weights):
        mean, error = average(blocks, weights)
        return {"x": np.arange(len(mean)), "mean": mean, "error": error}
