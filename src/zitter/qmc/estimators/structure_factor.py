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
    """S(k) = ⟨|ρ_k|²⟩/N over the shortest `stars` of reciprocal vectors.

    With `subtract_mean` it is that of the fluctuations, (⟨|ρ_k|²⟩ − |⟨ρ_k⟩|²)/N, without the Bragg
    peaks of a crystal.
    """

    stars: int = eqx.field(static=True)
    subtract_mean: bool = eqx.field(static=True)

    def __init__(self, stars: int = 10, subtract_mean: bool = False):
        self.stars = checks.integer("stars", stars, 1)
        self.subtract_mean = checks.boolean("subtract_mean", subtract_mean)

    def prepare(self, system):
        vectors, star = star_vectors(cell_of(self, system), self.stars)
        return _Structure(vectors, star, self.subtract_mean, system.electrons)


class _Structure(Prepared):
    vectors: Any
    star: tuple[int, ...] = eqx.field(static=True)
    subtract_mean: bool = eqx.field(static=True)
    electrons: int = eqx.field(static=True)
    name: ClassVar[str] = "structure_factor"

    def __init__(self, vectors: np.ndarray, star: np.ndarray, subtract_mean: bool, electrons: int):
        self.vectors = vectors
        self.star = tuple(int(s) for s in star)
        self.subtract_mean, self.electrons = subtract_mean, electrons

    def evaluate(self, psi, walker, key):
        """|ρ_k|² of the stars; of all vectors together with ρ_k where its mean is subtracted."""
        angles = self.vectors @ walker.r
        real, imaginary = jnp.sum(jnp.cos(angles), 1), jnp.sum(jnp.sin(angles), 1)
        squares = real**2 + imaginary**2
        if self.subtract_mean:
            return jnp.stack([squares, real, imaginary])
        return star_means(squares, self.star) / self.electrons

    def finalize(self, blocks, weights):
        if self.subtract_mean:
            # d(⟨|ρ|²⟩ − |⟨ρ⟩|²) = d⟨|ρ|²⟩ − 2⟨ρ⟩·d⟨ρ⟩: a series with the right mean and scatter.
            mean = np.average(blocks[:, 1:], axis=0, weights=weights)
            series = blocks[:, 0] - 2 * np.sum(mean * blocks[:, 1:], axis=1) + np.sum(mean**2, 0)
            belongs = np.asarray(self.star)[:, None] == np.arange(max(self.star) + 1)
            blocks = series @ (belongs / belongs.sum(axis=0)) / self.electrons
        mean, error = average(blocks, weights)
        told = {"x": star_lengths(self.vectors, self.star), "mean": mean, "error": error}
        return told | ({"subtract_mean": np.ones(())} if self.subtract_mean else {})


def star_means(values: Any, star: tuple[int, ...]) -> Any:
    """Averages of values at reciprocal vectors over the members of each star."""
    members = np.bincount(star)
    return jax.ops.segment_sum(values, np.asarray(star), len(members)) / members


def star_lengths(vectors: Any, star: tuple[int, ...]) -> np.ndarray:
    lengths = np.linalg.norm(np.asarray(vectors), axis=1)
    return np.array([lengths[star.index(s)] for s in range(max(star) + 1)])
