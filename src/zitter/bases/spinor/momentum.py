"""⟨−i∇⟩ of a spinor.

The gradient acts on r⁻¹P(r)X as f (N d/dr + K/r), N the unit vector between harmonics of X, with
K = −(l + 1)N from l to l + 1 and K = lN from l to l − 1; spins are kept.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases import angular
from zitter.bases.spinor.kinetic_balance import Doublets, doublets

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis


def mean_momentum(basis: SpinorBasis, psi: jax.Array) -> jax.Array:
    """⟨−i∇⟩, three components; z is the propagation axis of the light."""
    table = doublets(basis.radial, basis.c, basis.radial.degree + 4)
    halves = ((table.P, table.slope), (table.Q, _lower_slope(table, basis.c)))
    values = [_values(functions, psi, basis.kappas) for functions in halves]
    totals = []
    weights = jnp.asarray(table.weights, jnp.finfo(psi.dtype).dtype)
    ratio = jnp.asarray(table.weights / table.r, weights.dtype)
    for component in range(3):
        total = jnp.zeros((), psi.dtype)
        for (value, slope), sign in zip(values, (1, -1), strict=True):
            pairs = _neighbours(basis, sign, component)
            moved = jnp.zeros_like(value)
            for slot in range(pairs.channel.shape[1]):
                unit, turn = (x[:, slot, None, None].astype(weights.dtype) for x in pairs[1:])
                there = pairs.channel[:, slot]
                moved += unit * slope[there] * weights + turn * value[there] * ratio
            total += jnp.vdot(value, moved)
        totals.append(jnp.imag(total) if component != 1 else -jnp.real(total))
    return jnp.stack(totals)


def _values(functions, psi: jax.Array, kappas: np.ndarray) -> list[jax.Array]:
    """Radial functions at the Gauss–Legendre points, (channels, intervals, points)."""
    intervals, width = functions[0].shape[1], functions[0].shape[3]
    # One spline at r = 0 and two at rmax are not in use.
    padded = jnp.pad(psi.reshape(len(psi), -1, 2), ((0, 0), (1, 2), (0, 0)))
    local = padded[:, np.arange(intervals)[:, None] + np.arange(width)]
    real = jnp.finfo(psi.dtype).dtype
    kappa = jnp.asarray(kappas, real)[:, None, None]
    tables = [[jnp.asarray(power, real) for power in table] for table in functions]
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
