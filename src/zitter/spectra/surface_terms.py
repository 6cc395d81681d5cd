"""What a run has left on a sphere, in velocity gauge: the two parts of the flux through it.

    X_lm = −½(R P′_lm − P_lm) − iR Σ (A·n)_{lm,l′m′} P_l′m′     stands with j_l(kR)
    P_lm                                                        stands with ½kR j_l′(kR)

Of a run in length gauge ψ_V = e^{−iA·r}ψ_L and ψ_V′ = e^{−iA·r}(ψ_L′ − iA·n ψ_L): on one sphere
that is a factor at each direction, and

    X = e^{−iRA·n}[−½(R P_L′ − P_L) − ½iR (A·n) P_L],    P = e^{−iRA·n} P_L

It is taken on Gauss–Legendre points × equal azimuths that are exact for all partial waves wanted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from zitter.bases.angular import polar_harmonics
from zitter.bases.unit_vector import unit_vector
from zitter.fields import Field

CHUNK = 4_000_000  # numbers on the sphere at once


@dataclasses.dataclass(frozen=True)
class SurfaceTerms:
    """X and P (times, channels) of channels (l, m)."""

    pairs: tuple[tuple[int, int], ...]
    flux: np.ndarray
    values: np.ndarray


def in_velocity_gauge(
    basis: Any, radius: float, values: np.ndarray, slopes: np.ndarray, potential: np.ndarray
) -> SurfaceTerms:
    """From P and P′ (times, channels) of a run with A(t)·p; `potential` is A (times, 3)."""
    flux = -0.5 * (radius * slopes - values)
    for c in range(3):
        if np.any(potential[:, c]):
            neighbors, (unit, _) = unit_vector(basis.channels, c)
            coupled = (neighbors.matrix(unit) @ values.T).T
            flux = flux - 1j * radius * potential[:, c, None] * coupled
    return SurfaceTerms(tuple(basis.channels), flux, values)


def from_length_gauge(
    basis: Any,
    radius: float,
    values: np.ndarray,
    slopes: np.ndarray,
    potential: np.ndarray,
    lmax: int,
) -> SurfaceTerms:
    """The same from a run with E(t)·r; l up to `lmax` as far as light takes the electron there."""
    here = tuple(basis.channels)
    last = max(l for l, _ in here)
    kick = radius * float(np.max(np.linalg.norm(potential, axis=1)))
    reach = int(kick + 6 * np.cbrt(kick)) + 15  # partial waves of e^{−iRA·n} to 1e-14
    lmax = min(lmax, last + reach)
    grid = _Sphere(here, last, lmax, reach, potential)
    flux, kept = (np.empty((len(values), len(grid.pairs)), complex) for _ in range(2))
    count = max(1, CHUNK // grid.size)
    for start in range(0, len(values), count):
        part = slice(start, start + count)
        along = grid.along(potential[part])
        turn = np.exp(-1j * radius * along)
        wave, slope = grid.function(values[part]), grid.function(slopes[part])
        outward = -0.5 * (radius * slope - wave) - 0.5j * radius * along * wave
        flux[part], kept[part] = grid.channels(turn * outward), grid.channels(turn * wave)
    return SurfaceTerms(grid.pairs, flux, kept)


class _Sphere:
    """Functions at cosines × azimuths, from partial waves and back; light along z keeps m, so that
    m stands in the place of the azimuth.
    """

    def __init__(
        self, here: Sequence[tuple[int, int]], last: int, lmax: int, reach: int, A: np.ndarray
    ):
        self.along_z = not np.any(A[:, :2])
        parities = {(l + m) % 2 for l, m in here} if not np.any(A[:, 2]) else {0, 1}
        self.cosines, self.weights = np.polynomial.legendre.leggauss((last + lmax + reach) // 2 + 1)
        self.before = {m: [i for i, (_, k) in enumerate(here) if k == m] for _, m in here}
        everything = range(-lmax, lmax + 1)
        orders = [m for m in everything if not self.along_z or m in self.before]
        pairs = [(l, m) for l in range(lmax + 1) for m in orders if abs(m) <= l]
        self.pairs = tuple((l, m) for l, m in pairs if (l + m) % 2 in parities)
        self.after = {m: [i for i, (_, k) in enumerate(self.pairs) if k == m] for m in orders}
        self.into = {m: self._table(here, rows, m) for m, rows in self.before.items()}
        self.out = {m: self._table(self.pairs, rows, m) for m, rows in self.after.items() if rows}
        around = _fast(last + lmax + reach + 1)
        self.azimuths = len(self.before) if self.along_z else around

    @property
    def size(self) -> int:
        return len(self.cosines) * self.azimuths

    def _table(self, pairs, rows: list[int], m: int) -> np.ndarray:
        lmax = max(pairs[i][0] for i in rows)
        return polar_harmonics(lmax, m, self.cosines)[[pairs[i][0] - abs(m) for i in rows]]

    def _place(self, m: int) -> int:
        return list(self.before).index(m) if self.along_z else m % self.azimuths

    def along(self, A: np.ndarray) -> np.ndarray:
        """A·n (times, cosines, azimuths)."""
        up = A[:, 2, None, None] * self.cosines[:, None]
        if self.along_z:
            return up
        phi = 2 * np.pi * np.arange(self.azimuths) / self.azimuths
        across = A[:, :1] * np.cos(phi) + A[:, 1:2] * np.sin(phi)
        return up + np.sqrt(1 - self.cosines**2)[:, None] * across[:, None]

    def function(self, waves: np.ndarray) -> np.ndarray:
        orders = np.zeros((len(waves), len(self.cosines), self.azimuths), complex)
        for m, rows in self.before.items():
            orders[:, :, self._place(m)] = waves[:, rows] @ self.into[m]
        return orders if self.along_z else np.fft.ifft(orders, axis=2, norm="forward")

    def channels(self, function: np.ndarray) -> np.ndarray:
        orders = function if self.along_z else np.fft.fft(function, axis=2, norm="forward")
        found = np.empty((len(function), len(self.pairs)), complex)
        for m, table in self.out.items():
            found[:, self.after[m]] = (orders[:, :, self._place(m)] * self.weights) @ table.T
        return found


def _fast(count: int) -> int:
    """At least so many points, in a number that suits transforms."""
    found = next_fast_len(count)
    return count if found is None else int(found)


def travelled(pulse: Field, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (times, 3), α = ∫A dt and ∫A²/2 dt, the integrals by Simpson's rule in each interval."""
    middle = 0.5 * (times[1:] + times[:-1])
    A, between = (np.asarray(pulse.vector_potential_xyz(t), float) for t in (times, middle))

    def integral(f: np.ndarray, g: np.ndarray) -> np.ndarray:
        steps = np.diff(times).reshape(-1, *(1,) * (f.ndim - 1))
        parts = steps / 6 * (f[1:] + 4 * g + f[:-1])
        return np.concatenate([np.zeros_like(f[:1]), np.cumsum(parts, axis=0)])

    squares = (0.5 * np.sum(x**2, axis=1) for x in (A, between))
    return A, integral(A, between), integral(*squares)
