"""Plane waves of a periodic cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, half_space, shells
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.trigonometry import cos_sin


class PlaneWaves(Orbitals):
    """e^{i(k+t)·r} of the lowest |k+t|; at the twist t = 0 their real form 1, cos k·r, sin k·r."""

    k: Any  # at Γ one of each ±k, without 0
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(
        self,
        cell: Cell,
        count: int,
        twist: Sequence[float] | Any = (),
        always_complex: bool = False,
    ):
        self.count = count
        shift = np.zeros(cell.dimension) if len(twist) == 0 else np.asarray(twist, np.float64)
        self.is_complex = always_complex or bool(np.any(shift != 0))
        integers, _ = lowest(cell, count, shift)
        if self.is_complex:
            self.k = (integers[:count] + shift) @ cell.reciprocal
        else:
            kept = integers[half_space(integers)]
            self.k = kept[: (count + 1) // 2] @ cell.reciprocal

    def at_twist(self, cell, twist):
        return PlaneWaves(
            checks.instance("cell", cell, Cell), self.count, twist, always_complex=True
        )

    def _waves(self, r: Any, dtype: Any) -> tuple[Any, Any]:
        return cos_sin(jnp.moveaxis(r, 0, -1) @ self.k.T, dtype)

    def values(self, r, dtype=jnp.float64):
        c, s = self._waves(r, dtype)
        if self.is_complex:
            return c + 1j * s
        return self._assemble(jnp.ones_like(c[..., :1]), c, s)

    def derivatives(self, r, dtype=jnp.float64):
        c, s = self._waves(r, dtype)
        k = self.k.astype(dtype)
        square = jnp.sum(k**2, axis=1)
        if self.is_complex:
            wave = c + 1j * s
            slope = jnp.stack([1j * k[:, a] * wave for a in range(r.shape[0])])
            return wave, slope, -square * wave
        zero = jnp.zeros_like(c[..., :1])
        value = self._assemble(zero + 1, c, s)
        slope = [self._assemble(zero, -k[:, a] * s, k[:, a] * c) for a in range(r.shape[0])]
        return value, jnp.stack(slope), self._assemble(zero, -square * c, -square * s)

    def _assemble(self, constant, cosines, sines):
        pairs = jnp.stack([cosines, sines], axis=-1)
        pairs = pairs.reshape((*cosines.shape[:-1], 2 * cosines.shape[-1]))
        return jnp.concatenate([constant, pairs], axis=-1)[..., : self.count]


def lowest(cell: Cell, count: int, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(integers, |k+t|) of reciprocal points in order of |k+t|: `count` of them and more."""
    ball = {2: np.pi, 3: 4 * np.pi / 3}[cell.dimension]
    longest = np.max(np.linalg.norm(cell.reciprocal, axis=1))
    volume = (2 * np.pi) ** cell.dimension / cell.volume
    radius = 1.2 * (count * volume / ball) ** (1 / cell.dimension) + 3 * longest
    integers, _ = cell.reciprocal_points(radius)
    lengths = np.linalg.norm((integers + shift) @ cell.reciprocal, axis=1)
    order = np.argsort(np.round(lengths, 9), kind="stable")
    return integers[order], lengths[order]


def is_closed_shell(cell: Cell, count: int, shift: np.ndarray) -> bool:
    """Whether the lowest `count` plane waves fill whole shells."""
    if count == 0:
        return True
    index = shells(lowest(cell, count, shift)[1])
    return bool(index[count] != index[count - 1])
