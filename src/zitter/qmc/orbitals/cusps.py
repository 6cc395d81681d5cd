"""The electron–nucleus cusp of Gaussian orbitals (Ma, Towler, Drummond, Needs, J. Chem. Phys. 122,
224322, 2005).

Around a nucleus Z an orbital is s(r) + η, with s the s functions that stand there. For r < r_c,
s is replaced by ±e^{p(r)}, p = Σ_{k≤4} α_k r^k, which has the cusp of the whole orbital,
p'(0) = −Z_eff with Z_eff = Z (1 + η(0)/±e^{p(0)}), and joins s with two derivatives. One number is
left, e^{p(0)}. It is chosen with r_c such that the local energy of the s part,

    E(r) = −½(p'' + p'²) − (p' + Z_eff)/r,

comes closest to the form that atoms have, Z²(β₀ + 3.26r² − 15.0r³ + …): the spread of the
difference over r < r_max, which does not depend on β₀, is made least. Beyond r_c, E is that of s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

IDEAL = (3.25819, -15.0126, 33.7308, -42.8705, 31.2276, -12.1316, 1.94692)  # of r², r³, …
POINTS = 120  # where the local energy is looked at
SMALLEST = 0.1  # of 1/Z: a node of s that is nearer leaves no room for a correction


class SPart(NamedTuple):
    """s(r) = Σ_p d_p e^{−α_p r²}."""

    exponents: np.ndarray
    coefficients: np.ndarray

    def derivatives(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, s' and s'' at radii."""
        a = self.exponents[:, None]
        table = self.coefficients[:, None] * np.exp(-a * r**2)
        first = np.sum(-2 * a * r * table, axis=0)
        return np.sum(table, axis=0), first, np.sum((4 * a * a * r * r - 2 * a) * table, axis=0)


class Cusp(NamedTuple):
    """±e^{p(r)} for r < radius; radius 0 is no correction."""

    radius: float
    sign: float
    powers: np.ndarray  # α_0 … α_4


NONE = Cusp(0.0, 0.0, np.zeros(5))


def cusp(part: SPart, charge: float, rest: float, room: float) -> Cusp:
    """The best correction of one orbital at one nucleus.

    `rest` is η(0); `room` is how far a correction may reach.
    """
    value = float(np.sum(part.coefficients))
    size = np.sum(np.abs(part.coefficients))
    longest = min(1 / charge, room)
    r = longest * (np.arange(POINTS) + 0.5) / POINTS
    s, _, _ = part.derivatives(r)
    # A hundredth of Σ|d_p| at the nucleus is no s function to speak of.
    if size == 0 or abs(value) < 1e-2 * size or abs(value) < 1e-6:
        return NONE
    crossed = np.flatnonzero(s * value <= 0)
    if crossed.size:
        longest = 0.8 * r[crossed[0]]
    if longest < SMALLEST / charge:
        return NONE
    r = longest * (np.arange(POINTS) + 0.5) / POINTS
    best, least = NONE, np.inf
    for radius in longest * np.linspace(0.2, 0.98, 14):
        low, high = 0.6, 2.0  # of e^{p(0)}/s(0)
        for _ in range(4):
            ratios = np.linspace(low, high, 41)
            powers = joined(part, charge, rest, radius, ratios * value)
            spreads = _spread(part, charge, rest, radius, powers, ratios * value, r)
            place = int(np.argmin(spreads))
            width = (high - low) / 20
            low, high = ratios[place] - width, ratios[place] + width
            low = max(low, 1e-3)
        if spreads[place] < least:
            least = spreads[place]
            best = Cusp(float(radius), float(np.sign(value)), powers[:, place])
    return best


def joined(part: SPart, charge: float, rest: float, radius: float, start: np.ndarray) -> np.ndarray:
    """α_0 … α_4 (5, …) of the e^p that begins at `start` with the cusp and joins s at `radius`."""
    s, first, second = (float(x[0]) for x in part.derivatives(np.asarray([radius])))
    c = radius
    x1, x2, x3 = np.log(abs(s)), first / s, second / s
    x4, x5 = -charge * (1 + rest / start), np.log(np.abs(start))
    return np.stack(
        [
            x5,
            x4,
            6 * (x1 - x5) / c**2 - 3 * (x2 + x4) / c + x3 / 2 - x2**2 / 2,
            -8 * (x1 - x5) / c**3 + (5 * x2 + 3 * x4) / c**2 - x3 / c + x2**2 / c,
            3 * (x1 - x5) / c**4 - (2 * x2 + x4) / c**3 + x3 / (2 * c**2) - x2**2 / (2 * c**2),
        ]
    )


def _spread(
    part: SPart,
    charge: float,
    rest: float,
    radius: float,
    powers: np.ndarray,
    start: np.ndarray,
    r: np.ndarray,
) -> np.ndarray:
    """Half the range over r of the local energy less the ideal one, for each choice of start."""
    a = powers[:, :, None]
    slope = a[1] + r * (2 * a[2] + r * (3 * a[3] + r * 4 * a[4]))
    bend = 2 * a[2] + r * (6 * a[3] + r * 12 * a[4])
    inside = -0.5 * (bend + slope**2) - (2 * a[2] + r * (3 * a[3] + r * 4 * a[4]))
    s, first, second = part.derivatives(r)
    effective = (charge * (1 + rest / start))[:, None]
    outside = -0.5 * second / s - first / (s * r) - effective / r
    ideal = charge**2 * sum(b * r ** (k + 2) for k, b in enumerate(IDEAL))
    difference = np.where(r < radius, inside, outside) - ideal
    return 0.5 * (np.max(difference, axis=1) - np.min(difference, axis=1))
