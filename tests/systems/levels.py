"""Two levels: a constant coupling, and one that rotates with the drive.

H = ½ [[−δ, Ω], [Ω, δ]]                       P₁ = Ω²/(Ω²+δ²) sin²(√(Ω²+δ²) t/2)
H = ½ ω₀ σ_z + ½ Ω (cos ωt σ_x + sin ωt σ_y)  static in the frame that turns with ω
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
import scipy.linalg

import zitter as zt
from systems.base import System

SIGMA_X = np.array([[0.0, 1.0], [1.0, 0.0]])
SIGMA_Y = np.array([[0.0, -1j], [1j, 0.0]])
SIGMA_Z = np.array([[1.0, 0.0], [0.0, -1.0]])

DETUNING, COUPLING = 0.5, 1.2
SPLITTING, DRIVE, RABI = 1.3, 1.0, 0.8


@functools.cache
def detuned_coupling():
    terms = [zt.Matrix([-0.5 * DETUNING, 0.5 * DETUNING]), zt.Matrix(0.5 * COUPLING * SIGMA_X)]
    H = zt.discretize(zt.Model(terms), zt.Levels(2))
    rate = np.hypot(COUPLING, DETUNING)

    def exact(t):
        turned, still = np.sin(rate * t / 2), np.cos(rate * t / 2)
        return np.array([still + 1j * DETUNING / rate * turned, -1j * COUPLING / rate * turned])

    return System(H, exact, 3.0, 1e-13)


@functools.cache
def rotating_drive():
    terms = [
        zt.Matrix(0.5 * SPLITTING * SIGMA_Z),
        zt.DrivenMatrix(0.5 * RABI * SIGMA_X, function=lambda t: jnp.cos(DRIVE * t)),
        zt.DrivenMatrix(0.5 * RABI * SIGMA_Y, expression=f"sin({DRIVE}*t)"),
    ]
    H = zt.discretize(zt.Model(terms), zt.Levels(2))
    effective = 0.5 * (SPLITTING - DRIVE) * SIGMA_Z + 0.5 * RABI * SIGMA_X

    def exact(t):
        frame = np.exp(-0.5j * DRIVE * t * np.diag(SIGMA_Z))
        return frame * scipy.linalg.expm(-1j * t * effective)[:, 0]

    return System(H, exact, 3.0, 1e-13)
