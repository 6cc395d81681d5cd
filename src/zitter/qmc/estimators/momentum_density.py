"""The momentum density n(k)."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import half_space, shells
from zitter.qmc.estimators.base import Estimator, Prepared, average, cell_of
from zitter.qmc.estimators.structure_factor import star_lengths, star_means


class MomentumDensity(Estimator):
    """n(k): the occupation of plane waves, by moving each electron to a random point of the cell,

        n(k) = ⟨Σ_i cos k·(r_i' − r_i) Ψ(…r_i'…)/Ψ⟩ / (number of spins),

    on all stars up to `kmax` Fermi wave vectors of the mean density. Without correlation n of the
    electron gas is 1 inside and 0 outside.
    """

    kmax: Any
    at_twists: ClassVar[bool] = False

    def __init__(self, kmax: float = 2.0):
        self.kmax = checks.positive("kmax", kmax)

    def prepare(self, system):
        cell = cell_of(self, system)
        if cell.is_slab:
            raise checks.InputError("estimators", "must not hold MomentumDensity for a slab")
        density = max(system.spins) / float(cell.volume)
        if system.dimension == 3:
            fermi = (6 * np.pi**2 * density) ** (1 / 3)
        else:
            fermi = (4 * np.pi * density) ** 0.5
        integers, vectors = cell.reciprocal_points(float(self.kmax) * fermi)
        lengths = np.linalg.norm(vectors, axis=1)
        keep = half_space(integers) | (lengths == 0)
        return _Momenta(vectors[keep], shells(lengths)[keep], fermi, cell.vectors)


class _Momenta(Prepared):
    vectors: Any
    fermi: Any
    cell: Any  # its lattice vectors
    star: tuple[int, ...] = eqx.field(static=True)
    name: ClassVar[str] = "momentum_density"

    def __init__(self, vectors: np.ndarray, star: np.ndarray, fermi: float, cell: Any):
        self.cell = cell
        self.vectors = vectors
        self.fermi = np.float64(fermi)
        self.star = tuple(int(s) for s in star)

    def evaluate(self, psi, walker, key):
        system = psi.system
        n = walker.r.shape[1]
        fractions = jax.random.uniform(key, (n, system.dimension), jnp.float64)
        targets = fractions @ self.cell

        def moved(electron, target):
            opened, seat = psi.alone(walker, electron)
            ratio = psi.ratios(opened, seat, target[:, None])[0]
            return jnp.real(ratio) * jnp.cos(self.vectors @ (target - walker.r[:, electron]))

        values = jnp.sum(jax.vmap(moved)(jnp.arange(n), targets), axis=0)
        return star_means(values, self.star) / (2 if all(system.spins) else 1)

    def finalize(self, blocks, weights):
        mean, error = average(blocks, weights)
        x = star_lengths(self.vectors, self.star) / float(self.fermi)
        return {"x": x, "mean": mean, "error": error}
