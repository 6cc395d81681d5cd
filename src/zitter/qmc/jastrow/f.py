"""The term f(r_i, r_j, r_ij) of two electrons at a nucleus.

    J_f = Σ_I Σ_{i<j} f_I(r_iI, r_jI, r_ij),
    f = (1 − x_i)^C (1 − x_j)^C Σ_{l,m ≤ N_en, n ≤ N_ee} γ_lmn x_i^l x_j^m x_ij^n,   x = r/L,

zero unless both electrons are within L of the nucleus (Drummond, Towler and Needs, Phys. Rev. B 70,
235119); `f_constraints` says which γ are free. With A_il = (1 − x_i)^C x_i^l of all nuclei, kept as
memory, what a move changes is a matrix product: Σ_jn x_ij^n Σ_Im (Σ_l A_Iil γ_lmn) A_Ijm.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import row_sums, squared
from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, PreparedTerm
from zitter.qmc.jastrow.cutoffs import chosen_cutoff
from zitter.qmc.jastrow.f_constraints import free_tensors
from zitter.qmc.systems import System


class F(JastrowTerm):
    """f with powers up to `electron_nucleus` of r_i and r_j, and `electron_electron` of r_ij.

    `distinct` leaves out γ_00n and γ_l00, which come near to repeating u and χ. In a cell the
    cutoff must not exceed half the radius of the sphere inside the Wigner–Seitz cell, so that two
    electrons within it are nearest images of each other; that is the default. Without a cell the
    cutoff is one of the parameters unless given.
    """

    electron_nucleus: int = eqx.field(static=True)
    electron_electron: int = eqx.field(static=True)
    cutoff: Any
    smoothness: int = eqx.field(static=True)
    distinct: bool = eqx.field(static=True)

    def __init__(
        self,
        electron_nucleus: int = 3,
        electron_electron: int = 3,
        cutoff: float | str | None = None,
        smoothness: int = 3,
        distinct: bool = False,
    ):
        self.electron_nucleus = checks.integer("electron_nucleus", electron_nucleus, 2, 8)
        self.electron_electron = checks.integer("electron_electron", electron_electron, 2, 8)
        self.cutoff = None if cutoff is None else checks.positive("cutoff", cutoff, "length")
        self.smoothness = checks.integer("smoothness", smoothness, 2, 6)
        self.distinct = checks.boolean("distinct", distinct)

    def prepare(self, system: System) -> PreparedF:
        if system.nuclei.count == 0:
            raise checks.InputError("", "must not be F for a system without nuclei")
        length, free = chosen_cutoff(system, self.cutoff, share=0.5)
        en, ee = self.electron_nucleus, self.electron_electron
        tensors = free_tensors(en, ee, self.smoothness, self.distinct)
        return PreparedF(system, tensors, length, free, self.smoothness)


class PreparedF(PreparedTerm):
    """f on a system. `parameters` (kinds, spin channels, free γ), like spins first."""

    system: System
    parameters: Any
    tensors: Any  # (free γ, l, m, n)
    length: Any
    free_cutoff: bool = eqx.field(static=True)
    smoothness: int = eqx.field(static=True)
    pairwise: ClassVar[bool] = True

    def __init__(self, system: System, tensors: Any, length: Any, free: bool, smoothness: int):
        self.system = system
        self.tensors = tensors
        self.length = length
        self.free_cutoff = free
        self.smoothness = smoothness
        channels = 2 if all(system.spins) else 1
        self.parameters = jnp.zeros((system.nuclei.kinds, channels, len(tensors)))

    def displaced(self, system):
        return eqx.tree_at(lambda term: term.system, self, system)

    @property
    def varied(self):
        return {"": self.parameters} | ({"cutoff": self.length} if self.free_cutoff else {})

    @property
    def held(self):
        return {} if self.free_cutoff else {"cutoff": self.length}

    def gamma(self) -> Any:
        """γ_lmn of each kind of nucleus and spin channel, (kinds, channels, l, m, n)."""
        return jnp.tensordot(self.parameters, jnp.asarray(self.tensors), 1)

    # Tables: A (nuclei, l, P) of points, powers of r_ij (n, P, N), and their derivatives.

    def _scale(self, dtype: Any) -> Any:
        return 1 / jnp.asarray(self.length).astype(dtype)

    def _around(self, points: Any, dtype: Any):
        """r − R (d, nuclei, P), distances, and A, A', A'' at points (d, P)."""
        places = self.system.nuclei.positions.T
        apart = [p[None, :] - R[:, None] for p, R in zip(points, places, strict=True)]
        apart = self.system.nearest(apart)
        distance = jnp.sqrt(squared(apart)).astype(dtype)
        scale, c = self._scale(dtype), self.smoothness
        x = distance * scale
        inside = x < 1
        y = jnp.where(inside, 1 - x, 0)
        top = jnp.where(inside, y ** (c - 2), 0)
        p, p1, p2 = _powers(x, self.tensors.shape[1], axis=1)
        y, top = y[:, None], top[:, None]
        value = top * y * y * p
        slope = scale * top * y * (y * p1 - c * p)
        curvature = scale**2 * top * (y * y * p2 - 2 * c * y * p1 + c * (c - 1) * p)
        return apart, distance, (value, slope, curvature)

    def _between(self, points: Any, others: Any, own: Any, dtype: Any):
        """Displacements, distances, and x^n with derivatives (n, P, N), zero where `own`."""
        apart = [p[:, None] - x[None, :] for p, x in zip(points, others, strict=True)]
        apart = self.system.nearest(apart)
        distance = jnp.sqrt(jnp.where(own, 1.0, squared(apart))).astype(dtype)
        scale = self._scale(dtype)
        tables = _powers(distance * scale, self.tensors.shape[3], axis=0)
        value, slope, curvature = (jnp.where(own, 0, table) for table in tables)
        return apart, distance, (value, scale * slope, scale**2 * curvature)

    def _by_nucleus(self, dtype: Any) -> Any:
        return self.gamma().astype(dtype)[np.asarray(self.system.nuclei.species)]

    def _weights(self, around: Any, spin: Any) -> Any:
        """Σ_l A_Ipl γ_lmn for the other electron's spin: (channels, n, P, nuclei·m)."""
        found = _einsum("ilp,iclmn->cnpim", around, self._by_nucleus(around.dtype))
        found = found.reshape(*found.shape[:3], -1)
        return _turned(found, spin)

    def _felt(self, around: Any, spin: Any, others: Any) -> Any:
        """W (n, P, N): what x_pj^n is multiplied by, for points of one spin."""
        weights, up = self._weights(around, spin), self.system.spins[0]
        halves = [others[:, :up], others[:, up:]][: len(weights)]
        both = [_einsum("npk,kj->npj", w, a) for w, a in zip(weights, halves, strict=True)]
        return jnp.concatenate(both, axis=-1)

    def _gathered(self, table: Any, spin: Any, others: Any) -> Any:
        """Σ_j,m,n γ_lmn A_Ijm t_n,pj: (nuclei, l, P), for points of one spin."""
        up, channels = self.system.spins[0], self.parameters.shape[1]
        gamma = _turned(jnp.moveaxis(self._by_nucleus(others.dtype), 1, 0), spin)
        parts = [(table[..., :up], others[:, :up]), (table[..., up:], others[:, up:])]
        total: Any = 0
        for own, (t, a) in zip(gamma, parts[:channels], strict=True):
            sums = _einsum("npj,kj->npk", t, a)
            sums = sums.reshape(*sums.shape[:2], -1, self.tensors.shape[2])  # (n, P, nuclei, m)
            total = total + _einsum("ilmn,npim->ilp", own, sums)
        return total

    # Moves. The memory is A of all electrons, (nuclei·l, N).

    def start(self, r, dtype):
        return _flat(self._around(r, dtype)[2][0])

    def _totals(self, around, spin, points, r, memory, own, dtype):
        powers = self._between(points, r, own, dtype)[2][0]
        felt = self._felt(around, spin, memory)
        return row_sums(jnp.sum(felt * powers, axis=0).astype(jnp.float64))

    def changes(self, r, memory, at_rest, points, dtype):
        points = jnp.concatenate([at_rest.old[:, None], points], axis=1)
        around = self._around(points, dtype)[2][0]
        own = jnp.arange(r.shape[1]) == at_rest.electron
        totals = self._totals(around, at_rest.spin, points, r, memory, own, dtype)
        return totals[1:] - totals[0]

    def change(self, r, memory, move, gradients, dtype):
        points = jnp.stack([move.old, move.new], axis=1)
        near, to_nucleus, (around, around_slope, _) = self._around(points, dtype)
        own = jnp.arange(r.shape[1]) == move.electron
        news = _flat(around)[:, 1]
        if not gradients:
            old, new = self._totals(around, move.spin, points, r, memory, own, dtype)
            return Change(new - old, None, None, news)
        apart, distance, (powers, slopes, _) = self._between(points, r, own, dtype)
        sums = self._gathered(powers, move.spin, memory)
        old, new = jnp.sum((around * sums).astype(jnp.float64), axis=(0, 1))
        radial = (jnp.sum(around_slope * sums, axis=1) / to_nucleus).astype(jnp.float64)
        felt = self._felt(around, move.spin, memory)
        pair = (jnp.sum(felt * slopes, axis=0) / distance).astype(jnp.float64)
        gradient = jnp.stack(
            [
                jnp.sum(radial * x, axis=0) + jnp.sum(pair * y, axis=1)
                for x, y in zip(near, apart, strict=True)
            ]
        )
        return Change(new - old, gradient[:, 0], gradient[:, 1], news)

    def update(self, memory, move, news, accept):
        put = jnp.where(accept, news, memory[:, move.electron])
        return memory.at[:, move.electron].set(put)

    def couplings(self, r, memory, moves, dtype):
        k = moves.electrons.shape[0]
        points = jnp.concatenate([moves.old, moves.new], axis=1)  # (d, 2K)
        around = self._around(points, dtype)[2][0]
        own = jnp.arange(r.shape[1]) == jnp.tile(moves.electrons, 2)[:, None]
        totals = self._totals(around, moves.spin, points, r, memory, own, dtype)
        # All points of a block are of one spin: the first channel.
        weights = _einsum("ilp,ilmn->npim", around, self._by_nucleus(dtype)[:, 0])
        felt = _einsum("npk,kj->npj", weights.reshape(*weights.shape[:2], -1), _flat(around))
        powers = self._between(points, points, False, dtype)[2][0]
        within = jnp.sum(felt * powers, axis=0).astype(jnp.float64)
        difference = within[k:] - within[:k]
        pairs = jnp.where(jnp.eye(k, dtype=bool), 0, difference[:, k:] - difference[:, :k])
        return Couplings(totals[k:] - totals[:k], pairs, _flat(around)[:, k:])

    def update_block(self, memory, moves, news, accepted):
        old = memory[:, moves.electrons]
        return memory.at[:, moves.electrons].set(jnp.where(accepted, news, old), mode="drop")

    def derivatives(self, r, dtype):
        up, d = self.system.spins[0], r.shape[0]
        near, to_nucleus, (around, slope, curvature) = self._around(r, dtype)
        apart, distance, pairs = self._between(r, r, jnp.eye(r.shape[1], dtype=bool), dtype)
        others = _flat(around)
        rows = [(0, slice(0, up)), (1, slice(up, None))][: self.parameters.shape[1]]

        def each_spin(function):
            return jnp.concatenate([function(spin, part) for spin, part in rows], axis=-1)

        def gathered(table):  # (nuclei, l, N)
            return each_spin(lambda spin, part: self._gathered(table[:, part], spin, others))

        felt = jnp.concatenate(
            [self._felt(around[..., part], spin, others) for spin, part in rows], axis=1
        )
        sums = gathered(pairs[0])
        radial = jnp.sum(slope * sums, axis=1) / to_nucleus  # (nuclei, N)
        pair = jnp.sum(felt * pairs[1], axis=0) / distance  # (N, N)
        total = 0.5 * jnp.sum((around * sums).astype(jnp.float64))
        wide = radial.astype(jnp.float64), pair.astype(jnp.float64)
        gradient = jnp.stack(
            [
                jnp.sum(wide[0] * x, axis=0) + row_sums(wide[1] * y)
                for x, y in zip(near, apart, strict=True)
            ]
        )
        laplacian = jnp.sum((curvature * sums).astype(jnp.float64))
        laplacian += jnp.sum(row_sums(jnp.sum(felt * pairs[2], axis=0).astype(jnp.float64)))
        laplacian += (d - 1) * (jnp.sum(wide[0]) + jnp.sum(row_sums(wide[1])))
        # Both distances of one electron: 2 Σ ∇_i A_Iil · ∇_i x_ij^n γ_lmn A_Ijm.
        for x, y in zip(near, apart, strict=True):
            crossed = gathered(pairs[1] * (y / distance).astype(dtype))
            leg = slope * (x / to_nucleus).astype(dtype)[:, None]
            laplacian += 2 * jnp.sum((leg * crossed).astype(jnp.float64))
        return total, gradient, laplacian


def _powers(x: Any, count: int, axis: int) -> tuple[Any, Any, Any]:
    """x^l for l < count with first and second derivatives, the powers along `axis`."""
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    p = [one]
    for _ in range(count - 1):
        p.append(p[-1] * x)
    p1 = [zero] + [l * p[l - 1] for l in range(1, count)]
    p2 = [zero, zero] + [l * (l - 1) * p[l - 2] for l in range(2, count)]
    return jnp.stack(p, axis), jnp.stack(p1, axis), jnp.stack(p2, axis)


def _flat(around: Any) -> Any:
    """A (nuclei·l, N) from (nuclei, l, N)."""
    return around.reshape(-1, around.shape[-1])


def _turned(channels: Any, spin: Any) -> Any:
    """Like and unlike along the first axis as they are for spins up and down, seen from `spin`."""
    return channels if len(channels) == 1 else jnp.where(spin == 0, channels, channels[::-1])


def _einsum(form: str, *arrays: Any) -> Any:
    # Tensor cores would round float32 to ten bits.
    return jnp.einsum(form, *arrays, precision=jax.lax.Precision.HIGHEST)
