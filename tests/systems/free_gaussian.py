"""A free wave packet: it moves with its mean momentum and spreads.

ψ = (2πσ²)^{−1/4} s^{−1/2} exp(−(x − p₀t)²/(4σ²s) + ip₀x − ip₀²t/2),   s = 1 + it/(2σ²)
"""

from __future__ import annotations

import functools

import numpy as np

import zitter as zt
from systems.base import System

WIDTH, MOMENTUM = 1.0, 0.8


@functools.cache
def free_gaussian(boundary="periodic"):
    """±16 bohr and k up to 7.9; at t = 2 the packet has moved 1.6 and its width is 1.41."""
    grid = zt.Grid(80, 0.4, boundary)
    H = zt.discretize(zt.Model([zt.Kinetic()]), grid)

    def exact(t):
        x = grid.points(0)
        s = 1 + 0.5j * t / WIDTH**2
        exponent = -((x - MOMENTUM * t) ** 2) / (4 * WIDTH**2 * s)
        phase = MOMENTUM * x - 0.5 * MOMENTUM**2 * t
        return (2 * np.pi * WIDTH**2) ** -0.25 / np.sqrt(s) * np.exp(exponent + 1j * phase)

    return System(H, exact, 2.0, 1e-10)
