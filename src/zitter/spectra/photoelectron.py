"""Photoelectron spectra from populations of the discretized continuum.

    dP/dE at E_i = |C_li|² ρ_l(E_i),    ρ_l(E_i) = 2/(E_{i+1} − E_{i−1})

The box makes the continuum discrete; dividing by its level spacing turns populations back into a
density. Valid after the pulse, when the vector potential is zero again.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.eigen.basis import EigenBasis
from zitter.spectra.quality import check_lmax


class EnergySpectrum(abc.ABC):
    """dP/dE (1/hartree) at `energies` above threshold, by channels."""

    energies: np.ndarray

    @property
    @abc.abstractmethod
    def channels(self) -> np.ndarray:
        """(channels, energies)."""

    @property
    def total(self) -> np.ndarray:
        return self.channels.sum(axis=0)

    @property
    def probability(self) -> float:
        """∫ dP/dE dE, by trapezoids."""
        return float(np.trapezoid(self.total, self.energies))


@dataclasses.dataclass
class PhotoelectronSpectrum(EnergySpectrum):
    """dP/dE (1/hartree) at `energies` above threshold: `per_l` (channels, energies) and `total`."""

    energies: np.ndarray
    per_l: np.ndarray
    l: np.ndarray

    @property
    def channels(self) -> np.ndarray:
        return self.per_l


def bound_populations(
    basis: EigenBasis, psi: Any, threshold: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(l, energies, populations) of all states below `threshold`."""
    populations, real = _populations(basis, psi)
    energies = np.asarray(basis.energies)
    channel, index = np.nonzero((energies < threshold) & real)
    return basis.l[channel], energies[channel, index], populations[channel, index]


def ionization_yield(basis: EigenBasis, psi: Any, threshold: float = 0.0) -> Any:
    """The probability to be above `threshold`, or absorbed: 1 − Σ bound populations.

    A number; inside `zt.scan`, `jax.vmap` and `jax.grad` an array of JAX.
    """
    populations, real = _populations(basis, psi)
    bound = (np.asarray(basis.energies) < threshold) & real
    found = 1.0 - (populations * bound).sum()
    return found if checks.is_traced(found) else float(found)


def photoelectron_spectrum(
    basis: EigenBasis, psi: Any, energies: Any = None, threshold: float = 0.0
) -> PhotoelectronSpectrum:
    """The spectrum on common `energies` (default: those of the first channel's continuum)."""
    populations, real = _populations(basis, psi)
    check_lmax(basis, psi)
    levels = np.asarray(basis.energies)
    grids = []
    for level, population, size in zip(levels, populations, real.sum(axis=1), strict=True):
        first = int(np.searchsorted(level[:size], threshold))
        if size - first < 3:
            raise checks.InputError("basis", "must hold at least 3 continuum states of each l")
        # One state beyond each end is lost to the central difference.
        first = max(first, 1)
        spacing = 0.5 * (level[first + 1 : size] - level[first - 1 : size - 2])
        grids.append((level[first : size - 1] - threshold, population[first : size - 1] / spacing))
    if energies is None:
        energies = grids[0][0][grids[0][0] > 0]
    energies = checks.array("energies", energies, (None,))
    per_l = np.stack([np.interp(energies, e, density, 0.0, 0.0) for e, density in grids])
    return PhotoelectronSpectrum(energies, per_l, basis.l)


def _populations(basis: EigenBasis, psi: Any) -> tuple[np.ndarray, np.ndarray]:
    checks.instance("basis", basis, EigenBasis)
    psi = psi if checks.is_traced(psi) else np.asarray(psi)
    if psi.shape != basis.shape:
        raise checks.InputError(
            "psi", f"must have the shape of the basis {basis.shape}, but has {psi.shape}"
        )
    real = np.arange(basis.shape[1]) < np.asarray(basis.sizes)[:, None]
    return abs(psi) ** 2, real
