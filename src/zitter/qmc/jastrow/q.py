"""The one-body term q(r) of crystals: plane waves that have the symmetry of the crystal.

    J_q = Σ_i q(r_i),   q(r) = Σ_k b_k Σ_G [C_k0G cos(G·r) + C_k1G sin(G·r)]

with one function k, or a few where a star has several, for each star of reciprocal vectors of the
primitive lattice (Thorpe et al., Eq. 7). The functions are those that all rotations and
translations of the crystal leave alone; `crystal_symmetry` finds them from the nuclei.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, PreparedTerm
from zitter.qmc.jastrow.crystal_symmetry import symmetric_waves
from zitter.qmc.systems import System
from zitter.qmc.trigonometry import cos_sin


class Q(JastrowTerm):
    """q(r) over the shortest `stars` of reciprocal vectors that the crystal's symmetry allows."""

    stars: int = eqx.field(static=True)

    def __init__(self, stars: int = 5):
        self.stars = checks.integer("stars", stars, 1, 100)

    def prepare(self, system: System) -> PreparedQ:
        if system.cell is None or system.nuclei.count == 0:
            raise checks.InputError("", "must not be Q for a system that is no crystal")
        return PreparedQ(*symmetric_waves(system.cell, system.nuclei, self.stars))


class PreparedQ(PreparedTerm):
    """q on a crystal. `parameters` are b_k."""

    parameters: Any
    G: Any  # (N_G, d), one of each ±G
    shapes: Any  # C (functions, 2, N_G)
    pairwise: ClassVar[bool] = True  # without any coupling of pairs

    def __init__(self, G: Any, shapes: Any):
        self.G = G
        self.shapes = shapes
        self.parameters = jnp.zeros(len(shapes))

    def _waves(self, r: Any, dtype: Any) -> tuple[Any, Any, Any, Any]:
        """cos and sin of G·r for r (d, P), each (P, N_G), and their coefficients (N_G,)."""
        c, s = cos_sin(r.T @ self.G.T, dtype)
        a, b = jnp.tensordot(self.parameters, jnp.asarray(self.shapes), 1).astype(dtype)
        return c, s, a, b

    def _totals(self, r: Any, dtype: Any) -> Any:
        c, s, a, b = self._waves(r, dtype)
        return jnp.sum((a * c + b * s).astype(jnp.float64), axis=1)

    def _gradients(self, r: Any, dtype: Any) -> Any:
        c, s, a, b = self._waves(r, dtype)
        return ((b * c - a * s).astype(jnp.float64) @ self.G).T

    def start(self, r, dtype):
        return ()

    def change(self, r, memory, move, gradients, dtype):
        points = jnp.stack([move.old, move.new], axis=1)
        old, new = self._totals(points, dtype)
        if not gradients:
            return Change(new - old, None, None, ())
        gradient = self._gradients(points, dtype)
        return Change(new - old, gradient[:, 0], gradient[:, 1], ())

    def changes(self, r, memory, at_rest, points, dtype):
        totals = self._totals(jnp.concatenate([at_rest.old[:, None], points], axis=1), dtype)
        return totals[1:] - totals[0]

    def update(self, memory, move, news, accept):
        return memory

    def couplings(self, r, memory, moves, dtype):
        k = moves.electrons.shape[0]
        change = self._totals(moves.new, dtype) - self._totals(moves.old, dtype)
        return Couplings(change, jnp.zeros((k, k)), ())

    def update_block(self, memory, moves, news, accepted):
        return memory

    def derivatives(self, r, dtype):
        c, s, a, b = self._waves(r, dtype)
        waves = (a * c + b * s).astype(jnp.float64)
        square = jnp.sum(jnp.asarray(self.G) ** 2, axis=1)
        return jnp.sum(waves), self._gradients(r, dtype), -jnp.sum(waves @ square)
