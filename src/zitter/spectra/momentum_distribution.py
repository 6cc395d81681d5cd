"""Distributions of photoelectrons over momentum, on spheres |p| = const.

    d³P/dp³ on p × cos θ × φ,   θ from the light's propagation axis z, φ from its polarization x

The cosines are Gauss–Legendre points and the azimuths equally spaced, so that integrals over angles
are exact for as many partial waves as there are points, and the φ-average can be expanded:

    ∫ dφ d³P/dp³ = Σ_L a_L(p) P_L(cos θ)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.plane_waves import kinetic_energy


@dataclasses.dataclass(frozen=True)
class MomentumGrid:
    """Points p (cos θ and φ chosen) at which distributions are evaluated."""

    momenta: np.ndarray
    cosines: np.ndarray
    weights: np.ndarray  # of the cosines
    azimuths: np.ndarray

    @classmethod
    def spheres(cls, momenta: Any, polar: int = 48, azimuthal: int = 24) -> MomentumGrid:
        """Rising `momenta` with `polar` × `azimuthal` directions each."""
        momenta = np.asarray(checks.array("momenta", momenta, (None,)), float)
        if len(momenta) < 2 or np.any(np.diff(momenta) <= 0) or momenta[0] < 0:
            raise checks.InputError("momenta", "must be at least two numbers that rise from ≥ 0")
        polar = checks.integer("polar", polar, 1)
        azimuthal = checks.integer("azimuthal", azimuthal, 1)
        cosines, weights = np.polynomial.legendre.leggauss(polar)
        return cls(momenta, cosines, weights, 2 * np.pi * np.arange(azimuthal) / azimuthal)

    @property
    def vectors(self) -> np.ndarray:
        """(momenta, cosines, azimuths, 3)."""
        sines = np.sqrt(1 - self.cosines**2)
        directions = np.stack(
            [
                sines[:, None] * np.cos(self.azimuths),
                sines[:, None] * np.sin(self.azimuths),
                self.cosines[:, None] + 0 * self.azimuths,
            ],
            axis=-1,
        )
        return self.momenta[:, None, None, None] * directions


@dataclasses.dataclass
class MomentumDistribution:
    """d³P/dp³ on a `MomentumGrid`."""

    grid: MomentumGrid
    density: np.ndarray  # (momenta, cosines, azimuths)

    @property
    def over_azimuth(self) -> np.ndarray:
        """∫ dφ d³P/dp³, (momenta, cosines)."""
        return 2 * np.pi * self.density.mean(axis=-1)

    @property
    def over_angles(self) -> np.ndarray:
        """dP/dp = p² ∫ dΩ d³P/dp³."""
        return self.grid.momenta**2 * (self.over_azimuth @ self.grid.weights)

    @property
    def probability(self) -> float:
        return float(np.trapezoid(self.over_angles, self.grid.momenta))

    def energy_spectrum(self, c: float) -> tuple[np.ndarray, np.ndarray]:
        """(E, dP/dE) with E = √(c²p² + c⁴) − c² and dE/dp = c²p/(E + c²)."""
        p = self.grid.momenta
        energies = kinetic_energy(p, c)
        velocity = p / (1 + energies / c**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.where(velocity > 0, self.over_angles / velocity, 0.0)
        return energies, density

    @property
    def over_momenta(self) -> np.ndarray:
        """dP/d(cos θ) at the cosines: the angular distribution about the propagation axis."""
        p = self.grid.momenta
        return np.trapezoid(p[:, None] ** 2 * self.over_azimuth, p, axis=0)

    @property
    def mean_along_axis(self) -> float:
        """∫ p_z d³P/dp³ d³p, not divided by the probability."""
        moments = self.over_azimuth @ (self.grid.weights * self.grid.cosines)
        return float(np.trapezoid(self.grid.momenta**3 * moments, self.grid.momenta))

    def along_axis(self, pz: Any) -> np.ndarray:
        """dP/dp_z = ∫_{|p_z|}^∞ p dp ∫ dφ d³P/dp³ at cos θ = p_z/p."""
        pz = np.asarray(checks.array("pz", pz, (None,)), float)
        p, coefficients = self.grid.momenta, self.legendre()
        result = np.zeros(len(pz))
        for i, value in enumerate(pz):
            inside = p[p > abs(value)]
            if p[0] < abs(value) < p[-1]:  # the integral starts between two points of the grid
                inside = np.concatenate([[abs(value)], inside])
            here = np.stack([np.interp(inside, p, row) for row in coefficients])
            cosine = value / inside
            table = np.polynomial.legendre.legvander(cosine, len(coefficients) - 1)
            result[i] = np.trapezoid(inside * np.einsum("pl,lp->p", table, here), inside)
        return result

    def legendre(self) -> np.ndarray:
        """a_L(p), (L, momenta), for every L that the cosines resolve."""
        count = len(self.grid.cosines)
        table = np.polynomial.legendre.legvander(self.grid.cosines, count - 1)
        orders = np.arange(count) + 0.5
        return orders[:, None] * ((self.grid.weights[:, None] * table).T @ self.over_azimuth.T)
