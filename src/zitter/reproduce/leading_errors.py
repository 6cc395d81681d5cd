"""What propagators must miss in the breathing ion: their leading errors, summed over a run.

With a(t) = −iH(t) and its derivatives ȧ, ä, a step of length h from the exact state leaves
(method − exact solution), up to higher powers of h,

    exponential of the midpoint    −h³(ä/24 + [ȧ, a]/12)             second term of Magnus' series
    Crank–Nicolson                 the same + h³a³/12                 Cayley's fraction
    Strang, a = b + c              the same − h³([b,[b,c]]/24 + [c,[b,c]]/12)    b outside
    classical Runge–Kutta          −h⁵a⁵/120                          H changes slowly beside a²

applied to the state, and the exact propagator carries it to the end. Hairer, Lubich & Wanner,
Geometric Numerical Integration, chapters III and IV. Everything here is made of matrices of its
own: nothing comes from the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
Apply = Callable[[Array], Array]
MIDPOINT, CAYLEY, STRANG, CLASSICAL = "midpoint", "Cayley", "Strang", "Runge–Kutta"


def sizes(
    spacing: float, points: int, spectral: bool, h: float, end: float, terms: int = 24
) -> tuple[dict[str, float], float]:
    """(norms of the leading errors at the end, the ground state's energy at the start).

    Second-order differences or sines; of these Strang's splitting too.
    """
    x = spacing * (np.arange(points) - (points - 1) // 2)
    T = sines(points, spacing) if spectral else differences(points, spacing)
    start, vectors = np.linalg.eigh(T + np.diag(wells(x, 0.0)))
    names = [MIDPOINT, CAYLEY, CLASSICAL, *([STRANG] if spectral else [])]
    # ψ and the errors so far go on together, as columns.
    y = np.zeros((points, 1 + len(names)), complex)
    y[:, 0] = vectors[:, 0]
    kinetic = applied(T)
    for step in range(round(end / h)):
        t = (step + 0.5) * h
        V, V1, V2 = derivatives(x, t)
        potential = lambda z, V=V: -1j * V[:, None] * z  # noqa: E731
        a = lambda z, b=potential: kinetic(z) + b(z)  # noqa: E731
        rate = lambda z, V1=V1: -1j * V1[:, None] * z  # noqa: E731
        y = exponential(a, y, h / 2, terms)
        psi = y[:, :1]
        middle = 1j * V2[:, None] * psi / 24 - commutator(rate, a)(psi) / 12
        made = {
            MIDPOINT: h**3 * middle,
            CAYLEY: h**3 * (middle + a(a(a(psi))) / 12),
            CLASSICAL: -(h**5) * a(a(a(a(a(psi))))) / 120,
        }
        if spectral:
            inner = commutator(potential, kinetic)
            twice = commutator(potential, inner)(psi) / 24 + commutator(kinetic, inner)(psi) / 12
            made[STRANG] = h**3 * (middle - twice)
        y[:, 1:] += np.concatenate([made[name] for name in names], axis=1)
        y = exponential(a, y, h / 2, terms)
    norms = np.linalg.norm(y[:, 1:], axis=0)
    return dict(zip(names, map(float, norms), strict=True)), float(start[0])


def wells(x: Array, t: float) -> Array:
    """−Σ 30/√((x ∓ R)² + 0.1) with R = 1 + 0.5 sin 3t."""
    R = 1 + 0.5 * math.sin(3 * t)
    return -30 / np.sqrt((x - R) ** 2 + 0.1) - 30 / np.sqrt((x + R) ** 2 + 0.1)


def derivatives(x: Array, t: float, s: float = 1e-3) -> tuple[Array, Array, Array]:
    """V and its first two derivatives in time, by central differences: to s², about 1e-5."""
    before, now, after = (wells(x, t + shift) for shift in (-s, 0.0, s))
    return now, (after - before) / (2 * s), (after - 2 * now + before) / s**2


def differences(n: int, spacing: float) -> Array:
    """−½ d²/dx² by (ψ₊ − 2ψ + ψ₋)/Δx²."""
    return (np.eye(n) - 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1))) / spacing**2


def sines(n: int, spacing: float) -> Array:
    """−½ d²/dx² of waves that vanish at walls one spacing beyond the points."""
    k = np.arange(1, n + 1)
    S = math.sqrt(2 / (n + 1)) * np.sin(np.pi * np.outer(k, k) / (n + 1))
    return (S * (0.5 * (np.pi * k / ((n + 1) * spacing)) ** 2)) @ S


def applied(T: Array) -> Apply:
    """−iTz; T is real, so that z goes as twice as many real columns."""
    return lambda z: -1j * (T @ np.ascontiguousarray(z).view(float)).view(complex)


def commutator(b: Apply, c: Apply) -> Apply:
    return lambda z: b(c(z)) - c(b(z))


def exponential(a: Apply, y: Array, h: float, terms: int) -> Array:
    """Taylor's sum for exp(ha): ‖ha‖ is below 1 here, and 24 terms leave rounding."""
    term = total = y
    for j in range(1, terms):
        term = h / j * a(term)
        total = total + term
    return total
