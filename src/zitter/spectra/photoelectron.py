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
from zitter.bases.base import Basis
from zitter.bases.field_free import FieldFreeLevels
from zitter.hamiltonian import Hamiltonian
from zitter.spectra.continuum import amplitudes
from zitter.spectra.quality import channels_of, check_lmax, over_energies


class EnergySpectrum(abc.ABC):
    """dP/dE (1/hartree) at `energies` above threshold, by channels."""

    energies: np.ndarray

    @property
    @abc.abstractmethod
    def channels(self) -> np.ndarray:
        """(channels, energies)."""

    @property
    @abc.abstractmethod
    def labels(self) -> list[str]:
        """What each channel is called."""

    @property
    def total(self) -> np.ndarray:
        return self.channels.sum(axis=0)

    @property
    def probability(self) -> float:
        """∫ dP/dE dE, by trapezoids."""
        return float(over_energies(self.total, self.energies))


@dataclasses.dataclass
class PhotoelectronSpectrum(EnergySpectrum):
    """dP/dE (1/hartree) at `energies` above threshold: `per_l` (channels, energies) and `total`.

    Where there are channels of several m, `m` has that of each.
    """

    energies: np.ndarray
    per_l: np.ndarray
    l: np.ndarray
    m: np.ndarray | None = None

    @property
    def channels(self) -> np.ndarray:
        return self.per_l

    @property
    def labels(self) -> list[str]:
        if self.m is None:
            return [f"l = {l}" for l in self.l]
        return [f"l = {l}, m = {m}" for l, m in zip(self.l, self.m, strict=True)]


def bound_populations(
    basis: Basis, psi: Any, threshold: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(l, energies, populations) of all states of an `EigenBasis` below `threshold`."""
    levels = _levels(basis)
    populations, energies = levels.populations(psi), np.asarray(levels.energies)
    channel, index = np.nonzero((energies < threshold) & levels.real)
    return levels.labels[channel], energies[channel, index], populations[channel, index]


def ionization_yield(basis: Basis, psi: Any, threshold: float = 0.0) -> Any:
    """The probability to be above `threshold`, or absorbed: 1 − Σ bound populations.

    `basis` is an `EigenBasis`. A number; inside `zt.scan`, `jax.vmap` and `jax.grad` an array of
    JAX.
    """
    levels = _levels(basis)
    bound = (np.asarray(levels.energies) < threshold) & levels.real
    found = 1.0 - (levels.populations(psi) * bound).sum()
    return found if checks.is_traced(found) else float(found)


def photoelectron_spectrum(
    basis: Basis | Hamiltonian, psi: Any, energies: Any = None, threshold: float = 0.0
) -> PhotoelectronSpectrum:
    """The spectrum of ψ on an `EigenBasis`, on common `energies` (default: those of the first
    channel's continuum).

    On splines the first argument is the atom, its field-free Hamiltonian: then it is |a_lm(E)|² of
    `amplitudes` at the `energies`, for one m or all.
    """
    if isinstance(basis, Hamiltonian):
        return _projected(basis, psi, energies)
    levels = _levels(basis)
    populations = levels.populations(psi)
    check_lmax(basis, psi)
    grids = []
    for level, population, size in zip(levels.energies, populations, levels.sizes, strict=True):
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
    return PhotoelectronSpectrum(energies, per_l, levels.labels)


def _projected(atom: Hamiltonian, psi: Any, energies: Any) -> PhotoelectronSpectrum:
    if energies is None:
        raise checks.InputError("energies", "must be given for an atom on splines, but are not")
    channels = channels_of(atom)
    found, _ = amplitudes(atom, psi, energies)
    check_lmax(atom.basis, psi)
    m = None if channels.one_m else np.asarray([m for _, m in channels.pairs])
    return PhotoelectronSpectrum(np.asarray(energies, float), np.abs(found) ** 2, channels.l, m)


def _levels(basis: Basis) -> FieldFreeLevels:
    try:
        return checks.instance("basis", basis, Basis).levels_of()
    except checks.ZitterError:
        given = checks.with_article(type(basis).__name__)
        raise checks.InputError("basis", f"must be an EigenBasis, but is {given}") from None
