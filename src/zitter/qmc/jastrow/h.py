"""The three-body term H(r_ij, r_jk, r_ki) for homogeneous systems (Thorpe et al., Eq. 7).

    H = Σ_{lmn} c_lmn f_l(r_ij) f_m(r_jk) f_n(r_ki),     c symmetric in its indices,
    f_0 = (1 − x)^C (1 + Cx),   f_l = (1 − x)^C x^l for l ≥ 2,   x = r/L < 1

Every f has zero slope at r = 0, so H brings no cusp of its own for any coefficients, which leaves
the two-body cusps to u. Summed over triples J_H = (1/6) Σ c_lmn tr(F_l F_m F_n) with the matrices
F_l = f_l(r_ij): matrix products instead of triple loops.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import squared
from zitter.qmc.jastrow.base import Change, JastrowTerm, PreparedTerm
from zitter.qmc.jastrow.cutoffs import chosen_cutoff
from zitter.qmc.systems import System


class H(JastrowTerm):
    """The three-body term with `order` radial functions; the same for all spins."""

    order: int = eqx.field(static=True)
    cutoff: Any
    smoothness: int = eqx.field(static=True)

    def __init__(self, order: int = 3, cutoff: float | str | None = None, smoothness: int = 3):
        self.order = checks.integer("order", order, 1, 8)
        self.cutoff = None if cutoff is None else checks.positive("cutoff", cutoff, "length")
        self.smoothness = checks.integer("smoothness", smoothness, 3, 6)

    def prepare(self, system: System) -> PreparedH:
        length, free = chosen_cutoff(system, self.cutoff)
        return PreparedH(system, self.order, length, free, self.smoothness)


class PreparedH(PreparedTerm):
    """H on a system. `parameters` are c_lmn for l ≤ m ≤ n."""

    system: System
    parameters: Any
    length: Any
    order: int = eqx.field(static=True)
    free_cutoff: bool = eqx.field(static=True)
    smoothness: int = eqx.field(static=True)
    pairwise: ClassVar[bool] = False

    def __init__(self, system: System, order: int, length: Any, free: bool, smoothness: int):
        self.system = system
        self.length = length
        self.free_cutoff = free
        self.order = order
        self.smoothness = smoothness
        self.parameters = jnp.zeros(len(self._triples()))

    @property
    def varied(self):
        return {"": self.parameters} | ({"cutoff": self.length} if self.free_cutoff else {})

    @property
    def held(self):
        return {} if self.free_cutoff else {"cutoff": self.length}

    def _triples(self) -> list[tuple[int, int, int]]:
        return list(itertools.combinations_with_replacement(range(self.order), 3))

    def _tensor(self) -> Any:
        """c_lmn with all its permutations."""
        index = np.zeros((self.order,) * 3, int)
        for position, triple in enumerate(self._triples()):
            for permuted in set(itertools.permutations(triple)):
                index[permuted] = position
        return self.parameters[index]

    def radial(self, distance: Any) -> tuple[Any, Any, Any]:
        """f_l, f_l' and f_l'' at distances; the functions are the first axis."""
        c = self.smoothness
        scale = (1 / self.length).astype(distance.dtype)
        x = distance * scale
        y = jnp.where(x < 1, 1 - x, 0)
        rows = []
        for power in (0, *range(2, self.order + 1)):
            if power == 0:
                p, p1, p2 = 1 + c * x, jnp.full_like(x, c), jnp.zeros_like(x)
            else:
                p = x**power
                p1 = power * x ** (power - 1)
                p2 = power * (power - 1) * x ** (power - 2)
            top = y ** (c - 2)
            rows.append(
                (
                    top * y * y * p,
                    scale * top * y * (y * p1 - c * p),
                    scale**2 * top * (y * y * p2 - 2 * c * y * p1 + c * (c - 1) * p),
                )
            )
        value, slope, curvature = zip(*rows, strict=True)
        return jnp.stack(value), jnp.stack(slope), jnp.stack(curvature)

    def _pairs(self, r: Any, dtype: Any):
        own = jnp.eye(r.shape[1], dtype=bool)
        apart = self.system.nearest([x[:, None] - x[None, :] for x in r])
        distance = jnp.sqrt(jnp.where(own, 1.0, squared(apart))).astype(dtype)
        parts = [jnp.where(own, 0, f).astype(jnp.float64) for f in self.radial(distance)]
        return apart, distance, parts

    def start(self, r, dtype):
        return self._pairs(r, dtype)[2][0]  # F_l (order, N, N)

    def change(self, r, memory, move, gradients, dtype):
        points = jnp.stack([move.old, move.new], axis=1)
        apart = [p[:, None] - x[None, :] for p, x in zip(points, r, strict=True)]
        apart = self.system.nearest(apart)
        others = jnp.arange(r.shape[1]) != move.electron
        distance = jnp.sqrt(jnp.where(others, squared(apart), 1.0)).astype(dtype)
        value, slope, _ = (
            jnp.where(others, f, 0).astype(jnp.float64) for f in self.radial(distance)
        )
        # Rows of the moving electron are zero in f, so F may keep its old rows and columns.
        tensor = self._tensor()
        through = jnp.einsum("mjk,ntk->mntj", memory, value)
        felt = jnp.einsum("lmn,mntj->ltj", tensor, through)
        parts = 0.5 * jnp.einsum("ltj,ltj->t", value, felt)
        news = value[:, 1]
        if not gradients:
            return Change(parts[1] - parts[0], None, None, news)
        factor = jnp.sum(slope * felt, axis=0) / distance
        gradient = jnp.stack([jnp.sum(factor * x, axis=1) for x in apart])
        return Change(parts[1] - parts[0], gradient[:, 0], gradient[:, 1], news)

    def update(self, memory, move, news, accept):
        row = jnp.where(accept, news, memory[:, move.electron])
        return memory.at[:, move.electron].set(row).at[:, :, move.electron].set(row)

    def derivatives(self, r, dtype):
        apart, distance, (value, slope, curvature) = self._pairs(r, dtype)
        tensor = self._tensor()
        products = jnp.einsum("mij,njk->mnik", value, value)
        felt = jnp.einsum("lmn,mnij->lij", tensor, products)  # Σ_mn c (F_m F_n)_ij
        total = jnp.sum(value * felt) / 6
        radial = jnp.sum(slope * felt, axis=0) / distance
        gradient = jnp.stack([jnp.sum(radial * x, axis=1) for x in apart])
        laplacian = jnp.sum(curvature * felt) + (r.shape[0] - 1) * jnp.sum(radial)
        # Both legs at the same electron: Σ_i ∇_i f_l(r_ij)·∇_i f_n(r_ik) F_m(r_jk).
        for x in apart:
            leg = slope * (x / distance)
            middle = jnp.einsum("lij,nik->lnjk", leg, leg)
            laplacian = laplacian + jnp.einsum("lmn,lnjk,mjk->", tensor, middle, value)
        return total, gradient, laplacian
