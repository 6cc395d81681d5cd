"""The two-body term p(r): plane waves that fill what the sphere of u leaves of the cell.

    p(r) = Σ_m a_m Σ_{G ∈ ★m⁺} cos(G·r)                                  Thorpe et al., Eq. (9)

Summed over pairs through ρ_G = Σ_j e^{iG·r_j}: J_p = ½ Σ_G a_G (|ρ_G|² − N), with one ρ for each
spin so that like and opposite spins have coefficients of their own. A move of one electron changes
ρ by one phase factor: O(N_G) work where the double sum over pairs takes O(N·N_G).
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import half_space, shells
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, PreparedTerm
from zitter.qmc.systems import System
from zitter.qmc.trigonometry import cos_sin


class P(JastrowTerm):
    """p(r) over the shortest `stars` of reciprocal vectors; `by_spin` splits like and opposite."""

    stars: int = eqx.field(static=True)
    by_spin: bool = eqx.field(static=True)

    def __init__(self, stars: int = 5, by_spin: bool = True):
        self.stars = checks.integer("stars", stars, 1, 200)
        self.by_spin = checks.boolean("by_spin", by_spin)

    def prepare(self, system: System) -> PreparedP:
        if system.cell is None:
            raise checks.InputError("", "must not be P for a system without a cell")
        return PreparedP(system, self.stars, self.by_spin)


class PreparedP(PreparedTerm):
    """p on a system. `parameters` are a_m, a row for each spin channel."""

    parameters: Any
    G: Any  # (N_G, d), one of each ±G
    star: Any  # the star each G belongs to
    spins: tuple[int, int] = eqx.field(static=True)
    pairwise: ClassVar[bool] = True

    def __init__(self, system: System, stars: int, by_spin: bool):
        assert system.cell is not None
        self.spins = system.spins
        self.G, self.star = star_vectors(system.cell, stars)
        channels = 2 if by_spin and all(system.spins) else 1
        self.parameters = jnp.zeros((channels, stars))

    @property
    def _species(self) -> int:
        return 2 if all(self.spins) else 1

    def _couplings(self, dtype: Any) -> Any:
        """A_st of each G, shape (species, species, N_G)."""
        a = self.parameters.astype(dtype)[:, self.star]
        if self._species == 1:
            return a[None, :1]
        return jnp.stack([jnp.stack([a[0], a[-1]]), jnp.stack([a[-1], a[0]])])

    def _waves(self, r: Any, dtype: Any) -> Any:
        """cos and sin of G·r for r (d, …): shape (2, …, N_G)."""
        return jnp.stack(cos_sin(jnp.moveaxis(r, 0, -1) @ self.G.T, dtype))

    def _sums(self, waves: Any) -> Any:
        """ρ of each species from the waves of all electrons: (species, 2, N_G) in double."""
        up = self.spins[0]
        waves = waves.astype(jnp.float64)
        parts = [waves[:, :up], waves[:, up:]][: self._species]
        return jnp.stack([jnp.sum(part, axis=1) for part in parts])

    def start(self, r, dtype):
        return self._sums(self._waves(r, dtype))

    def change(self, r, memory, move, gradients, dtype):
        waves = self._waves(jnp.stack([move.old, move.new], axis=1), dtype).astype(jnp.float64)
        old, new = waves[:, 0], waves[:, 1]
        coupling = self._couplings(jnp.float64)[move.spin]  # (species, N_G)
        # What the moving electron feels: every ρ without its own contribution.
        field = jnp.einsum("sg,scg->cg", coupling, memory) - coupling[move.spin] * old
        value = jnp.sum((new - old) * field)
        if not gradients:
            return Change(value, None, None, new - old)

        def gradient(wave):
            return (wave[0] * field[1] - wave[1] * field[0]) @ self.G

        return Change(value, gradient(old), gradient(new), new - old)

    def update(self, memory, move, news, accept):
        return memory.at[move.spin].add(jnp.where(accept, news, 0.0))

    def couplings(self, r, memory, moves, dtype):
        k = moves.electrons.shape[0]
        points = jnp.concatenate([moves.old, moves.new], axis=1)
        waves = self._waves(points, dtype).astype(jnp.float64)  # (2, 2K, N_G)
        old, step = waves[:, :k], waves[:, k:] - waves[:, :k]
        coupling = self._couplings(jnp.float64)[moves.spin]
        own = coupling[moves.spin]
        field = jnp.einsum("sg,scg->cg", coupling, memory)
        values = jnp.sum(step * (field[:, None] - own * old), axis=(0, 2))
        pairs = jnp.einsum("cpg,cqg->pq", own * step, step)
        return Couplings(values, jnp.where(jnp.eye(k, dtype=bool), 0, pairs), step)

    def update_block(self, memory, moves, news, accepted):
        return memory.at[moves.spin].add(jnp.sum(jnp.where(accepted[:, None], news, 0), axis=1))

    def derivatives(self, r, dtype):
        waves = self._waves(r, dtype)  # (2, N, N_G)
        rho = self._sums(waves)
        coupling = self._couplings(jnp.float64)
        field = jnp.einsum("stg,tcg->scg", coupling, rho)
        own = coupling[0, 0]
        value = 0.5 * (jnp.sum(field * rho) - r.shape[1] * jnp.sum(own))
        spin = np.where(np.arange(r.shape[1]) < self.spins[0], 0, 1)
        felt = field[spin].astype(dtype)  # (N, 2, N_G)
        slope = waves[0] * felt[:, 1] - waves[1] * felt[:, 0]
        gradient = (slope.astype(jnp.float64) @ self.G).T
        square = jnp.sum(self.G**2, axis=1)
        # Σ_i of cos·F_r + sin·F_i is Σ_s ρ_s·F_s; each electron's own part A_ss is taken off.
        laplacian = -jnp.sum(square * (jnp.sum(field * rho, axis=(0, 1)) - r.shape[1] * own))
        return value, gradient, laplacian


def star_vectors(cell: Any, stars: int) -> tuple[np.ndarray, np.ndarray]:
    """(G, star index) of the shortest stars, one of each ±G."""
    radius = 2 * np.max(np.linalg.norm(cell.reciprocal, axis=1))
    while True:
        integers, vectors = cell.reciprocal_points(radius)
        index = shells(np.linalg.norm(vectors, axis=1)) - 1
        if index[-1] > stars:
            keep = half_space(integers) & (index < stars)
            return vectors[keep], index[keep]
        radius *= 1.5
