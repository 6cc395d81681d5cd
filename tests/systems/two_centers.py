"""One electron and two point charges: levels by separation, and numbers to hold.

    [∂ξ(ξ²−1)∂ξ − m²/(ξ²−1) + R(Z₁+Z₂)ξ − c²ξ² − A] X = 0,            c = R √(−E/2)
    [∂η(1−η²)∂η − m²/(1−η²) + R(Z₂−Z₁)η + c²η² + A] Y = 0

A comes from the matrix of the second equation in associated Legendre functions, and E from the
three-term recurrence of Jaffé's series, X = (ξ²−1)^{m/2} (ξ+1)^σ e^{−cξ} Σ g_n ((ξ−1)/(ξ+1))^n,
σ = R(Z₁+Z₂)/2c − m − 1 (Z. Phys. 87, 535 (1934)), as a continued fraction.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

# (R, Z₁, Z₂, m): {(n_ξ, n_η): electronic energy}, n_η = l − m and n_ξ = n − l − 1 of the united
# atom's names; correct to the digits shown.
LEVELS = {
    (2.0, 1, 1, 0): {
        (0, 0): -1.1026342144949,
        (0, 1): -0.66753439220238,
        (1, 0): -0.36086487533950,
        (0, 2): -0.23577762882555,
    },
    (2.0, 1, 1, 1): {(0, 0): -0.42877181989586, (0, 1): -0.22669962664366},
    (2.0, 1, 1, 2): {(0, 0): -0.21273268181076},
    (0.1, 1, 1, 0): {(0, 0): -1.9782420708478, (0, 1): -0.50066744498314},
    (0.1, 1, 1, 2): {(0, 0): -0.22219401928165},
    (5.0, 1, 1, 0): {(0, 0): -0.72442029516761, (0, 2): -0.30601307783640},
    (20.0, 1, 1, 0): {(0, 0): -0.55001425933092},
    (50.0, 1, 1, 1): {(0, 0): -0.14496437504779},
    (2.0, 2, 1, 0): {(0, 0): -2.5121930165900, (0, 1): -1.3451856867545},
    (2.0, 2, 1, 1): {(0, 0): -0.89964691216955},
    (4.0, 2, 1, 0): {(0, 0): -2.2506053878290, (1, 0): -0.68098532031621},
    (10.0, 2, 1, 0): {(0, 1): -0.70103694809151},
    (2.0, 1, 3, 0): {(0, 0): -5.0020420168483},
}

# H2+ at R = 2.
POLARIZABILITY = 5.07764898353  # along the axis
DIPOLE = 1.049942577305  # |⟨1sσg|z|2pσu⟩|
STARK = (0.1, -1.127942240381, 1.75007378e-6)  # field along z, Re E, Γ
# E(t) = 0.05 sin²(πt/T) sin(0.3t), T = 8π/0.3, coupling +E(t)z.
POPULATION = 0.9920957477  # of 1sσg afterwards

TERMS = 4000  # of the continued fraction
ORDERS = 120  # of the matrix in Legendre functions
SERIES = 150  # terms of the series that give the root to start from


def level(R: float, Z1: float, Z2: float, m: int, n_xi: int, n_eta: int) -> float:
    """E(n_ξ, n_η, m)."""
    m = abs(m)

    def mismatch(energy: float) -> float:
        return angular(R, Z1, Z2, m, n_eta, energy) - radial(R, Z1 + Z2, m, n_xi, energy)

    # The mismatch falls with E; the united atom's ground state lies below all levels.
    bottom = -0.5 * (Z1 + Z2) ** 2 * 1.0001
    start = float(brentq(mismatch, bottom, 1e-3 * bottom, xtol=1e-7))  # type: ignore[arg-type]

    def exact(energy: float) -> float:
        constant = angular(R, Z1, Z2, m, n_eta, energy)
        return fraction(R, Z1 + Z2, m, n_xi, energy, constant)

    width = 1e-5
    return float(brentq(exact, start - width, start + width, xtol=1e-15, rtol=1e-15))  # type: ignore[arg-type]


def angular(R: float, Z1: float, Z2: float, m: int, n_eta: int, energy: float) -> float:
    """A: eigenvalue n_η of l(l+1) − R(Z₂−Z₁)η − c²η² among associated Legendre functions."""
    l = np.arange(m, m + ORDERS + 2)
    step = np.sqrt(((l + 1.0) ** 2 - m**2) / (4 * (l + 1.0) ** 2 - 1))[:-1]
    eta = np.diag(step, 1) + np.diag(step, -1)
    matrix = np.diag(l * (l + 1.0)) - R * (Z2 - Z1) * eta + 0.5 * R**2 * energy * eta @ eta
    return float(np.linalg.eigvalsh(matrix[:-1, :-1])[n_eta])


def _recurrence(R: float, charge: float, m: int, energy: float, count: int):
    """α_n, β_n − A and γ_n of α_n g_{n+1} − β_n g_n + γ_n g_{n−1} = 0."""
    c = R * np.sqrt(-0.5 * energy)
    sigma = 0.5 * R * charge / c - m - 1
    n = np.arange(count, dtype=float)
    alpha = (n + 1) * (n + m + 1)
    beta = 2 * n**2 + (4 * c - 2 * sigma) * n + c**2 - 2 * c * sigma - (m + 1) * (m + sigma)
    return alpha, beta, (n - 1 - sigma) * (n - 1 - m - sigma)


def radial(R: float, charge: float, m: int, n_xi: int, energy: float) -> float:
    """A of the radial equation with n_ξ nodes: the recurrence, cut off, as an eigenproblem."""
    alpha, beta, gamma = _recurrence(R, charge, m, energy, SERIES)
    matrix = np.diag(beta) - np.diag(alpha[:-1], 1) - np.diag(gamma[1:], -1)
    constants = -np.linalg.eigvals(matrix)
    return float(np.sort(np.real(constants))[::-1][n_xi])


def fraction(R: float, charge: float, m: int, n_xi: int, energy: float, constant: float) -> float:
    """β_n − α_{n−1}γ_n/(β_{n−1} − …) − α_nγ_{n+1}/(β_{n+1} − …) at n = n_ξ: zero at a level."""
    alpha, beta, gamma = _recurrence(R, charge, m, energy, TERMS)
    beta = beta + constant
    before = after = 0.0
    for n in range(n_xi):
        before = alpha[n] * gamma[n + 1] / (beta[n] - before)
    for n in range(TERMS - 1, n_xi, -1):
        after = alpha[n - 1] * gamma[n] / (beta[n] - after)
    return beta[n_xi] - before - after


def potential(basis, Z1: float, Z2: float):
    """−Z₁/r₁ − Z₂/r₂ on a basis with nuclei at z = ∓R/2."""
    x, y, z = basis.places().values
    first, second = (np.sqrt(x**2 + y**2 + (z + s * basis.R) ** 2) for s in (0.5, -0.5))
    return basis.multiply(-Z1 / first - Z2 / second)


def field_free(basis, Z1: float, Z2: float):
    """H₀ of one electron."""
    return basis.kinetic() + potential(basis, Z1, Z2)
