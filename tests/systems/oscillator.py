"""Harmonic oscillator, at rest and driven: coherent states with their exact phase.

H = p²/2 + ω²x²/2 + F x cos Ωt. A displaced ground state stays one,

    ψ = φ₀(x − q) exp(ip(x − q) + iS) e^{−iωt/2},   q̈ = −ω²q − F cos Ωt,  p = q̇,
    S = ∫ (p²/2 − ω²q²/2 − F q cos Ωt) dt           (the classical action)
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zitter as zt
from systems.base import System

OMEGA, DRIVE, FORCE, START = 1.0, 0.6, 0.4, 0.7


def position(t):
    amplitude = FORCE / (OMEGA**2 - DRIVE**2)
    return START * np.cos(OMEGA * t) - amplitude * (np.cos(DRIVE * t) - np.cos(OMEGA * t))


def momentum(t):
    amplitude = FORCE / (OMEGA**2 - DRIVE**2)
    swing = DRIVE * np.sin(DRIVE * t) - OMEGA * np.sin(OMEGA * t)
    return -START * OMEGA * np.sin(OMEGA * t) + amplitude * swing


def action(t: float) -> float:
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s = 0.5 * t * (nodes + 1)
    q, p = position(s), momentum(s)
    lagrangian = p**2 / 2 - OMEGA**2 * q**2 / 2 - FORCE * q * np.cos(DRIVE * s)
    return 0.5 * t * float(weights @ lagrangian)


def coherent_state(x: np.ndarray, t: float) -> np.ndarray:
    y = x - position(t)
    phase = momentum(t) * y + action(t) - 0.5 * OMEGA * t
    return (OMEGA / np.pi) ** 0.25 * np.exp(-0.5 * OMEGA * y**2 + 1j * phase)


def push(x, t):
    return FORCE * x * jnp.cos(DRIVE * t)


@functools.cache
def driven_oscillator(order="spectral", boundary="zero", points: int = 64, spacing: float = 0.3):
    """±9.6 bohr and k up to 10.5: what is cut off is below 1e-13 in x and in k."""
    grid = zt.Grid(points, spacing, boundary)
    terms = [zt.Kinetic(order=order), zt.Harmonic(OMEGA), zt.Potential(push)]
    H = zt.discretize(zt.Model(terms), grid)
    return System(H, lambda t: coherent_state(grid.points(0), t), 1.5, 1e-11)


@functools.cache
def oscillator_ground_state(boundary="zero"):
    grid = zt.Grid(64, 0.3, boundary)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(OMEGA)]), grid)

    def exact(t):
        ground = (OMEGA / np.pi) ** 0.25 * np.exp(-0.5 * OMEGA * grid.points(0) ** 2)
        return ground * np.exp(-0.5j * OMEGA * t)

    return System(H, exact, 4.0, 1e-11)
