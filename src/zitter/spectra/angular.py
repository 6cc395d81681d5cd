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
from zitter.spectra.after_run import Waves, plane_wave_error, surface_amplitudes
from zitter.spectra.continuum import amplitudes
from zitter.spectra.directions import Directions, Plane, directions, harmonics, polar_weights
from zitter.spectra.quality import channels_of, over_energies


@dataclasses.dataclass
class AngularSpectrum:
    """d²P/dE dΩ (1/hartree/sr) on energies × `angles`: polar angles at one azimuth, or angles in a
    `plane`; with an array of azimuths on energies × polar angles × azimuths.

    `axial`: whether it is the same at each azimuth. `wave_error`: what plane waves beyond a surface
    cost at each energy, as a part of the density, where the potential has a tail.
    """

    energies: np.ndarray
    angles: np.ndarray
    density: np.ndarray
    azimuth: float | np.ndarray = 0.0
    plane: str | np.ndarray | None = None
    axial: bool = False
    wave_error: np.ndarray | None = None

    @property
    def momenta(self) -> np.ndarray:
        return np.sqrt(2 * self.energies)

    @property
    def momentum_density(self) -> np.ndarray:
        """d³P/dk³ = (d²P/dE dΩ)/k on the same points."""
        return self.density / self.momenta.reshape(-1, *(1,) * (self.density.ndim - 1))

    @property
    def over_angles(self) -> np.ndarray:
        """dP/dE = ∫ dΩ d²P/dE dΩ, from polar angles between 0 and π and azimuths that divide the
        circle evenly; one azimuth is enough where all are the same.
        """
        if self.plane is not None or not (self.density.ndim == 3 or self.axial):
            raise checks.InputError(
                "azimuth", "must be an array that divides the circle evenly to integrate over all "
                "directions, but the spectrum is that of a plane"
            )  # fmt: skip
        if not (self.axial or _divide_the_circle(self.azimuth)):
            raise checks.InputError(
                "azimuth", "must divide the circle evenly, none of them twice, to integrate over "
                "all directions, but does not: take 2π k/n for k = 0 … n − 1"
            )  # fmt: skip
        mean = self.density.mean(axis=2) if self.density.ndim == 3 else self.density
        return 2 * np.pi * mean @ self._polar_weights

    @property
    def over_momenta(self) -> np.ndarray:
        """∫ k dk d³P/dk³ = ∫ dE d³P/dk³ in each direction: in a plane W(φ), the yield there per
        angle and per momentum across the plane."""
        return over_energies(self.momentum_density, self.energies)

    def asymmetry(self, order: int = 2) -> np.ndarray:
        """β of that order in dP/dΩ ∝ Σ β_L P_L(cos θ), β₀ = 1, for light along z, from polar angles
        between 0 and π.
        """
        if self.plane is not None or self.density.ndim == 3:
            raise checks.InputError("azimuth", "must be one for an asymmetry about the z axis")
        if not self.axial:
            raise checks.InputError(
                "spectrum", "must be the same at each azimuth for an asymmetry about the z axis, "
                "but is that of several m"
            )  # fmt: skip
        legendre = np.polynomial.legendre.legval(np.cos(self.angles), [0] * order + [1])
        weights = self._polar_weights
        return (2 * order + 1) * (self.density @ (weights * legendre)) / (self.density @ weights)

    @property
    def _polar_weights(self) -> np.ndarray:
        """Those of ∫ f sin θ dθ over all θ."""
        ends = self.angles[[0, -1]]
        if not (
            np.allclose(ends, [0, np.pi], rtol=0, atol=1e-6) and np.all(np.diff(self.angles) > 0)
        ):
            raise checks.InputError(
                "angles", "must rise from 0 to π to integrate over all directions, but go from "
                f"{ends[0]:.4g} to {ends[1]:.4g}"
            )  # fmt: skip
        return polar_weights(self.angles)


def _divide_the_circle(azimuths: Any) -> bool:
    """Whether several azimuths, in any order, are equally far apart all around."""
    count = np.size(azimuths)
    around = np.sort(np.ravel(azimuths) % (2 * np.pi))
    steps = np.diff(around, append=around[0] + 2 * np.pi)
    return count > 1 and np.allclose(steps, 2 * np.pi / count, rtol=0, atol=1e-6)


def angular_spectrum(
    atom: Hamiltonian,
    psi: Any,
    energies: Any,
    angles: Any = None,
    azimuth: Any = 0.0,
    charge: float | None = None,
    *,
    plane: Plane | None = None,
    radius: float | str | None = None,
    waves: Waves = "coulomb",
) -> AngularSpectrum:
    """The spectrum of ψ after the pulse; `charge` is what the electron leaves behind, by default
    that of the atom's potential at rmax.

    Directions are polar `angles` at one azimuth or at an array of azimuths, or angles in a `plane`:
    "xy" (from x towards y) or any other two letters, or two vectors; by default all around. With a
    `radius` amplitudes are those of the flux through that sphere (`surface_amplitudes`), for which
    `atom` is the Hamiltonian of the run with its absorber.
    """
    energies = np.asarray(checks.array("energies", energies, (None,)), float)
    where = directions(angles, azimuth, plane)
    channels = channels_of(atom)
    if radius is None:
        found, phases = amplitudes(atom, psi, energies, charge)
        return spectrum_of(channels, energies, found * np.exp(1j * phases), where)
    found, phases = surface_amplitudes(atom, psi, radius, energies, waves, charge)
    spectrum = spectrum_of(channels, energies, found * np.exp(1j * phases), where)
    if waves == "plane":
        left = channels.charge() if charge is None else charge
        length = float(checks.positive("radius", radius, "length"))
        spectrum.wave_error = plane_wave_error(left, energies, length)
    return spectrum


def spectrum_of(
    channels: Any, energies: np.ndarray, waves: np.ndarray, where: Directions
) -> AngularSpectrum:
    """|Σ (−i)^l Y_lm waves_lm|² of amplitudes (channels, energies) that hold their phases."""
    weights = (-1j) ** channels.l[:, None] * waves
    density = np.empty((len(energies), int(np.prod(where.shape))))
    for which, vectors in where.parts():
        density[:, which] = np.abs(weights.T @ harmonics(channels.pairs, vectors)) ** 2
    return made(energies, where, density, channels.one_m)


def made(
    energies: np.ndarray, where: Directions, density: np.ndarray, axial: bool
) -> AngularSpectrum:
    density = density.reshape(len(energies), *where.shape)
    return AngularSpectrum(energies, where.angles, density, where.azimuth, where.plane, axial)
