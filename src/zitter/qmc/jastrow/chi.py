"""The one-body term χ(r) around nuclei: a polynomial that is cut off smoothly.

    J_χ = Σ_i Σ_I χ_I(r_iI),   χ(r) = (1 − x)^C Θ(1 − x) Σ_m β_m x^m,   x = r/L

(Drummond, Towler and Needs, Phys. Rev. B 70, 235119). χ'(0) = −Z_c fixes β₁ = −Z_c L + Cβ₀. Z_c is
zero where the orbitals have the electron–nucleus cusp, or pseudopotentials leave none; it is Z
(2Z/(d − 1) in d dimensions) where J is to bring it to orbitals that are smooth at nuclei. Nuclei of
one kind share their coefficients.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import squared
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, PreparedTerm
from zitter.qmc.jastrow.cutoffs import chosen_cutoff, cut_off, fitted, with_slope
from zitter.qmc.systems import System


class Chi(JastrowTerm):
    """χ(r) to the power `order` around each kind of nucleus, cut off with C = `smoothness`.

    `cusp` puts the cusp of bare nuclei into χ, for orbitals that have none (plain Gaussians);
    `by_spin` splits spin up and spin down. Without a cutoff the radius of the sphere inside the
    Wigner–Seitz cell is taken; without a cell the cutoff is one of the parameters.
    """

    order: int = eqx.field(static=True)
    cutoff: Any
    smoothness: int = eqx.field(static=True)
    cusp: bool = eqx.field(static=True)
    by_spin: bool = eqx.field(static=True)

    def __init__(
        self,
        order: int = 8,
        cutoff: float | str | None = None,
        smoothness: int = 3,
        cusp: bool = False,
        by_spin: bool = False,
    ):
        self.order = checks.integer("order", order, 2, 30)
        self.cutoff = None if cutoff is None else checks.positive("cutoff", cutoff, "length")
        self.smoothness = checks.integer("smoothness", smoothness, 2, 6)
        self.cusp = checks.boolean("cusp", cusp)
        self.by_spin = checks.boolean("by_spin", by_spin)

    def prepare(self, system: System) -> PreparedChi:
        if system.nuclei.count == 0:
            raise checks.InputError("", "must not be Chi for a system without nuclei")
        length, free = chosen_cutoff(system, self.cutoff)
        nuclei = system.nuclei
        slopes = np.zeros(nuclei.kinds)
        if self.cusp:
            for kind, charge, bare in zip(nuclei.species, nuclei.charges, nuclei.bare, strict=True):
                slopes[kind] = -2 * charge / (system.dimension - 1) if bare else 0.0
        channels = 2 if self.by_spin and all(system.spins) else 1
        guess = [_guess(slope, float(length), self.order, self.smoothness) for slope in slopes]
        start = np.repeat(np.stack(guess)[:, None], channels, axis=1)
        return PreparedChi(system, jnp.asarray(start), slopes, length, free, self.smoothness)


class PreparedChi(PreparedTerm):
    """χ on a system. `parameters` (kinds, spin channels, order): β₀, β₂, β₃, …"""

    system: System
    parameters: Any
    slopes: Any  # χ'(0) of each kind
    length: Any
    free_cutoff: bool = eqx.field(static=True)
    smoothness: int = eqx.field(static=True)
    pairwise: ClassVar[bool] = True  # without any coupling of pairs

    def __init__(
        self, system: System, start: Any, slopes: Any, length: Any, free: bool, smoothness: int
    ):
        self.system = system
        self.parameters = start
        self.slopes = slopes
        self.length = length
        self.free_cutoff = free
        self.smoothness = smoothness

    def displaced(self, system):
        return eqx.tree_at(lambda term: term.system, self, system)

    @property
    def varied(self):
        return {"": self.parameters} | ({"cutoff": self.length} if self.free_cutoff else {})

    @property
    def held(self):
        return {} if self.free_cutoff else {"cutoff": self.length}

    def coefficients(self) -> Any:
        """β_m of each kind and spin channel, shape (kinds, channels, order+1)."""
        return with_slope(self.parameters, self.slopes[:, None], self.length, self.smoothness)

    def _radial(self, points: Any, spin: Any, dtype: Any):
        """r − R as components (nuclei, Q), distances, and χ, χ', χ'' of the nuclei at points (d, Q)
        of electrons whose spins are `spin`, one or Q of them."""
        nuclei = self.system.nuclei
        apart = [p[None, :] - R[:, None] for p, R in zip(points, nuclei.positions.T, strict=True)]
        apart = self.system.nearest(apart)
        distance = jnp.sqrt(squared(apart)).astype(dtype)
        beta = self.coefficients().astype(dtype)[
            np.asarray(nuclei.species)
        ]  # (nuclei, channels, m)
        if beta.shape[1] == 2:
            up = jnp.asarray(spin)[..., None] == 0
            beta = jnp.where(up, beta[:, :1], beta[:, 1:])
        return apart, distance, cut_off(distance, self.length, self.smoothness, list(_first(beta)))

    def _totals(self, points: Any, spin: Any, dtype: Any) -> Any:
        return jnp.sum(self._radial(points, spin, dtype)[2][0].astype(jnp.float64), axis=0)

    def start(self, r, dtype):
        return ()

    def change(self, r, memory, move, gradients, dtype):
        points = jnp.stack([move.old, move.new], axis=1)
        if not gradients:
            old, new = self._totals(points, move.spin, dtype)
            return Change(new - old, None, None, ())
        apart, distance, (value, slope, _) = self._radial(points, move.spin, dtype)
        old, new = jnp.sum(value.astype(jnp.float64), axis=0)
        factor = (slope / distance).astype(jnp.float64)
        gradient = jnp.stack([jnp.sum(factor * x, axis=0) for x in apart])
        return Change(new - old, gradient[:, 0], gradient[:, 1], ())

    def changes(self, r, memory, at_rest, points, dtype):
        points = jnp.concatenate([at_rest.old[:, None], points], axis=1)
        totals = self._totals(points, at_rest.spin, dtype)
        return totals[1:] - totals[0]

    def update(self, memory, move, news, accept):
        return memory

    def couplings(self, r, memory, moves, dtype):
        k = moves.electrons.shape[0]
        totals = self._totals(jnp.concatenate([moves.old, moves.new], axis=1), moves.spin, dtype)
        return Couplings(totals[k:] - totals[:k], jnp.zeros((k, k)), ())

    def update_block(self, memory, moves, news, accepted):
        return memory

    def derivatives(self, r, dtype):
        spin = np.where(np.arange(r.shape[1]) < self.system.spins[0], 0, 1)
        apart, distance, parts = self._radial(r, spin, dtype)
        factor = (parts[1] / distance).astype(jnp.float64)
        gradient = jnp.stack([jnp.sum(factor * x, axis=0) for x in apart])
        laplacian = parts[2].astype(jnp.float64) + (r.shape[0] - 1) * factor
        return jnp.sum(parts[0].astype(jnp.float64)), gradient, jnp.sum(laplacian)


def _first(beta: Any) -> Any:
    """The powers as first axis."""
    return jnp.moveaxis(beta, -1, 0)


def _guess(slope: float, length: float, order: int, c: int) -> np.ndarray:
    """Free coefficients to start from: nothing, or a cusp that is gone within 1/Z."""
    if slope == 0:
        return np.zeros(order)
    return fitted(lambda r: np.exp(2 * slope * r) / 2, slope, length, order, c)
