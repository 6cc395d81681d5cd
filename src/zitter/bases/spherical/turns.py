"""Turns of spherical harmonics, by constants.

    d^l(β) = e^{−iβJ_y} = V e^{−iβm} V†,    V the eigenvectors of J_y

With `eigh` this is orthogonal to rounding for any l; the explicit sums lose all digits beyond
l = 40. d^l(π/2) leads from z to x, and the reflection z → −z cuts it in two:

    d_{m,−m′}(π/2) = (−1)^{l+m} d_{m,m′}(π/2)

so that channels with l + m even meet only the sums over ±m′, those with l + m odd the differences.
Both are kept as m′ ≥ 0, with √2 for m′ > 0.
"""

from __future__ import annotations

import functools
import math

import numpy as np


@functools.lru_cache(maxsize=256)
def _eigenvectors(l: int) -> np.ndarray:
    m = np.arange(-l, l)
    raising = np.sqrt(l * (l + 1) - m * (m + 1.0))
    return np.linalg.eigh(np.diag(-0.5j * raising, -1) + np.diag(0.5j * raising, 1))[1]


def turned(l: int, beta: float) -> np.ndarray:
    """d^l_{m′m}(β), both from −l to l."""
    vectors, m = _eigenvectors(l), np.arange(-l, l + 1)
    return np.real((vectors * np.exp(-1j * beta * m)) @ vectors.conj().T)


@functools.lru_cache(maxsize=256)
def quarter_turn(l: int) -> np.ndarray:
    """d^l(π/2)."""
    return turned(l, 0.5 * math.pi)


def half_quarter_turn(l: int, parity: int) -> np.ndarray:
    """The part of d^l(π/2) for m with l + m ≡ `parity` (rows), over m′ ≥ 0 or m′ > 0."""
    d = quarter_turn(l)
    first = -l + parity  # the lowest m of this parity
    columns = np.arange(parity, l + 1)
    weights = np.where(columns > 0, math.sqrt(2.0), 1.0)
    return d[first + l :: 2, l + columns] * weights


def momentum_up(l: np.ndarray, m: np.ndarray) -> np.ndarray:
    """⟨l, m+1| J₊ |l m⟩."""
    return np.sqrt(np.maximum(l * (l + 1) - m * (m + 1.0), 0.0))
