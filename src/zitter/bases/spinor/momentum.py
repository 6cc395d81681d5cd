"""⟨−i∇⟩ of a spinor.

The gradient acts on r⁻¹P(r)X as f (N d/dr + K/r), N the unit vector between harmonics of X, with
K = −(l + 1)N from l to l + 1 and K = lN from l to l − 1; spins are kept.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter.bases import angular
from zitter.bases.spinor.kinetic_balance import Doublets, doublets
from zitter.bases.spinor.segments import AXIS

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis
    from zitter.bases.spinor.folded import FoldedChain


def mean_momentum(basis: SpinorBasis, psi: jax.Array) -> jax.Array:
    """⟨−i∇⟩, three components; z is the propagation axis of the light."""
    neighbours = [[_neighbours(basis, sign, c) for sign in (1, -1)] for c in range(3)]
    everywhere = slice(None)
    # One spline at r = 0 and two at rmax are not in use.
    lined = jnp.pad(psi.reshape(len(psi), -1, 2), ((0, 0), (1, 2), (0, 0)))
    return _three(_moments(_tables(basis), lined, basis.kappas, neighbours, everywhere))


def divided_momentum(chain: FoldedChain, psi: jax.Array) -> jax.Array:
    """The same on many devices: μ ± 1 is in the same pair or in one of a neighbor, and devices that
    share pairs take segments of r."""
    pairs, cut, tables = chain.pairs, chain.segments, _tables(chain.basis)
    neighbours = [[_folded(chain, sign, c) for sign in (1, -1)] for c in range(3)]
    kappas = pairs.by_pair(pairs.kappas).reshape(pairs.counts[0], -1)
    kappas = np.stack([np.concatenate(three) for three in _with_ends(kappas, pairs.together)])
    over_r = PartitionSpec()
    if cut is not None:
        over_r, missing = PartitionSpec(AXIS), cut.count * cut.intervals - len(tables.weights)
        tables = jax.tree.map(lambda x: _longer(x, missing), tables)

    def local(part, kappas, neighbours, tables):
        more = chain.widened(part, pairs.rows).reshape(-1, part.shape[1] // 2, 2)
        if cut is None:
            lined = jnp.pad(more, ((0, 0), (1, 2), (0, 0)))
        else:
            lined = jnp.moveaxis(cut.spread(jnp.moveaxis(more, 2, 1), pairs.each + 2), 1, 2)
        own = slice(pairs.together, -pairs.together)
        return jax.lax.psum(_moments(tables, lined, kappas[0], neighbours, own), chain.axis)

    mine, over_mu = PartitionSpec(chain.axis), chain.over_mu
    mapped = jax.shard_map(
        local, mesh=chain.mesh, in_specs=(mine, over_mu, over_mu, over_r), out_specs=PartitionSpec()
    )
    given = jax.tree.map(jnp.asarray, (kappas, neighbours, tables))
    return _three(mapped(psi, *given))


def _three(totals: jax.Array) -> jax.Array:
    """The factor −i, where that of y has it already."""
    return jnp.stack([jnp.imag(totals[0]), -jnp.real(totals[1]), jnp.imag(totals[2])])


class _Tables(NamedTuple):
    """At Gauss–Legendre points of each interval, which is the first axis."""

    halves: Any  # functions and their slopes of P and of Q: (interval, power of κ, point, …)
    weights: Any  # (interval, point)
    ratio: Any  # weight/r


def _tables(basis: SpinorBasis) -> _Tables:
    table = doublets(basis.radial, basis.c, basis.radial.degree + 4)
    halves = ((table.P, table.slope), (table.Q, _lower_slope(table, basis.c)))
    halves = tuple(tuple(np.moveaxis(f, 1, 0) for f in functions) for functions in halves)
    return _Tables(halves, table.weights, table.weights / table.r)


def _longer(table: np.ndarray, missing: int) -> np.ndarray:
    """With intervals beyond rmax, where all is zero."""
    return np.pad(table, [(0, missing)] + [(0, 0)] * (table.ndim - 1))


def _moments(
    tables: _Tables, lined: jax.Array, kappas: Any, neighbours: list, own: slice
) -> jax.Array:
    """⟨ψ|∇|ψ⟩ of the rows `own` with their neighbours among all of them; three components."""
    values = [_values(functions, lined, kappas) for functions in tables.halves]
    real = jnp.finfo(lined.dtype).dtype
    weights, ratio = (jnp.asarray(x, real) for x in tables[1:])
    totals = []
    for both in neighbours:
        total = jnp.zeros((), lined.dtype)
        for (value, slope), pairs in zip(values, both, strict=True):
            moved = jnp.zeros_like(value[own])
            for slot in range(pairs.channel.shape[1]):
                unit, turn = (x[:, slot, None, None].astype(weights.dtype) for x in pairs[1:])
                there = pairs.channel[:, slot]
                moved += unit * slope[there] * weights + turn * value[there] * ratio
            total += jnp.vdot(value[own], moved)
        totals.append(total)
    return jnp.stack(totals)


def _with_ends(rows: np.ndarray, count: int) -> zip:
    """What each device has between `count` of each neighbor; zeros at the ends of the chain."""
    before, after = (
        np.zeros((len(rows), count), rows.dtype),
        np.zeros((len(rows), count), rows.dtype),
    )
    before[1:], after[:-1] = rows[:-1, -count:], rows[1:, :count]
    return zip(before, rows, after, strict=True)


def _folded(chain: FoldedChain, sign: int, component: int) -> _Neighbours:
    """For each row, those among the rows at hand on its device; none in padding."""
    found, pairs = _neighbours(chain.basis, sign, component), chain.pairs
    channels = pairs.by_pair(pairs.channels).reshape(-1)
    used = channels < chain.whole[0]
    places = np.zeros(chain.whole[0], int)
    places[channels[used]] = np.nonzero(used)[0]
    channel = found.channel[np.where(used, channels, 0)]
    share = pairs.each * pairs.together
    first = np.arange(len(used)) // share * share - pairs.together
    there = places[channel] - first[:, None]
    weights = [np.where(used[:, None], w[np.where(used, channels, 0)], 0) for w in found[1:]]
    idle = (weights[0] == 0) & (weights[1] == 0)
    there = np.where(idle, 0, there)
    assert there.min() >= 0 and there.max() < share + 2 * pairs.together
    return _Neighbours(there, *weights)


def _values(functions, lined: jax.Array, kappas: Any) -> list[jax.Array]:
    """Radial functions at the Gauss–Legendre points, (channels, intervals, points)."""
    intervals, width = functions[0].shape[0], functions[0].shape[3]
    local = lined[:, np.arange(intervals)[:, None] + np.arange(width)]
    real = jnp.finfo(lined.dtype).dtype
    kappa = jnp.asarray(kappas, real)[:, None, None]
    tables = [[jnp.asarray(f[:, power], real) for power in range(f.shape[1])] for f in functions]
    parts = [[jnp.einsum("jqab,cjab->cjq", f, local) for f in table] for table in tables]
    return [plain + kappa * turned for plain, turned in parts]


def _lower_slope(table: Doublets, c: float) -> np.ndarray:
    """Q′ as `Doublets` has P′: from block 1, Q = (u′ + κu/r)/2c, and block 2, Q = u."""
    u, first, r = table.P[0, ..., 0], table.slope[0, ..., 0], table.r[..., None]
    ratio = (first / r - u / r**2) / (2 * c)
    second = table.slope[0, ..., 1].copy()  # u″/2c
    slope = np.zeros_like(table.Q)
    slope[0, ..., 1] = first
    for j, a in ((0, 1), (1, 0)):  # the first spline, whose block 2 differs (`doublets`)
        turned = 2 * second[j, :, a]
        slope[0, j, :, a, 1] = 0.5 * (first[j, :, a] + turned)
        slope[1, j, :, a, 1] = 0.5 * (first[j, :, a] - turned)
        second[j, :, a] = turned + ratio[j, :, a]
    slope[0, ..., 0], slope[1, ..., 0] = second, ratio
    return slope


class _Neighbours(NamedTuple):
    """For each channel, those that the unit vector connects it with: (channels, slots)."""

    channel: np.ndarray
    unit: np.ndarray  # N, or for y that of −i
    centrifugal: np.ndarray  # K


@functools.lru_cache(maxsize=64)
def _neighbours(basis: SpinorBasis, sign: int, component: int) -> _Neighbours:
    """Those of X_{sign·κ,μ}; without a phase for x and z, with f = −i for y."""
    kappas, mus = sign * basis.kappas, basis.mus
    l, weights = angular.orbital(kappas), angular.spin_coefficients(kappas, mus)
    place = {(int(k), float(mu)): i for i, (k, mu) in enumerate(zip(kappas, mus, strict=True))}
    steps = (0,) if component == 2 else (-1, 1)
    lists: list[list[tuple[int, float, float]]] = []
    for row in range(len(kappas)):
        found = []
        for there in (int(l[row]) - 1, int(l[row]) + 1):
            for kappa in (there, -there - 1):
                for step in steps:
                    column = place.get((kappa, float(mus[row]) - step))
                    if kappa == 0 or there < 0 or column is None:
                        continue
                    unit = sum(
                        weights[s][row] * weights[s][column]
                        * _unit(int(l[row]), round(mus[row] + shift), there,
                                round(mus[column] + shift), component)
                        for s, shift in enumerate((-0.5, 0.5))
                    )  # fmt: skip
                    rise = -int(l[row]) if l[row] > there else there
                    found.append((column, unit, rise * unit))
        lists.append(found)
    slots = max(1, *(len(found) for found in lists))
    table = np.zeros((3, len(kappas), slots))
    for row, found in enumerate(lists):
        for slot, entries in enumerate(found):
            table[:, row, slot] = entries
    return _Neighbours(table[0].astype(int), table[1], table[2])


def _unit(l: int, m: int, l2: int, m2: int, component: int) -> float:
    """⟨lm| n |l₂m₂⟩ for z and x; for y without its factor −i."""
    if abs(m) > l or abs(m2) > l2:
        return 0.0
    if component == 2:
        return angular.cosine(min(l, l2), m) if m == m2 else 0.0
    sign = 1 if component == 0 or m > m2 else -1
    return 0.5 * sign * (_raised(l, l2, m2) if m == m2 + 1 else _raised(l2, l, m))


def _raised(high: int, l: int, m: int) -> float:
    """⟨high, m + 1| n_x + i n_y |l, m⟩."""
    if high == l + 1:
        return -np.sqrt((l + m + 1) * (l + m + 2) / ((2 * l + 1) * (2 * l + 3)))
    return np.sqrt((l - m) * (l - m - 1) / ((2 * l - 1) * (2 * l + 1)))
