"""Photoelectrons of the Dirac equation from populations of field-free levels.

    dP/dE = Σ_κμ |⟨ψ_κμE|Ψ⟩|²,    |ψ_κμE⟩ = √ρ_κ(E_i) |κμi⟩,   ρ_κ(E_i) = 2/(E_{i+1} − E_{i−1})

(Vembe et al., GaDE, Eq. 33): the box makes the continuum discrete, and its level spacing turns
populations back into a density; where κ has no bound state the first of them takes the spacing to
the second. Valid after the pulse. Levels between −2c² and 0 are bound
electrons, those below −2c² positrons.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from zitter import checks
from zitter.bases.field_free import FieldFreeLevels
from zitter.hamiltonian import Hamiltonian
from zitter.spectra.photoelectron import EnergySpectrum


@dataclasses.dataclass
class SpinorSpectrum(EnergySpectrum):
    """dP/dE (1/hartree) at `energies` above threshold: `per_kappa` (κ, energies) and `total`."""

    energies: np.ndarray
    per_kappa: np.ndarray
    kappas: np.ndarray

    @property
    def channels(self) -> np.ndarray:
        return self.per_kappa

    @property
    def labels(self) -> list[str]:
        return [f"κ = {kappa}" for kappa in self.kappas]


@dataclasses.dataclass
class LevelPopulations:
    """Populations of the levels of each κ, summed over μ: (κ, levels), zero in empty places."""

    kappas: np.ndarray
    energies: np.ndarray
    values: np.ndarray
    real: np.ndarray  # false in empty places
    c: float

    @property
    def bound(self) -> float:
        """The probability to be bound, excited states included."""
        return self._sum((self.energies > -(self.c**2)) & (self.energies < 0))

    @property
    def ionization(self) -> float:
        """The probability to be a free electron."""
        return self._sum(self.energies >= 0)

    @property
    def positrons(self) -> float:
        """What is left among states of negative energy."""
        return self._sum(self.energies <= -(self.c**2))

    @property
    def per_kappa(self) -> np.ndarray:
        return self.values.sum(axis=1)

    def _sum(self, chosen: np.ndarray) -> float:
        return float(self.values[chosen & self.real].sum())


def spinor_levels(H: Hamiltonian) -> FieldFreeLevels:
    """The levels of the field-free part of H on a `SpinorBasis`."""
    levels = checks.instance("H", H, Hamiltonian).basis.levels_of(H.fixed)
    if not np.isfinite(levels.c):
        given = checks.with_article(type(H.basis).__name__)
        raise checks.InputError("H.basis", f"must be relativistic, a SpinorBasis, but is {given}")
    return levels


def level_populations(levels: FieldFreeLevels, psi: Any) -> LevelPopulations:
    """|⟨κμi|ψ⟩|², summed over μ."""
    energies, values = np.asarray(levels.energies), levels.populations(psi)
    return LevelPopulations(levels.labels, energies, values, levels.real, levels.c)


def spinor_spectrum(levels: FieldFreeLevels, psi: Any, energies: Any = None) -> SpinorSpectrum:
    """dP/dE on common `energies` (default: those of the free levels of κ = −1)."""
    found = level_populations(levels, psi)
    curves = []
    for level, population, size in zip(found.energies, found.values, levels.sizes, strict=True):
        first = int(np.searchsorted(level[:size], 0.0))
        if size - first < 4:
            raise checks.InputError("levels", "must hold at least 4 free levels of each κ")
        # The last level is lost to the central difference. Where no bound state lies below the
        # first one, its lower neighbor would be a positron: the next spacing then serves.
        spacing = 0.5 * (level[first + 1 : size] - level[first - 1 : size - 2])
        if level[first - 1] < -(found.c**2):
            spacing[0] = level[first + 1] - level[first]
        curves.append((level[first : size - 1], population[first : size - 1] / spacing))
    if energies is None:
        energies = curves[0][0]
    energies = np.asarray(checks.array("energies", energies, (None,)), float)
    per_kappa = np.stack([_between(e, density, energies) for e, density in curves])
    return SpinorSpectrum(energies, per_kappa, found.kappas)


def spectrum_error(
    found: SpinorSpectrum, reference: SpinorSpectrum, start: float = 0.0, end: float | None = None
) -> float:
    """Err = ∫_{E₁}^{E₂} |P_n(E) − P_m(E)|² dE (Eq. 34), on the energies of the reference."""
    inside = reference.energies >= start
    if end is not None:
        inside &= reference.energies <= end
    energies = reference.energies[inside]
    if len(energies) < 2:
        raise checks.InputError("end", "must leave at least two energies of the reference")
    gap = _between(found.energies, found.total, energies) - reference.total[inside]
    return float(np.trapezoid(gap**2, energies))


def free_part(levels: FieldFreeLevels, psi: Any, flight: float = 0.0) -> np.ndarray:
    """ψ without bound states and positrons, after a further `flight` without light.

    The flight is exact: the box is its only limit.
    """
    return levels.free_part(psi, flight)


def _between(x: np.ndarray, y: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Piecewise cubic between the levels, never negative; zero outside."""
    curve = PchipInterpolator(x, y, extrapolate=False)(wanted)
    return np.nan_to_num(curve, nan=0.0)
