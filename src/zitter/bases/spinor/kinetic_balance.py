"""Radial functions of the Dirac equation in dual kinetic balance, and their integrals.

ψ = r⁻¹ (P(r) X_κμ, i Q(r) X_−κμ) has two functions for each B-spline u, linear in κ
(Shabaev, Tupitsyn, Yerokhin, Plunien & Soff, Phys. Rev. Lett. 93, 130405 (2004)):

    block 1   P = u                          Q = (u′ + κu/r)/2c
    block 2   P = (u′ − κu/r)/2c             Q = u

They represent electrons and positrons alike, so no spurious levels appear. Every matrix is then a
polynomial in κ whose coefficients are banded and integrated once. At rmax both u and u′ must
vanish, or H would not be Hermitian there: the last spline with a slope is left out, and the last
interval halved to keep their number. At the nucleus the first spline, u ~ r, would give P²/r or
Q²/r that cannot be integrated, except in block 1 for κ = −1 and in block 2 for κ = 1, where the
wave function needs it. Closer to a nucleus than 1/2c the terms u′/2c dominate, and κ = −1 would
have one more function for Q than for P: its energy falls from 2c² through the gap as the knots
become fine. So P and Q of the first spline are independent there: (u, 0) in block 1 and, in the
free place of block 2, (0, (u′ − u/r)/2c). For |κ| > 1 both are held at zero (`allowed`).

Unknown 2i + b is spline i of block b + 1. Bands: bands[p + k, j] = O[j, j + k], p = 2·degree + 1.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.bsplines import RadialBSplines, local_splines


class Doublets(NamedTuple):
    """P, P′ and Q at Gauss–Legendre points: each (power of κ, interval, point, spline, block)."""

    r: np.ndarray  # (intervals, points)
    weights: np.ndarray
    P: np.ndarray
    slope: np.ndarray
    Q: np.ndarray
    kinds: np.ndarray  # u, u′/2c and −u/2cr: (3, interval, point, spline)


def refined_knots(radial: RadialBSplines) -> np.ndarray:
    """The knots with the last interval halved."""
    p = radial.degree
    breaks = np.asarray(radial.knots[p:-p])
    middle = 0.5 * (breaks[-2] + breaks[-1])
    return np.concatenate([p * [0.0], breaks[:-1], [middle, breaks[-1]], p * [radial.rmax]])


def allowed(kappa: Any, n: int) -> Any:
    """1 for unknowns that κ may use and 0 for the others, (κ, 2n)."""
    xp: Any = jnp if checks.is_traced(kappa) else np
    kappa = xp.asarray(kappa)
    first = xp.stack([kappa == -1, xp.abs(kappa) == 1], axis=1)
    return xp.concatenate([first, np.ones((len(kappa), 2 * n - 2))], axis=1)


def held(psi: jax.Array, kappas: Any) -> jax.Array:
    """ψ with zero where unknowns are held at zero: those of the first spline for |κ| > 1."""
    kappas = jnp.asarray(kappas)
    used = jnp.stack([kappas == -1, jnp.abs(kappas) == 1], axis=1)
    return psi.at[:, :2].multiply(used.astype(jnp.finfo(psi.dtype).dtype))


def masked(bands: jax.Array, mask: Any) -> jax.Array:
    """Matrices (κ, 2p + 1, n) with the rows and columns of unknowns not in use set to zero.

    Only the first two unknowns can be idle, so only rows that reach them change.
    """
    p, n = bands.shape[-2] // 2, bands.shape[-1]
    rows = min(p + 2, n)
    xp: Any = jnp if checks.is_traced(mask) else np
    wide = xp.pad(mask, ((0, 0), (p, p)))
    partner = xp.stack([wide[:, k : k + rows] for k in range(2 * p + 1)], axis=1)
    keep = (mask[:, None, :rows] * partner).astype(bands.dtype)
    return jnp.asarray(bands).at[:, :, :rows].multiply(keep)


@functools.lru_cache(maxsize=32)
def doublets(radial: RadialBSplines, c: float, points: int) -> Doublets:
    """The degree + 1 splines of each interval, in both blocks, at `points` points."""
    knots, degree = refined_knots(radial), radial.degree
    spans = np.nonzero(np.diff(knots) > 0)[0]
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = 0.5 * (knots[spans + 1] - knots[spans])[:, None]
    r = 0.5 * (knots[spans + 1] + knots[spans])[:, None] + half * nodes
    u, first, second = (local_splines(knots, degree, spans, r, d) for d in range(3))
    x = r[..., None]
    ratio, nothing = u / (2 * c * x), np.zeros_like(u)
    ratio_slope = first / (2 * c * x) - u / (2 * c * x**2)
    P = _both_blocks([u, nothing], [first / (2 * c), -ratio])
    slope = _both_blocks([first, nothing], [second / (2 * c), -ratio_slope])
    Q = _both_blocks([first / (2 * c), ratio], [u, nothing])
    # The first spline in use is number 1 of all. With w = (u′ − u/r)/2c its functions are (u, 0)
    # and (0, w) for κ = −1, nothing and (w, u) for κ = 1: this is linear in κ as well.
    for j, a in ((0, 1), (1, 0)):
        w = first[j, :, a] / (2 * c) - ratio[j, :, a]
        w_slope = second[j, :, a] / (2 * c) - ratio_slope[j, :, a]
        Q[:, j, :, a, 0] = 0
        P[:, j, :, a, 1], slope[:, j, :, a, 1] = 0.5 * w, 0.5 * w_slope
        Q[0, j, :, a, 1], Q[1, j, :, a, 1] = 0.5 * (u[j, :, a] + w), 0.5 * (u[j, :, a] - w)
    return Doublets(r, half * weights, P, slope, Q, np.stack([u, first / (2 * c), -ratio]))


def _both_blocks(first: list[np.ndarray], second: list[np.ndarray]) -> np.ndarray:
    return np.stack([np.stack(first), np.stack(second)], axis=-1)


def integrals(
    radial: RadialBSplines, pairs: list[tuple[Any, np.ndarray, np.ndarray]], weights: np.ndarray
) -> Any:
    """Bands, as (powers of κ, 2p + 1, 2n), of Σ ∫ f(r) A_i(r) B_j(r) dr over pairs (f, A, B)."""
    xp: Any = jnp if checks.is_traced([f for f, _, _ in pairs]) else np
    powers = max(A.shape[0] + B.shape[0] - 1 for _, A, B in pairs)
    local: list[Any] = [0.0] * powers
    for f, A, B in pairs:
        measure = (xp.asarray(f) * weights)[..., None]
        rows, columns = (m.reshape(*m.shape[:3], -1) for m in (A, B))  # spline and block as one
        for a in range(A.shape[0]):
            weighted = xp.swapaxes(rows[a] * measure, 1, 2)
            for b in range(B.shape[0]):
                local[a + b] = local[a + b] + weighted @ columns[b]
    return _as_bands(radial, xp.stack(local), xp)


def _as_bands(radial: RadialBSplines, local: Any, xp: Any) -> Any:
    """Matrices of the intervals, (powers, interval, unknown, unknown), added up."""
    count, size = local.shape[1:3]  # size = 2 (degree + 1)
    p, total = size - 1, 2 * (count - 1) + size
    unknown = 2 * np.arange(count)[:, None] + np.arange(size)
    rows, columns = unknown[:, :, None], unknown[:, None, :]
    diagonal, row = np.broadcast_arrays(p + columns - rows, rows)
    bands = xp.zeros((local.shape[0], 2 * p + 1, total), local.dtype)
    if xp is jnp:
        bands = bands.at[:, diagonal, row].add(local)
    else:
        for power, matrices in enumerate(local):
            np.add.at(bands[power], (diagonal, row), matrices)
    kept = bands[:, :, 2 : total - 4]  # without one spline at r = 0, and two at rmax
    partner = np.arange(2 * radial.n)[None, :] + np.arange(-p, p + 1)[:, None]
    return xp.where((partner >= 0) & (partner < 2 * radial.n), kept, 0.0)


def polynomial(coefficients: Any, kappa: Any) -> Any:
    """Σ_p κᵖ coefficients[p] for each κ, by Horner's rule: (κ, 2p + 1, 2n)."""
    xp: Any = jnp if checks.is_traced(kappa) else np
    kappa = xp.asarray(kappa, coefficients.dtype)[:, None, None]
    result = coefficients[-1] * xp.ones_like(kappa)
    for coefficient in coefficients[-2::-1]:
        result = result * kappa + coefficient
    return result


@functools.lru_cache(maxsize=32)
def overlap_bands(radial: RadialBSplines, c: float) -> np.ndarray:
    """s0, s1, s2 of S(κ) = ∫ (P P + Q Q) dr."""
    d = doublets(radial, c, radial.degree + 4)
    return integrals(radial, [(1.0, d.P, d.P), (1.0, d.Q, d.Q)], d.weights)


@functools.lru_cache(maxsize=32)
def dirac_bands(radial: RadialBSplines, c: float) -> np.ndarray:
    """h0 … h3 of the free Dirac operator less c²: −2c² on Q, and c(κ/r ± d/dr) between P and Q.

    ∫ P_i (κ/r − d/dr) Q_j is written as ∫ (κ/r P_i + P_i′) Q_j, which is symmetric as it stands.
    """
    d = doublets(radial, c, radial.degree + 4)
    turn = np.concatenate([np.zeros_like(d.P[:1]), d.P])  # κP
    pairs: list[tuple[Any, np.ndarray, np.ndarray]] = [(-2 * c * c, d.Q, d.Q)]
    for A, f in ((d.slope, c), (turn, c / d.r)):
        pairs += [(f, A, d.Q), (f, d.Q, A)]
    return integrals(radial, pairs, d.weights)


def potential_bands(radial: RadialBSplines, c: float, values: Any) -> Any:
    """Coefficients of ∫ V (P P + Q Q) dr, from V at the points of `doublets(…, degree + 4)`."""
    d = doublets(radial, c, radial.degree + 4)
    return integrals(radial, [(values, d.P, d.P), (values, d.Q, d.Q)], d.weights)


def balanced(psi: jax.Array, kappa: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """a, b, d, each (channels, n), with P = a u + b (u′ − κu/r)/2c, Q = b u + d (u′ + κu/r)/2c.

    These are the coefficients of blocks 1, 2 and 1, but for the first spline.
    """
    psi = jnp.asarray(psi)
    first, second = psi[:, 0::2], psi[:, 1::2]
    alone = _only(kappa, psi.dtype) * second[:, 0]
    return first, second.at[:, 0].add(-alone), first.at[:, 0].set(alone)


def unbalanced(a: jax.Array, b: jax.Array, d: jax.Array, kappa: Any) -> jax.Array:
    """The transpose of `balanced`: (channels, 2n) from what meets a, b and d."""
    moved = _only(kappa, a.dtype) * (d[:, 0] - b[:, 0])
    first, second = a + d.at[:, 0].set(0), b.at[:, 0].add(moved)
    return jnp.stack([first, second], axis=-1).reshape(a.shape[0], -1)


def _only(kappa: Any, dtype: Any) -> jax.Array:
    """1 where κ = −1."""
    return (jnp.asarray(kappa) == -1).astype(jnp.finfo(dtype).dtype)
