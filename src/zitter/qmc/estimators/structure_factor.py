"""The structure factor S(k), on stars of reciprocal vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.estimators.base import Estimator, Prepared, average, cell_of
from zitter.qmc.jastrow.p import star_vectors


class StructureFactor(Estimator):
    """S(k) = ⟨|ρ_k|²⟩/N over the shortest `stars` of reciprocal vectors."""

    stars: int = eqx.field(static=True)

    def __init__(self, stars: int = 10):
        self.stars = checks.integer("stars", stars, 1)

    def prepare(self, system):
        return _Structure(*star_vectors(cell_of(self, system), self.stars))


class _Structure(Prepared):
    vectors: Any
    star: tuple[int, ...] = eqx.field(static=True)
    name: ClassVar[str] = "structure_factor"

    def __init__(self, vectors: np.ndarray, star: np.ndarray):
        self.vectors = vectors
        self.star = tuple(int(s) for s in star)

    def evaluate(self, psi, walker, key):
        angles = self.vectors @ walker.r
        squares = jnp.sum(jnp.cos(angles), 1) ** 2 + jnp.sum(jnp.sin(angles), 1) ** 2
        return star_means(squares, self.star) / walker.r.shape[1]

    def finalize(self, blocks, weights):
        mean, error = average(blocks, weights)
        return {"x": star_lengths(self.vectors, self.star), "mean": mean, "error": error}


def star_means(values: Any, star: tuple[int, ...]) -> Any:
    """Averages of values at reciprocal vectors over the members of each star."""
    members = np.bincount(star)
    return jax.ops.segment_sum(values, np.asarray(star), len(members)) / members


def star_lengths(vectors: Any, star: tuple[int, ...]) -> np.ndarray:
    lengths = np.linalg.norm(np.asarray(vectors), axis=1)
    return np.array([lengths[star.index(s)] for s in range(max(star) + 1)])
