"""The kick by light along z: functions of cos θ between channels of one |m|.

    e^{−iκr cos θ},    cos θ = [[0, B], [Bᵀ, 0]] between even and odd l − |m|,    B = P diag(σ) Qᵀ

The singular vectors are constants, and half as large as the eigenvectors of cos θ, whose
eigenvalues come as ±σ. A function f(cos θ) with even part c and odd part −is is

    [[P c(σ) Pᵀ, −i P s(σ) Qᵀ], [−i Q s(σ) Pᵀ, Q c(σ) Qᵀ]]

so c = cos κrσ and s = sin κrσ give the kick. States are planes (rows, 2, n) of real and imaginary
parts, on the eigenvectors of r.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases import angular
from zitter.linalg.cos_sin import cos_sin
from zitter.linalg.row_blocks import RowBlocks


class AxisKick(eqx.Module):
    """Functions of r cos θ on rows that are told by their (l, |m|)."""

    even: RowBlocks  # P of each |m|
    odd: RowBlocks  # Q
    sigma: jax.Array  # all different σ
    repeated: np.ndarray | None  # which σ each pair of an even and an odd row has
    taken: tuple[np.ndarray, np.ndarray]  # the rows of even and of odd l − |m|
    back: np.ndarray

    def __init__(self, labels: Sequence[tuple[int, int]], batches: int, dtype: Any):
        groups: dict[tuple[int, int], list[int]] = {}
        seen: dict[tuple[int, int], int] = {}
        for row, label in enumerate(labels):
            copy = seen[label] = seen.get(label, -1) + 1
            groups.setdefault((label[1], copy), []).append(row)
        order = sorted(groups)
        lmax = max(l for l, _ in labels)
        parts = [singular_vectors(lmax, k) for k, _ in order]
        self.even = RowBlocks([P for P, _, _ in parts], batches, dtype)
        self.odd = RowBlocks([Q for _, _, Q in parts], batches, dtype)
        rows = [sorted(groups[key], key=lambda row: labels[row][0]) for key in order]
        even, odd = (np.concatenate([r[side::2] for r in rows]).astype(int) for side in (0, 1))
        self.taken = even, odd
        self.back = np.argsort(np.concatenate(self.taken))
        # Rows of one |m| share their phases.
        each = {k: singular_vectors(lmax, k)[1] for k, _ in order}
        first = dict(zip(each, np.cumsum([0, *map(len, each.values())]), strict=False))
        self.sigma = jnp.asarray(np.concatenate(list(each.values())), dtype)
        whole = np.concatenate([first[k] + np.arange(len(each[k])) for k, _ in order])
        self.repeated = None if len(order) == len(each) else whole

    def kick(self, psi: jax.Array, points: jax.Array, kappa: Any) -> jax.Array:
        """e^{−iκr cos θ} ψ."""
        turn = kappa * self._reach(points)
        return self._function(psi, *cos_sin(turn))

    def slope(self, psi: jax.Array, points: jax.Array, kappa: Any) -> jax.Array:
        """d/dκ of the same."""
        reach = self._reach(points)
        cosine, sine = cos_sin(kappa * reach)
        return self._function(psi, -reach * sine, reach * cosine)

    def quotient(self, psi: jax.Array, points: jax.Array, kappa: Any) -> jax.Array:
        """(e^{−iκr cos θ} − 1)/κ, also where κ is zero."""
        reach = self._reach(points)
        turn = kappa * reach / jnp.pi  # sinc is sin(πx)/πx
        cosine = -0.5 * kappa * reach**2 * jnp.sinc(0.5 * turn) ** 2
        return self._function(psi, cosine, reach * jnp.sinc(turn))

    def _reach(self, points: jax.Array) -> jax.Array:
        return self.sigma[:, None] * points

    def _function(self, psi: jax.Array, c: jax.Array, s: jax.Array) -> jax.Array:
        even, odd = (psi[rows] for rows in self.taken)
        a, b = self.even.times(even, transposed=True), self.odd.times(odd, transposed=True)
        if self.repeated is not None:
            c, s = c[self.repeated], s[self.repeated]
        c, s = c[:, None], s[:, None]
        # −i(x + iy) = y − ix
        a, b = c * a + s * minus_i(b), c * b + s * minus_i(a)
        return jnp.concatenate([self.even.times(a), self.odd.times(b)])[self.back]


@functools.lru_cache(maxsize=512)
def singular_vectors(lmax: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(P, σ, Q) of cos θ between even and odd l − k, for |m| = k; where there is one even row more
    than odd ones, σ has a zero and Q a column of zeros."""
    count = lmax - k + 1
    evens, odds = (count + 1) // 2, count // 2
    B = np.zeros((evens, odds))
    for l in range(k, lmax):
        i = l - k
        B[(i + 1) // 2, i // 2] = angular.cosine(l, k)
    P, sigma, Qt = np.linalg.svd(B)
    missing = evens - odds
    return P, np.pad(sigma, (0, missing)), np.pad(Qt.T, ((0, 0), (0, missing)))


def minus_i(planes: jax.Array) -> jax.Array:
    return jnp.stack([planes[:, 1], -planes[:, 0]], axis=1)
