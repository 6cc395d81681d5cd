"""Angular momentum with half-integers: Clebsch–Gordan, Wigner 3j, and spherical spinors.

    X_κμ = (a_κμ Y_l^{μ−½}, b_κμ Y_l^{μ+½}),   l = κ for κ > 0, −κ − 1 for κ < 0,   j = |κ| − ½

with the Clebsch–Gordan coefficients a = ⟨l, μ−½; ½, ½|jμ⟩ and b = ⟨l, μ+½; ½, −½|jμ⟩, and harmonics
with the Condon–Shortley phase: Y_lm = Θ_lm(θ) e^{imφ}/√2π.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np


def clebsch_gordan(j1: Any, m1: Any, j2: Any, m2: Any, j: Any, m: Any) -> float:
    """⟨j1 m1; j2 m2|j m⟩ from Racah's sum, written with binomial coefficients.

    The sum is made of whole numbers and taken exactly, so the result is right to rounding for
    angular momenta of any size (Johansson & Forssén, SIAM J. Sci. Comput. 38, A376 (2016)).
    """
    twice = [round(2 * float(x)) for x in (j1, m1, j2, m2, j, m)]
    a, alpha, b, beta, c, gamma = twice
    pairs = zip(twice[::2], twice[1::2], strict=True)
    whole = (a + b + c) % 2 == 0 and all((x + y) % 2 == 0 for x, y in pairs)
    inside = abs(a - b) <= c <= a + b and abs(alpha) <= a and abs(beta) <= b and abs(gamma) <= c
    if alpha + beta != gamma or not whole or not inside:
        return 0.0
    k, la, lb = (a + b - c) // 2, (a - b + c) // 2, (b - a + c) // 2
    up, down = (a - alpha) // 2, (b + beta) // 2
    total = sum(
        (-1) ** t * math.comb(k, t) * math.comb(la, up - t) * math.comb(lb, down - t)
        for t in range(max(0, up - la, down - lb), min(k, up, down) + 1)
    )
    top = math.comb(a, k) * math.comb(b, k)
    below = math.comb((a + b + c) // 2 + 1, k) * math.comb(a, up)
    below *= math.comb(b, (b - beta) // 2) * math.comb(c, (c - gamma) // 2)
    return math.copysign(math.sqrt(Fraction(total * total * top, below)), total)


def wigner_3j(j1: Any, j2: Any, j3: Any, m1: Any, m2: Any, m3: Any) -> float:
    """( j1 j2 j3 / m1 m2 m3 ) = (−1)^{j1−j2−m3} ⟨j1 m1; j2 m2|j3 −m3⟩/√(2j3 + 1)."""
    sign = (-1) ** round(float(j1) - float(j2) - float(m3))
    coupled = clebsch_gordan(j1, m1, j2, m2, j3, -float(m3))
    return sign * coupled / math.sqrt(2 * float(j3) + 1)


def cosine(l: int, m: int) -> float:
    """⟨l+1, m| cos θ |l, m⟩."""
    return float(np.sqrt(((l + 1) ** 2 - m**2) / ((2 * l + 1) * (2 * l + 3))))


def orbital(kappa: Any) -> np.ndarray:
    """l of X_κμ."""
    kappa = np.asarray(kappa)
    return np.where(kappa > 0, kappa, -kappa - 1)


def spin_coefficients(kappa: Any, mu: Any) -> tuple[np.ndarray, np.ndarray]:
    """(a_κμ, b_κμ), the weights of spin up and down."""
    kappa, mu = np.asarray(kappa), np.asarray(mu, float)
    l = orbital(kappa)
    plus, minus = (np.sqrt(np.maximum(l + 0.5 + s * mu, 0) / (2 * l + 1)) for s in (1, -1))
    return np.where(kappa < 0, plus, -minus), np.where(kappa < 0, minus, plus)


def spherical_coordinates(x: Any, y: Any, z: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(r, cos θ, φ), with the origin moved a little along z: P(r)/r needs a limit there."""
    x, y, z = np.broadcast_arrays(*(np.asarray(a, float) for a in (x, y, z)))
    r = np.sqrt(x**2 + y**2 + z**2)
    near = r < 1e-9
    cosine = np.where(near, 1.0, z / np.where(near, 1.0, r))
    return np.where(near, 1e-9, r), cosine, np.arctan2(y, x)


def polar_harmonics(lmax: int, m: int, x: np.ndarray) -> np.ndarray:
    """Θ_lm(arccos x) for l = |m| … lmax, shape (lmax − |m| + 1, len(x)), ∫ Θ² dx = 1.

    By the recurrence in l of normalized functions, which is stable upwards; the start is formed
    from logarithms, since sin^m θ leaves the range of numbers for large m.
    """
    k, x = abs(m), np.asarray(x, float)
    log_start = 0.5 * (math.log(2 * k + 1) + math.lgamma(2 * k + 1) - math.log(2))
    log_start -= k * math.log(2) + math.lgamma(k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # at the poles
        rows = [(-1) ** k * np.exp(log_start + 0.5 * k * np.log1p(-x * x))]
    if k == 0:
        rows = [np.full_like(x, math.sqrt(0.5))]
    before = np.zeros_like(x)
    for l in range(k + 1, lmax + 1):
        a = math.sqrt((4 * l * l - 1) / (l * l - k * k))
        b = math.sqrt(((l - 1) ** 2 - k * k) / (4 * (l - 1) ** 2 - 1)) if l > k + 1 else 0.0
        before, new = rows[-1], a * (x * rows[-1] - b * before)
        rows.append(new)
    table = np.stack(rows[: max(lmax - k + 1, 0)]) if lmax >= k else np.zeros((0, len(x)))
    return (-1) ** k * table if m < 0 else table


def spinor_table(kappa: np.ndarray, mu: np.ndarray, x: np.ndarray) -> np.ndarray:
    """a_κμ Θ_{l,μ−½} and b_κμ Θ_{l,μ+½} at x = cos θ, (2, channels, len(x))."""
    weights, l = spin_coefficients(kappa, mu), orbital(kappa)
    table = np.zeros((2, len(kappa), len(x)))
    for spin, shift in enumerate((-0.5, 0.5)):
        orders = np.rint(mu + shift).astype(int)
        for m in np.unique(orders):
            harmonics = polar_harmonics(int(l.max()), int(m), x)
            rows = np.nonzero((orders == m) & (l >= abs(m)))[0]
            table[spin, rows] = weights[spin][rows, None] * harmonics[l[rows] - abs(m)]
    return table
