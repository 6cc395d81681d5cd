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
from zitter.qmc.systems import System


class U(JastrowTerm):
    """u(r) to the power `order` for each spin channel, cut off at `cutoff` with C = `smoothness`.

    Without a cutoff the radius of the sphere inside the Wigner–Seitz cell is taken.
    """

    order: int = eqx.field(static=True)
    cutoff: Any
    smoothness: int = eqx.field(static=True)

    def __init__(self, order: int = 8, cutoff: float | str | None = None, smoothness: int = 3):
        self.order = checks.integer("order", order, 2, 30)
        self.cutoff = None if cutoff is None else checks.positive("cutoff", cutoff, "length")
        self.smoothness = checks.integer("smoothness", smoothness, 2, 6)

    def prepare(self, system: System) -> PreparedU:
        length = self.cutoff
        if system.cell is not None:
            limit = system.cell.inradius
            if length is None:
                length = np.float64(limit)
            elif float(length) > limit * (1 + 1e-12):
                raise checks.InputError(
                    "cutoff",
                    f"must not exceed the radius {limit:.6g} of the sphere inside the "
                    f"Wigner–Seitz cell, but is {float(length):g}",
                )
        elif length is None:
            raise checks.InputError("cutoff", "must be given for a system without a cell")
        return PreparedU(system, self.order, length, self.smoothness)


class PreparedU(PreparedTerm):
    """u on a system. `parameters` has a row for each spin channel: β₀, β₂, β₃, …"""

    system: System
    parameters: Any
    length: Any
    cusps: Any  # Γ of like and of opposite spins
    smoothness: int = eqx.field(static=True)
    pairwise: ClassVar[bool] = True
    cusped: ClassVar[bool] = True

    def __init__(self, system: System, order: int, length: Any, smoothness: int):
        self.system = system
        self.length = length
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

    def _coefficients(self) -> Any:
        first = self.parameters[:, :1]
        cusp = self.cusps[:, None] * self.length + self.smoothness * first
        return jnp.concatenate([first, cusp, self.parameters[:, 1:]], axis=1)

    def radial(self, distance: Any, beta: Any) -> tuple[Any, Any, Any]:
        """u, u' and u'' at distances; `beta` (order+1, …) broadcasts against them."""
        dtype = distance.dtype
        x = distance / self.length.astype(dtype)
        inside = x < 1
        y = jnp.where(inside, 1 - x, 0)
        p = beta[-1] + 0 * x
        p1 = p2 = jnp.zeros_like(p)
        for b in beta[-2::-1]:
            p2 = p2 * x + 2 * p1
            p1 = p1 * x + p
            p = p * x + b
        c = self.smoothness
        scale = 1 / self.length.astype(dtype)
        top = jnp.where(inside, y ** (c - 2), 0)  # y⁰ would be 1 beyond the cutoff
        value = top * y * y * p
        slope = scale * top * y * (y * p1 - c * p)
        curvature = scale**2 * top * (y * y * p2 - 2 * c * y * p1 + c * (c - 1) * p)
        return value, slope, curvature

    def start(self, r, dtype):
        return ()

    def change(self, r, memory, move, gradients, dtype):
        points = jnp.stack([move.old, move.new], axis=1)  # (d, 2)
        apart = [p[:, None] - x[None, :] for p, x in zip(points, r, strict=True)]
        apart = self.system.nearest(apart)
        n, up = r.shape[1], self.system.spins[0]
        others = jnp.arange(n) != move.electron
        # Distance 1 instead of 0 for the electron itself, which is left out of the sums.
        distance = jnp.sqrt(jnp.where(others, squared(apart), 1.0)).astype(dtype)
        channel = jnp.where(jnp.arange(n) < up, 0, 1) != move.spin
        beta = self._coefficients().astype(dtype)
        beta = jnp.where(channel, beta[-1][:, None], beta[0][:, None])
        value, slope, _ = self.radial(distance, list(beta[:, None, :]))
        value = jnp.where(others, value, 0)
        total = jnp.sum((value[1] - value[0]).astype(jnp.float64))
        if not gradients:
            return Change(total, None, None, None)
        factor = jnp.where(others, slope / distance, 0).astype(jnp.float64)
        gradient = jnp.stack([jnp.sum(factor * x, axis=1) for x in apart])  # (d, 2)
        return Change(total, gradient[:, 0], gradient[:, 1], None)

    def update(self, memory, move, news, accept):
        return memory

    def couplings(self, r, memory, moves, dtype):
        k, n = moves.electrons.shape[0], r.shape[1]
        points = jnp.concatenate([moves.old, moves.new], axis=1)  # (d, 2K)
        beta = self._coefficients().astype(dtype)
        opposite = jnp.where(jnp.arange(n) < self.system.spins[0], 0, 1) != moves.spin
        by_spin = jnp.where(opposite, beta[-1][:, None], beta[0][:, None])
        totals = row_sums(self._values(points, r, list(by_spin)).astype(jnp.float64))
        within = self._values(points, points, list(beta[0])).astype(jnp.float64)
        difference = within[k:] - within[:k]  # what step p changes at the old and new points of q
        # The electron's own old place is among all of them: what it did there does not count.
        values = totals[k:] - totals[:k] - jnp.diagonal(difference[:, :k])
        pairs = jnp.where(jnp.eye(k, dtype=bool), 0, difference[:, k:] - difference[:, :k])
        return Couplings(values, pairs, ())

    def _values(self, points, others, beta):
        """u between two sets of points (d, …)."""
        apart = [p[:, None] - x[None, :] for p, x in zip(points, others, strict=True)]
        distance = jnp.sqrt(squared(self.system.nearest(apart))).astype(beta[0].dtype)
        return self.radial(distance, beta)[0]

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
    r = np.linspace(1e-3, 1, 200) * length
    target = system.pair_guess(r, cusp)
    if target is None:
        # (1 − x)^C with the right slope at the origin and nothing else.
        free = np.zeros(order)
        free[0] = -cusp * length / c
        return free
    target = target - target[-1]
    x = r / length
    powers = [l for l in range(order + 1) if l != 1]
    columns = [(1 - x) ** c * x**l for l in powers]
    columns[0] = columns[0] + c * x * (1 - x) ** c
    fixed = cusp * length * x * (1 - x) ** c
    matrix = np.stack(columns, axis=1) * x[:, None]
    ridge = 1e-6 * np.eye(len(powers))
    return np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ ((target - fixed) * x))
