"""Angle-resolved spectra and momentum distributions, with Coulomb phases.

    ⟨k⁻|ψ⟩ = k^{−1/2} Σ_lm (−i)^l e^{i(σ_l + δ_l)} a_lm(E) Y_lm(k̂),    d³P/dk³ = |⟨k⁻|ψ⟩|²

The scattering states k⁻ have ingoing spherical waves, as electrons that end with momentum k do.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.spectra.continuum import amplitudes
from zitter.spectra.window import channels_of


@dataclasses.dataclass
class AngularSpectrum:
    """d²P/dE dΩ (1/hartree/sr) on energies × polar angles, at one azimuth."""

    energies: np.ndarray
    angles: np.ndarray
    density: np.ndarray

    @property
    def momenta(self) -> np.ndarray:
        return np.sqrt(2 * self.energies)

    @property
    def momentum_density(self) -> np.ndarray:
        """d³P/dk³ = (d²P/dE dΩ)/k on the same points."""
        return self.density / self.momenta[:, None]

    def asymmetry(self, order: int = 2) -> np.ndarray:
        """β of that order in dP/dΩ ∝ Σ β_L P_L(cos θ), β₀ = 1, for light along z."""
        x = np.cos(self.angles)
        weights = np.sin(self.angles) * self.density
        legendre = np.polynomial.legendre.legval(x, [0] * order + [1])
        total = np.trapezoid(weights, self.angles, axis=1)
        return (2 * order + 1) * np.trapezoid(weights * legendre, self.angles, axis=1) / total


def angular_spectrum(
    atom: Hamiltonian,
    psi: Any,
    energies: Any,
    angles: Any = None,
    azimuth: float = 0.0,
    charge: float | None = None,
) -> AngularSpectrum:
    """The spectrum of ψ after the pulse; `charge` is what the electron leaves behind, by default
    that of the atom's potential at rmax.
    """
    energies = checks.array("energies", energies, (None,))
    if angles is None:
        angles = np.linspace(0, np.pi, 181)
    angles = checks.array("angles", angles, (None,))
    found, phases = amplitudes(atom, psi, energies, charge)
    channels = channels_of(atom)
    weights = (-1j) ** channels.l[:, None] * np.exp(1j * phases) * found
    harmonics = np.stack([spherical_harmonic(l, m, angles, azimuth) for l, m in channels.pairs])
    density = np.abs(np.einsum("ce,ca->ea", weights, harmonics)) ** 2
    return AngularSpectrum(energies, angles, density)


def spherical_harmonic(l: int, m: int, theta: np.ndarray, phi: float = 0.0) -> np.ndarray:
    """Y_lm with the Condon–Shortley phase, by a recurrence in l that keeps the norm at any l.

    Y_mm ∝ sin^mθ,   Y_lm = a_l (cos θ Y_{l−1,m} − Y_{l−2,m}/a_{l−1}),   a_l² = (4l² − 1)/(l² − m²)
    """
    size, x = abs(m), np.cos(theta)
    k = np.arange(1, size + 1)
    start = (-1) ** size * np.sqrt(np.prod((2 * k + 1) / (2 * k)) / (4 * np.pi))
    before, values = np.zeros_like(x), start * np.sin(theta) ** size
    last = np.inf
    for n in range(size + 1, l + 1):
        factor = np.sqrt((4 * n * n - 1) / (n * n - size * size))
        before, values = values, factor * (x * values - before / last)
        last = factor
    values = values * np.exp(1j * size * phi)
    return values if m >= 0 else (-1) ** size * np.conj(values)
