"""The two-body term u(r): a polynomial that is cut off smoothly and carries the Kato cusp.

    u(r) = (r − L)^C Θ(L − r) Σ_l α_l r^l                                Thorpe et al., Eq. (8)

Inside, x = r/L and u = (1 − x)^C Σ_l β_l x^l, so that coefficients are of one size; Eq. (8)'s are
α_l = (−1)^C β_l / L^{l+C}. The cusp u'(0) = Γ fixes β₁ = ΓL + Cβ₀; every other β is free. Γ is ½
for opposite and ¼ for like spins in three dimensions, 1 and ⅓ in two.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import row_sums, squared
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, PreparedTerm
from zitter.qmc.jastrow.cutoffs import chosen_cutoff, cut_off, fitted, with_slope
from zitter.qmc.systems import System


class U(JastrowTerm):
    """u(r) to the power `order` for each spin channel, cut off at `cutoff` with C = `smoothness`.

    Without a cutoff the radius of the sphere inside the Wigner–Seitz cell is taken; without a cell
    the cutoff is one of the parameters.
    """

    order: int = eqx.field(static=True)
    cutoff: Any
    smoothness: int = eqx.field(static=True)

    def __init__(self, order: int = 8, cutoff: float | str | None = None, smoothness: int = 3):
        self.order = checks.integer("order", order, 2, 30)
        self.cutoff = None if cutoff is None else checks.positive("cutoff", cutoff, "length")
        self.smoothness = checks.integer("smoothness", smoothness, 2, 6)

    def prepare(self, system: System) -> PreparedU:
        length, free = chosen_cutoff(system, self.cutoff)
        return PreparedU(system, self.order, length, free, self.smoothness)


class PreparedU(PreparedTerm):
    """u on a system. `parameters` has a row for each spin channel: β₀, β₂, β₃, …"""

    system: System
    parameters: Any
    length: Any
    cusps: Any  # Γ of like and of opposite spins
    free_cutoff: bool = eqx.field(static=True)
    smoothness: int = eqx.field(static=True)
    pairwise: ClassVar[bool] = True
    cusped: ClassVar[bool] = True

    def __init__(self, system: System, order: int, length: Any, free: bool, smoothness: int):
        self.system = system
        self.length = length
        self.free_cutoff = free
        self.smoothness = smoothness
        like, opposite = (0.25, 0.5) if system.dimension == 3 else (1 / 3, 1.0)
        self.cusps = np.asarray([like, opposite] if all(system.spins) else [like])
        self.parameters = jnp.asarray(
            np.stack([_guess(system, g, float(length), order, smoothness) for g in self.cusps])
        )

    @property
    def alpha(self) -> Any:
        """The coefficients α_l of Eq. (8), a row for each spin channel."""
        beta = np.asarray(self._coefficients())
        powers = float(self.length) ** -(np.arange(beta.shape[1]) + self.smoothness)
        return (-1) ** self.smoothness * beta * powers

    @property
    def varied(self):
        return {"": self.parameters} | ({"cutoff": self.length} if self.free_cutoff else {})

    @property
    def held(self):
        return {} if self.free_cutoff else {"cutoff": self.length}

    def _coefficients(self) -> Any:
        return with_slope(self.parameters, self.cusps, self.length, self.smoothness)

    def radial(self, distance: Any, beta: Any) -> tuple[Any, Any, Any]:
        """u, u' and u'' at distances; `beta` (order+1, …) broadcasts against them."""
        return cut_off(distance, self.length, self.smoothness, beta)

    def start(self, r, dtype):
        return ()

    def changes(self, r, memory, at_rest, points, dtype):
        points = jnp.concatenate([at_rest.old[:, None], points], axis=1)
        # The electron itself is left out by a distance beyond the cutoff, where u is zero.
        own = jnp.arange(r.shape[1]) == at_rest.electron
        value = self._values(points, r, self._by_spin(r, at_rest.spin, dtype), own)
        totals = row_sums(value.astype(jnp.float64))
        return totals[1:] - totals[0]

    def _by_spin(self, r, spin, dtype):
        """β (order+1 arrays of N) between an electron of this spin and each of the others."""
        opposite = jnp.where(jnp.arange(r.shape[1]) < self.system.spins[0], 0, 1) != spin
        beta = self._coefficients().astype(dtype)
        return list(jnp.where(opposite, beta[-1][:, None], beta[0][:, None]))

    def change(self, r, memory, move, gradients, dtype):
        if not gradients:
            value = self.changes(r, memory, move, move.new[:, None], dtype)
            return Change(value[0], None, None, None)
        points = jnp.stack([move.old, move.new], axis=1)  # (d, 2)
        apart = [p[:, None] - x[None, :] for p, x in zip(points, r, strict=True)]
        apart = self.system.nearest(apart)
        others = jnp.arange(r.shape[1]) != move.electron
        # Distance 1 instead of 0 for the electron itself, which is left out of the sums.
        distance = jnp.sqrt(jnp.where(others, squared(apart), 1.0)).astype(dtype)
        value, slope, _ = self.radial(distance, self._by_spin(r, move.spin, dtype))
        value = jnp.where(others, value, 0)
        total = jnp.sum((value[1] - value[0]).astype(jnp.float64))
        factor = jnp.where(others, slope / distance, 0).astype(jnp.float64)
        gradient = jnp.stack([jnp.sum(factor * x, axis=1) for x in apart])  # (d, 2)
        return Change(total, gradient[:, 0], gradient[:, 1], None)

    def update(self, memory, move, news, accept):
        return memory

    def couplings(self, r, memory, moves, dtype):
        k = moves.electrons.shape[0]
        points = jnp.concatenate([moves.old, moves.new], axis=1)  # (d, 2K)
        beta = self._coefficients().astype(dtype)
        by_spin = self._by_spin(r, moves.spin, dtype)
        totals = row_sums(self._values(points, r, by_spin).astype(jnp.float64))
        within = self._values(points, points, list(beta[0])).astype(jnp.float64)
        difference = within[k:] - within[:k]  # what step p changes at the old and new points of q
        # The electron's own old place is among all of them: what it did there does not count.
        values = totals[k:] - totals[:k] - jnp.diagonal(difference[:, :k])
        pairs = jnp.where(jnp.eye(k, dtype=bool), 0, difference[:, k:] - difference[:, :k])
        return Couplings(values, pairs, ())

    def _values(self, points, others, beta, without=False):
        """u between two sets of points (d, …), zero where `without` is true."""
        apart = [p[:, None] - x[None, :] for p, x in zip(points, others, strict=True)]
        # Before the root, whose slope at zero would spoil derivatives.
        square = jnp.where(without, 4 * self.length**2, squared(self.system.nearest(apart)))
        return self.radial(jnp.sqrt(square).astype(beta[0].dtype), beta)[0]

    def update_block(self, memory, moves, news, accepted):
        return memory

    def derivatives(self, r, dtype):
        n, up = r.shape[1], self.system.spins[0]
        own = jnp.eye(n, dtype=bool)
        apart = self.system.nearest([x[:, None] - x[None, :] for x in r])
        distance = jnp.sqrt(jnp.where(own, 1.0, squared(apart))).astype(dtype)
        spin = np.arange(n) < up
        beta = self._coefficients().astype(dtype)
        unlike = spin[:, None] != spin[None, :]
        value, slope, curvature = self.radial(
            distance, [jnp.where(unlike, b[-1], b[0]) for b in beta.T]
        )
        drop = lambda a: jnp.where(own, 0, a).astype(jnp.float64)  # noqa: E731
        factor = drop(slope / distance)
        gradient = jnp.stack([row_sums(factor * x) for x in apart])
        laplacian = row_sums(drop(curvature) + (r.shape[0] - 1) * factor)
        return 0.5 * jnp.sum(row_sums(drop(value))), gradient, jnp.sum(laplacian)


def _guess(system: System, cusp: float, length: float, order: int, c: int) -> np.ndarray:
    """Free coefficients to start from: the system's guess of u, fitted with its cusp held."""
    if system.pair_guess(np.ones(1), cusp) is None:
        # (1 − x)^C with the right slope at the origin and nothing else.
        free = np.zeros(order)
        free[0] = -cusp * length / c
        return free
    return fitted(lambda r: system.pair_guess(r, cusp), cusp, length, order, c)
