"""The error of the mean of a correlated series, from what is likely of its correlations.

A series is taken for white noise and a part that is forgotten with one time,

    ⟨x_t x_u⟩ = v [(1 − a) δ_tu + a φ^|t−u|].

Its coefficients in cosines (DCT-II), nearly the eigenvectors of all such matrices, are independent
with variances v g_j, g_j = 1 − a + a V_j(φ), and the mean is one of them, y₀/√n. For each a and φ
the others tell v, hence the mean with Student's t of n − 1 degrees of freedom, and how likely a and
φ are: ∏ g_j^{−1/2} (Σ_j y_j²/g_j)^{−(n−1)/2}. The error bar holds 68.3 % of all of it.

Noise beside slow waves is what sums over many walkers look like: the first autocorrelation alone
says nothing of them, and blocks only once there are many.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import dct
from scipy.linalg import toeplitz
from scipy.special import ndtr, stdtr, stdtrit

ONE, TWO = (2 * float(ndtr(k)) - 1 for k in (1.0, 2.0))  # probability within ±σ and ±2σ
WHITE = 0.8  # how likely independent samples are before any is seen
SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)  # a
TIMES = 16  # values of τ = (1 + φ)/(1 − φ), from 1.25 to the length of the series
MOST = 256  # samples; longer series are averaged over neighbors before
NORMAL = 40  # degrees of freedom from which on Student's t is a normal distribution to 1 %
PORTION = 256  # columns at a time: what is made of them fits the cache of a processor
REACH, FINENESS = 16.0, 1e-3  # of the table of Student's t, in logarithms
CLOSE, MOST_STEPS = 1e-10, 60  # of log σ, and Newton's steps, of which about six are needed


def student(freedom: Any) -> Any:
    """The error bar of a mean in units of its estimated σ, with so many degrees of freedom.

    The tails of Student's t are longer than normal ones: no error bar holds 68.3 % and twice of it
    95.4 %. This one is the geometric mean of those that hold one of them: with four degrees of
    freedom it holds 72 and 94 %.
    """
    one, two = (stdtrit(freedom, 0.5 * (1 + inside)) for inside in (ONE, TWO))
    return np.sqrt(one * two / 2)


@functools.lru_cache(maxsize=64)
def _grid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """(g, log of the prior) for all a and φ: (points, n) and (points, 1)."""
    tau = np.geomspace(1.25, max(n, 2), TIMES)
    phi = (tau - 1) / (tau + 1)
    cosines = dct(np.eye(n), axis=0, norm="ortho")
    waves = [np.sum(cosines @ toeplitz(p ** np.arange(n)) * cosines, axis=1) for p in phi]
    g = [np.ones(n)] + [1 - a + a * V for a in SHARES for V in waves]
    prior = np.full(len(g), (1 - WHITE) / (len(g) - 1))
    prior[0] = WHITE
    return np.array(g), np.log(prior)[:, None]


def likely_errors(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(errors of the mean, τ) of each column of (samples, columns), two samples at least.

    It takes some arrays of (points of the grid, columns): give it `PORTION` columns at a time.
    """
    x = series - np.mean(series, axis=0)
    while len(x) > MOST:
        x = 0.5 * (x[: len(x) // 2 * 2 : 2] + x[1::2][: len(x) // 2])
    n = len(x)
    g, prior = _grid(n)
    squares = np.asarray(dct(x, axis=0, norm="ortho"))[1:] ** 2
    power = (1 / g[:, 1:]) @ np.maximum(squares, np.finfo(float).tiny)
    powers = np.log(power)
    likely = prior - 0.5 * np.sum(np.log(g[:, 1:]), axis=1, keepdims=True)
    likely = likely - 0.5 * (n - 1) * powers
    weights = np.exp(likely - np.max(likely, axis=0))
    weights /= np.sum(weights, axis=0)
    share = g[:, :1] / (n * (n - 1))  # of the power that is the squared scale of Student's t
    scales = 0.5 * (np.log(share) + powers)
    found = np.where(np.any(squares > 0, axis=0), _quantile(weights, scales, n - 1), 0.0)
    plain = np.var(series, axis=0, ddof=1) / len(series)
    own = np.sum(weights * share * power, axis=0)
    return found, np.divide(own, plain, out=np.ones_like(plain), where=plain > 0)


def _quantile(weights: np.ndarray, scales: np.ndarray, freedom: int) -> np.ndarray:
    """σ with Σ w P(|t| < σ/scale) = 68.3 %, of logarithms of scales.

    By Newton's steps in log σ, and by halves of what holds the root where they would leave it.
    """
    inside = _inside(min(freedom, NORMAL))
    widest = float(stdtrit(freedom, 0.5 * (1 + ONE)))
    low = np.min(scales, axis=0) + np.log(0.5)
    high = np.max(scales, axis=0) + np.log(1.1 * widest)
    now = np.sum(weights * scales, axis=0) + np.log(widest)  # that of the mean scale
    for _ in range(MOST_STEPS):
        held, slopes = inside(now - scales)
        missing = ONE - np.sum(weights * held, axis=0)
        low, high = np.where(missing > 0, now, low), np.where(missing > 0, high, now)
        slope = np.sum(weights * slopes, axis=0)
        then = now + np.divide(missing, slope, out=np.full_like(now, np.inf), where=slope > 0)
        then = np.where((then < low) | (then > high), 0.5 * (low + high), then)
        now, before = then, now
        if not np.any(np.abs(now - before) > CLOSE):
            break
    return np.exp(now)


@functools.lru_cache(maxsize=64)
def _inside(freedom: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """u → P(|t| < eᵘ) and its slope, between the points of a table: 10⁻⁷ from Student's t."""
    u = np.arange(-REACH, REACH + 0.5 * FINENESS, FINENESS)
    below = ndtr(np.exp(u)) if freedom >= NORMAL else stdtr(freedom, np.exp(u))
    table = 2 * below - 1
    slopes = np.append(np.diff(table), 0.0)

    def interpolated(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.fmax(0.0, np.fmin(len(table) - 1.0, (u + REACH) / FINENESS))
        index = place.astype(np.int64)
        rise = slopes[index]
        return table[index] + (place - index) * rise, rise / FINENESS

    return interpolated
