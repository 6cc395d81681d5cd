"""Plane waves of free electrons with spin, and the overlaps of a state with them.

ψ̃(p) = (2π)^{−3/2} ∫ e^{−ip·r} ψ d³r,    u_s(p) = √((E+c²)/2E) (χ_s, cσ·p χ_s/(E + c²))
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np


class PlaneWaves(abc.ABC):
    """ψ̃ of one state, as four components."""

    c: float

    @abc.abstractmethod
    def at(self, q: np.ndarray) -> np.ndarray:
        """ψ̃ at vectors (…, 3): (…, 4)."""

    @abc.abstractmethod
    def on_spheres(
        self, momenta: np.ndarray, cosines: np.ndarray, azimuths: np.ndarray
    ) -> np.ndarray:
        """ψ̃ at all p × cos θ × φ: (momenta, cosines, azimuths, 4)."""


def kinetic_energy(p: Any, c: float) -> np.ndarray:
    """√(c²p² + c⁴) − c² = p²/(1 + √(1 + p²/c²)), without cancellation."""
    p = np.asarray(p, float)
    return p**2 / (1 + np.sqrt(1 + (p / c) ** 2))


def sigma_dot(vector: np.ndarray, spinor: np.ndarray) -> np.ndarray:
    """(σ·v) χ for vectors (…, 3) and two-component χ (…, 2)."""
    x, y, z = np.moveaxis(vector, -1, 0)
    up, down = spinor[..., 0], spinor[..., 1]
    return np.stack([z * up + (x - 1j * y) * down, (x + 1j * y) * up - z * down], axis=-1)


def plane_wave_components(p: np.ndarray, spinor: np.ndarray, c: float) -> np.ndarray:
    """u_s†ψ̃ for both spins s, with u†u = 1."""
    kinetic = kinetic_energy(np.linalg.norm(p, axis=-1), c)
    upper = np.sqrt((2 * c**2 + kinetic) / (2 * (c**2 + kinetic)))
    lower = sigma_dot(p, spinor[..., 2:]) * (c / (2 * c**2 + kinetic))[..., None]
    return upper[..., None] * (spinor[..., :2] + lower)
