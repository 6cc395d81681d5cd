"""Directions in which spectra are asked: polar angles at azimuths, or angles in a plane.

    n(θ, φ) = (sin θ cos φ, sin θ sin φ, cos θ)        angles θ from z, azimuths φ from x
    n(a) = cos a e₁ + sin a e₂                          angles a in the plane of e₁ and e₂

"xy" is the plane of light that travels along z, with a from x towards y.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.angular import polar_harmonics

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
PLANES = tuple(a + b for a in AXES for b in AXES if a != b)
AT_ONCE = 64  # directions, for the tables of their harmonics
SOME = 8  # directions, to judge by

Plane = str | np.ndarray | Sequence[Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Directions:
    """Unit `vectors` (*shape, 3), with what they were made from."""

    angles: np.ndarray
    azimuth: float | np.ndarray
    plane: str | np.ndarray | None  # two letters, or the rows e₁ and e₂
    vectors: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.vectors.shape[:-1]

    @property
    def some(self) -> np.ndarray:
        """The places of a few vectors among all."""
        count = int(np.prod(self.shape))
        return np.unique(np.linspace(0, count - 1, min(SOME, count)).astype(int))

    def parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """A few vectors at a time: (which, (n, 3))."""
        flat = self.vectors.reshape(-1, 3)
        for start in range(0, len(flat), AT_ONCE):
            yield slice(start, start + AT_ONCE), flat[start : start + AT_ONCE]


def directions(angles: Any, azimuth: Any, plane: Plane | None) -> Directions:
    """Polar angles at one azimuth, on a sphere of azimuths, or all around in a plane."""
    if plane is None:
        angles = np.linspace(0, np.pi, 181) if angles is None else _line("angles", angles)
        phi = float(azimuth) if np.ndim(azimuth) == 0 else _line("azimuth", azimuth)
        theta, around = np.meshgrid(angles, np.atleast_1d(phi), indexing="ij")
        sine = np.sin(theta)
        vectors = np.stack([sine * np.cos(around), sine * np.sin(around), np.cos(theta)], axis=-1)
        return Directions(angles, phi, None, vectors[:, 0] if np.ndim(phi) == 0 else vectors)
    if np.ndim(azimuth) != 0 or azimuth != 0:
        raise checks.InputError("azimuth", "must not be given where a plane is")
    angles = 2 * np.pi * np.arange(360) / 360 if angles is None else _line("angles", angles)
    e1, e2 = plane_axes(plane)
    vectors = np.cos(angles)[:, None] * e1 + np.sin(angles)[:, None] * e2
    return Directions(angles, 0.0, plane if isinstance(plane, str) else np.stack([e1, e2]), vectors)


def plane_axes(plane: Plane) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal unit vectors e₁ and e₂ from two letters, or from two vectors."""
    if isinstance(plane, str):
        checks.choice("plane", plane, PLANES)
        return np.array(AXES[plane[0]]), np.array(AXES[plane[1]])
    first, second = np.asarray(checks.array("plane", plane, (2, 3)), float)
    if np.linalg.norm(np.cross(first, second)) < 1e-8 * np.sum(first**2 + second**2):
        raise checks.InputError("plane", "must be spanned by two vectors, but they are parallel")
    first = first / np.linalg.norm(first)
    second = second - (second @ first) * first
    return first, second / np.linalg.norm(second)


def harmonics(pairs: Sequence[tuple[int, int]], vectors: np.ndarray) -> np.ndarray:
    """Y_lm (channels, n) in the directions of unit vectors (n, 3), Condon–Shortley phase."""
    lmax = max(l for l, _ in pairs)
    cosine = np.clip(vectors[:, 2], -1.0, 1.0)
    phi = np.arctan2(vectors[:, 1], vectors[:, 0])
    table = np.empty((len(pairs), len(vectors)), complex)
    rows: dict[int, list[int]] = {}
    for row, (_, m) in enumerate(pairs):
        rows.setdefault(m, []).append(row)
    for m, here in rows.items():
        theta = polar_harmonics(lmax, m, cosine)[[pairs[row][0] - abs(m) for row in here]]
        table[here] = theta * np.exp(1j * m * phi) / np.sqrt(2 * np.pi)
    return table


def polar_weights(angles: np.ndarray) -> np.ndarray:
    """Of ∫ f sin θ dθ: Clenshaw and Curtis' where the angles go from 0 to π in equal steps, which
    is exact for as many partial waves as there are angles; else those of trapezoids.
    """
    n = len(angles) - 1
    if n > 1 and np.allclose(angles, np.linspace(0, np.pi, n + 1), rtol=0, atol=1e-9):
        k = np.arange(1, n // 2 + 1)
        share = np.where(2 * k == n, 1.0, 2.0) / (4 * k**2 - 1)
        weights = 1 - np.cos(2 * np.outer(angles, k)) @ share
        return weights * np.where(np.arange(n + 1) % n == 0, 1.0, 2.0) / n
    steps = np.diff(angles)
    weights = np.concatenate([[0.0], steps]) / 2 + np.concatenate([steps, [0.0]]) / 2
    return weights * np.sin(angles)


def _line(key: str, values: Any) -> np.ndarray:
    return np.asarray(checks.array(key, values, (None,)), float)
