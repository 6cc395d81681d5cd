"""What else is measured on the way: pair correlation, structure factor, momentum density.

Each estimator is evaluated for one walker inside the compiled block; the drivers average over
walkers (with their weights) and blocks, and give the error from the scatter of blocks.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, half_space, shells, squared
from zitter.qmc.jastrow import Move
from zitter.qmc.jastrow.p import star_vectors
from zitter.qmc.statistics import reblock
from zitter.qmc.systems import System
from zitter.qmc.wavefunction import SlaterJastrow, Walker


class Estimator(eqx.Module):
    """Something to measure; `prepare` fits it to a system or refuses it with the reason."""

    at_twists: ClassVar[bool] = True  # whether it is defined there

    @abc.abstractmethod
    def prepare(self, system: System) -> Prepared: ...


class Prepared(eqx.Module):
    """An estimator with its tables for one system."""

    name: eqx.AbstractClassVar[str]

    @abc.abstractmethod
    def evaluate(self, psi: SlaterJastrow, walker: Walker, key: Any) -> Any:
        """One array for one walker."""

    @abc.abstractmethod
    def finalize(self, blocks: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        """x, mean and error from the averages of all blocks."""


class PairCorrelation(Estimator):
    """g(r) of like and opposite spins up to the Wigner–Seitz sphere; 1 without correlation."""

    bins: int = eqx.field(static=True)

    def __init__(self, bins: int = 50):
        self.bins = checks.integer("bins", bins, 2)

    def prepare(self, system):
        cell = _cell_of(self, system)
        edges = np.linspace(0, float(cell.inradius), self.bins + 1)
        ball = 4 * np.pi / 3 if system.dimension == 3 else np.pi
        volumes = ball * np.diff(edges**system.dimension)
        up, down = system.spins
        pairs = np.array([up * (up - 1) + down * (down - 1), 2 * up * down], float)
        return _Pairs(edges, pairs[:, None] * volumes / float(cell.volume))


class _Pairs(Prepared):
    edges: Any
    expected: Any  # ordered pairs in each bin if electrons were independent
    name: ClassVar[str] = "pair_correlation"

    def evaluate(self, psi, walker, key):
        n, up = walker.r.shape[1], psi.system.spins[0]
        bins = self.expected.shape[1]
        apart = psi.system.nearest([x[:, None] - x[None, :] for x in walker.r])
        place = jnp.floor(jnp.sqrt(squared(apart)) / self.edges[-1] * bins).astype(jnp.int32)
        spin = np.arange(n) < up
        unlike = (spin[:, None] != spin[None, :]).astype(np.int32)
        counted = (place < bins) & ~jnp.eye(n, dtype=bool)
        place = jnp.where(counted, place + bins * unlike, 2 * bins)
        counts = jnp.zeros(2 * bins + 1).at[place.ravel()].add(1.0)
        return counts[:-1].reshape(2, bins)

    def finalize(self, blocks, weights):
        mean, error = _average(blocks, weights)
        keep = self.expected[:, 0] > 0
        expected = self.expected[keep]
        middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        return {"x": middle, "mean": mean[keep] / expected, "error": error[keep] / expected}


class StructureFactor(Estimator):
    """S(k) = ⟨|ρ_k|²⟩/N over the shortest `stars` of reciprocal vectors."""

    stars: int = eqx.field(static=True)

    def __init__(self, stars: int = 10):
        self.stars = checks.integer("stars", stars, 1)

    def prepare(self, system):
        return _Structure(*star_vectors(_cell_of(self, system), self.stars))


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
        mean, error = _average(blocks, weights)
        return {"x": _star_lengths(self.vectors, self.star), "mean": mean, "error": error}


class MomentumDensity(Estimator):
    """n(k): the occupation of plane waves, by moving each electron to a random point of the cell,

        n(k) = ⟨Σ_i cos k·(r_i' − r_i) Ψ(…r_i'…)/Ψ⟩ / (number of spins),

    on all stars up to `kmax` Fermi wave vectors. Without correlation n is 1 inside and 0 outside.
    """

    kmax: Any
    at_twists: ClassVar[bool] = False

    def __init__(self, kmax: float = 2.0):
        self.kmax = checks.positive("kmax", kmax)

    def prepare(self, system):
        cell = _cell_of(self, system)
        density = max(system.spins) / float(cell.volume)
        if system.dimension == 3:
            fermi = (6 * np.pi**2 * density) ** (1 / 3)
        else:
            fermi = (4 * np.pi * density) ** 0.5
        integers, vectors = cell.reciprocal_points(float(self.kmax) * fermi)
        lengths = np.linalg.norm(vectors, axis=1)
        keep = half_space(integers) | (lengths == 0)
        return _Momenta(vectors[keep], shells(lengths)[keep], fermi)


class _Momenta(Prepared):
    vectors: Any
    fermi: Any
    star: tuple[int, ...] = eqx.field(static=True)
    name: ClassVar[str] = "momentum_density"

    def __init__(self, vectors: np.ndarray, star: np.ndarray, fermi: float):
        self.vectors = vectors
        self.fermi = np.float64(fermi)
        self.star = tuple(int(s) for s in star)

    def evaluate(self, psi, walker, key):
        system, slater = psi.system, psi.slater
        n = walker.r.shape[1]
        assert system.cell is not None
        fractions = jax.random.uniform(key, (n, system.dimension), jnp.float64)
        targets = fractions @ system.cell.vectors

        def moved(electron, target):
            spin = (electron >= system.spins[0]).astype(jnp.int32)
            old = walker.r[:, electron]
            inside = electron - jnp.where(spin == 0, 0, system.spins[0])
            row = slater.rows(slater.orbitals.values(target, jnp.float64), spin)
            ratio = row @ walker.inverse[spin][:, inside]
            move = Move(electron, spin, old, target)
            for term, memory in zip(psi.terms, walker.memory, strict=True):
                change = term.change(walker.r, memory, move, False, jnp.float64)
                ratio = ratio * jnp.exp(change.value)
            return jnp.real(ratio) * jnp.cos(self.vectors @ (target - old))

        values = jnp.sum(jax.vmap(moved)(jnp.arange(n), targets), axis=0)
        return star_means(values, self.star) / (2 if all(system.spins) else 1)

    def finalize(self, blocks, weights):
        mean, error = _average(blocks, weights)
        x = _star_lengths(self.vectors, self.star) / float(self.fermi)
        return {"x": x, "mean": mean, "error": error}


def star_means(values: Any, star: tuple[int, ...]) -> Any:
    """Averages of values at reciprocal vectors over the members of each star."""
    members = np.bincount(star)
    return jax.ops.segment_sum(values, np.asarray(star), len(members)) / members


def _star_lengths(vectors: Any, star: tuple[int, ...]) -> np.ndarray:
    lengths = np.linalg.norm(np.asarray(vectors), axis=1)
    return np.array([lengths[star.index(s)] for s in range(max(star) + 1)])


def _average(blocks: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat = blocks.reshape(len(blocks), -1)
    estimates = [reblock(column, weights) for column in flat.T]
    shape = blocks.shape[1:]
    mean = np.array([e.mean for e in estimates]).reshape(shape)
    return mean, np.array([e.error for e in estimates]).reshape(shape)


def _cell_of(estimator: Estimator, system: System) -> Cell:
    if system.cell is None:
        raise checks.InputError(
            "estimators", f"must not hold {type(estimator).__name__} for a system without a cell"
        )
    return system.cell
