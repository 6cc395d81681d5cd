"""The pair correlation function g(r)."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import squared
from zitter.qmc.estimators.base import Estimator, Prepared, average, cell_of


class PairCorrelation(Estimator):
    """g(r) of like and opposite spins up to the Wigner–Seitz sphere; 1 without correlation.

    In a crystal it is the average over all places of the pair; in a slab r is the distance in its
    plane.
    """

    bins: int = eqx.field(static=True)

    def __init__(self, bins: int = 50):
        self.bins = checks.integer("bins", bins, 2)

    def prepare(self, system):
        cell = cell_of(self, system)
        edges = np.linspace(0, float(cell.inradius), self.bins + 1)
        ball = 4 * np.pi / 3 if cell.dimension == 3 else np.pi
        volumes = ball * np.diff(edges**cell.dimension)
        up, down = system.spins
        pairs = np.array([up * (up - 1) + down * (down - 1), 2 * up * down], float)
        return _Pairs(edges, pairs[:, None] * volumes / float(cell.volume), cell.dimension)


class _Pairs(Prepared):
    edges: Any
    expected: Any  # ordered pairs in each bin if electrons were independent
    directions: int = eqx.field(static=True)  # that count in a distance
    name: ClassVar[str] = "pair_correlation"

    def evaluate(self, psi, walker, key):
        n, up = walker.r.shape[1], psi.system.spins[0]
        bins = self.expected.shape[1]
        apart = psi.system.nearest([x[:, None] - x[None, :] for x in walker.r])
        place = jnp.floor(
            jnp.sqrt(squared(apart[: self.directions])) / self.edges[-1] * bins
        ).astype(jnp.int32)
        spin = np.arange(n) < up
        unlike = (spin[:, None] != spin[None, :]).astype(np.int32)
        counted = (place < bins) & ~jnp.eye(n, dtype=bool)
        place = jnp.where(counted, place + bins * unlike, 2 * bins)
        counts = jnp.zeros(2 * bins + 1).at[place.ravel()].add(1.0)
        return counts[:-1].reshape(2, bins)

    def finalize(self, blocks, weights):
        mean, error = average(blocks, weights)
        keep = self.expected[:, 0] > 0
        expected = self.expected[keep]
        middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        return {"x": middle, "mean": mean[keep] / expected, "error": error[keep] / expected}
