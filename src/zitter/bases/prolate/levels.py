"""Levels by separation: (𝒜 − E P)⊗1 + 1⊗(ℬ − E Q) is singular where α_i(E) + β_j(E) = 0.

P and Q are the diagonals a³(ξ²−1) and a³(1−η²), both positive, so α_i and β_j fall with E: each
pair (i, j) of node numbers has one level, which rises with i and with j. Two small eigenproblems
for each step of Newton's method replace one of the size N_ξN_η, and no levels of different symmetry
mix, however close they lie.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import scipy.linalg

ROUNDING = 1e-14  # of the energy: Newton's method stops there
NOISE = 1e-9  # … or where steps below this no longer shrink
STEPS = 60


class Level(NamedTuple):
    """E(n_ξ, n_η), with the factors of its state b = x ⊗ y."""

    energy: float
    nodes: tuple[int, int]
    x: np.ndarray
    y: np.ndarray


class Pair:
    """The two one-dimensional problems, with what was found at earlier energies."""

    def __init__(self, xi: np.ndarray, eta: np.ndarray, p: np.ndarray, q: np.ndarray):
        self.xi, self.eta, self.p, self.q = xi, eta, p, q
        self.even = bool(np.allclose(eta, eta[::-1, ::-1], rtol=0, atol=1e-13 * abs(eta).max()))

    def at(self, energy: float, i: int, j: int) -> tuple[float, np.ndarray, np.ndarray]:
        """(α_i + β_j, their eigenvectors)."""
        alpha, x = _eigenpair(self.xi - energy * np.diag(self.p), i)
        beta, y = self._eta_pair(self.eta - energy * np.diag(self.q), j)
        return alpha + beta, x, y

    def _eta_pair(self, matrix: np.ndarray, j: int) -> tuple[float, np.ndarray]:
        """For equal charges within one parity: g and u may agree to the last digit."""
        if not self.even:
            return _eigenpair(matrix, j)
        sign, half = 1 - 2 * (j % 2), len(matrix) // 2
        fold = np.zeros((len(matrix), len(matrix) - half if sign > 0 else half))
        for k in range(half):
            fold[k, k], fold[-1 - k, k] = np.sqrt(0.5), sign * np.sqrt(0.5)
        if len(matrix) % 2 and sign > 0:
            fold[half, half] = 1.0
        beta, y = _eigenpair(fold.T @ matrix @ fold, j // 2)
        return beta, fold @ y

    def counted(self, energy: float) -> np.ndarray:
        """α_i + β_j for all pairs: negative for each level below this energy."""
        alpha = np.linalg.eigvalsh(self.xi - energy * np.diag(self.p))
        beta = np.linalg.eigvalsh(self.eta - energy * np.diag(self.q))
        return alpha[:, None] + beta[None, :]

    def level(self, i: int, j: int, guess: float = 0.0) -> Level:
        """The root by Newton's method, kept between the bounds it has met."""
        low, high, energy, before = -np.inf, np.inf, guess, np.inf
        x = y = np.empty(0)
        for _ in range(STEPS):
            value, x, y = self.at(energy, i, j)
            low, high = (energy, high) if value > 0 else (low, energy)
            new = energy + value / float(x**2 @ self.p + y**2 @ self.q)
            if not low <= new <= high:
                new = 0.5 * (low + high)
            change = abs(new - energy) / max(1.0, abs(energy))
            energy = new
            # Large matrices leave more than rounding: small changes that do not shrink are theirs.
            if change <= ROUNDING or before <= change <= NOISE:
                break
            before = change
        # Rayleigh's quotient is free of what rounding far out does to an eigenvalue.
        top = x @ self.xi @ x + y @ self.eta @ y
        return Level(float(top / (x**2 @ self.p + y**2 @ self.q)), (i, j), x, y)

    def lowest(self, n: int) -> list[Level]:
        """The n lowest levels: a level is looked at once those below it in i and j are known."""
        first = self.level(0, 0)
        heap, seen, found = [(first.energy, (0, 0), first)], {(0, 0)}, []
        while heap:
            energy, (i, j), level = heapq.heappop(heap)
            found.append(level)
            if len(found) == n:
                break
            for label in ((i + 1, j), (i, j + 1)):
                if label not in seen and label[0] < len(self.p) and label[1] < len(self.q):
                    seen.add(label)
                    new = self.level(*label, energy)
                    heapq.heappush(heap, (new.energy, label, new))
        return found

    def nearest(self, n: int, near: float) -> list[Level]:
        """The n levels nearest to an energy: all in a window that holds enough of them."""
        window = 1e-3
        while True:
            inside = (self.counted(near - window) > 0) & (self.counted(near + window) <= 0)
            if np.count_nonzero(inside) >= n or inside.all():
                break
            window *= 2
        levels = [self.level(int(i), int(j), near) for i, j in np.argwhere(inside)]
        chosen = sorted(levels, key=lambda level: abs(level.energy - near))[:n]
        return sorted(chosen, key=lambda level: level.energy)


def _eigenpair(matrix: np.ndarray, index: int) -> tuple[float, np.ndarray]:
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(index, index))
    return float(values[0]), vectors[:, 0]
