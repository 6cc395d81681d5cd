"""Regular Coulomb functions F_l(η, ρ) and their slopes, for all l at once, at any ρ > 0.

    F″ + [1 − 2η/ρ − l(l+1)/ρ²] F = 0,    F → sin(ρ − η ln 2ρ − lπ/2 + σ_l),    η = −Z/k

Above the last l that gets over the centrifugal barrier F′/F is a continued fraction (CF1). From
there F comes down by its recurrence in l, which is stable that way, and (H⁺)′/H⁺ = p + iq at l = 0,
a second fraction (CF2), gives its size (Barnett, Feng, Steed & Goldfarb, Comput. Phys. Commun. 8,
377 (1974)).
η = 0 gives ρ j_l(ρ).
"""

from __future__ import annotations

from typing import Any

import numpy as np

TERMS = 20_000  # of a continued fraction at most; CF2 takes about 60/ρ + 10
CLOSE = 1e-15
TINY = 1e-60


def coulomb_waves(lmax: int, eta: Any, rho: Any) -> tuple[np.ndarray, np.ndarray]:
    """F_l and dF_l/dρ (l, …) for l ≤ lmax; `eta` ≤ 0 and `rho` are broadcast."""
    eta, rho = np.broadcast_arrays(np.asarray(eta, float), np.asarray(rho, float))
    turning = float(np.max(np.sqrt(rho**2 - 2 * eta * rho), initial=0.0))
    start = max(lmax, int(turning)) + 8  # there F is positive
    slope = _slope_over_value(start, eta, rho)
    value, size = np.ones_like(rho), np.zeros_like(rho)  # F = value · e^size, up to one factor
    found = []
    slope = slope * value
    for l in range(start, -1, -1):
        if l <= lmax:
            found.append((value, slope, size))
        if l > 0:
            R, S = np.sqrt(1 + (eta / l) ** 2), l / rho + eta / l
            below = (S * value + slope) / R
            value, slope = below, S * below - R * value
            scale = np.hypot(value, slope)
            value, slope, size = value / scale, slope / scale, size + np.log(scale)
    p, q = _outgoing(eta, rho)
    # F₀ = ±q^{−1/2}(1 + γ²)^{−1/2}, γ = (F′/F − p)/q; written for F = 0 as well
    norm = np.sqrt(q) / np.hypot(slope - p * value, q * value)
    result = np.empty((2, lmax + 1, *rho.shape))
    for l, (a, b, size_l) in enumerate(reversed(found)):
        factor = norm * np.exp(size_l - size)
        result[:, l] = a * factor, b * factor
    return result[0], result[1]


def _slope_over_value(l: int, eta: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """CF1: F′/F = S₁ − R₁²/(S₁ + S₂ − R₂²/(S₂ + S₃ − …)), S_n and R_n at l + n; by Lentz's way."""

    def S(n: int) -> np.ndarray:
        return (l + n) / rho + eta / (l + n)

    f = S(1)
    C, D = f, np.zeros_like(rho)
    for n in range(1, TERMS):
        a, b = -(1 + (eta / (l + n)) ** 2), S(n) + S(n + 1)
        D, C = b + a * D, b + a / C
        D = 1 / np.where(D == 0, TINY, D)
        C = np.where(C == 0, TINY, C)
        f = f * C * D
        if np.all(np.abs(C * D - 1) < CLOSE):
            break
    return f


def _outgoing(eta: np.ndarray, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CF2 at l = 0: p + iq = i(1 − η/ρ) + (i/ρ) ab/(2(ρ − η + i) + (a+1)(b+1)/(…)), a = iη,
    b = iη + 1.
    """
    a, b = 1j * eta, 1j * eta + 1
    f = np.full(rho.shape, TINY, complex)
    C, D = f, np.zeros(rho.shape, complex)
    for n in range(1, TERMS):
        top = (a + n - 1) * (b + n - 1)
        bottom = 2 * (rho - eta + 1j * n)
        D, C = 1 / (bottom + top * D), bottom + top / C
        f = f * C * D
        if np.all(np.abs(C * D - 1) < CLOSE):
            break
    found = 1j * (1 - eta / rho) + 1j / rho * f
    return found.real, found.imag
