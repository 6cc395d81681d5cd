"""A basis of eigenstates as levels: populations are |C_li|²."""

from __future__ import annotations

from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.field_free import FieldFreeLevels


class EigenLevels(FieldFreeLevels):
    """One row for each l of an `EigenBasis`."""

    energies: np.ndarray
    basis: EigenBasis

    def __init__(self, basis: EigenBasis):
        self.basis, self.energies = basis, np.asarray(basis.energies)

    @property
    def labels(self) -> np.ndarray:
        return self.basis.l

    @property
    def sizes(self) -> np.ndarray:
        return np.asarray(self.basis.sizes)

    def populations(self, psi: Any) -> Any:
        psi = psi if checks.is_traced(psi) else np.asarray(psi)
        return abs(self.basis.checked(psi)) ** 2

    def free_part(self, psi: Any, flight: float) -> np.ndarray:
        psi = np.asarray(self.basis.checked(psi))
        return np.where(self.energies >= 0, psi * np.exp(-1j * self.energies * flight), 0)
