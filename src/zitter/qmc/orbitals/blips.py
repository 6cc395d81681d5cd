"""Blips: Bloch orbitals whose cell-periodic part is a sum of cubic B-splines.

    ψ(r) = e^{ik·r} u(r)      ∇ψ = e^{ik·r}(∇u + ik u)      ∇²ψ = e^{ik·r}(∇²u + 2ik·∇u − k²u)

u lives on a grid of the primitive cell, whatever supercell the electrons move in (Alfè and Gillan,
Phys. Rev. B 70, 161101). With h the spacing of the grid, values are right to O(h⁴), slopes to
O(h³), Laplacians to O(h²), and the energy of the blip orbitals is that of what they stand for to
O(h⁶).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.blip_sums import contract, located, rows_around, weights
from zitter.qmc.trigonometry import cos_sin

STORED = ("float64", "float32")
Pair = tuple[Any, Any]


class Blips(Orbitals):
    """Orbitals e^{ik·r}u(r) with u on a grid of the cell spanned by `vectors` (rows, bohr).

    `coefficients` (n₁, n₂, n₃, orbitals) are those of u, real or complex; `k` holds a wave vector
    (orbitals, 3) in 1/bohr for each orbital, 0 unless given. Real coefficients without k make real
    orbitals. `stored` is the type in which coefficients are kept: float32 halves what is read from
    memory. Make blips from other orbitals with `to_blips` or `blips_from_plane_waves`; for real
    orbitals of a pair ±k keep one of the two in `RealParts`.
    """

    table: Any  # (n₁n₂n₃, channels): real parts of all orbitals, then imaginary parts
    vectors: Any
    inverse: Any
    waves: Any  # the different wave vectors
    index: tuple[int, ...] = eqx.field(static=True)  # which of them belongs to each orbital
    grid: tuple[int, int, int] = eqx.field(static=True)
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(
        self,
        coefficients: Any,
        vectors: Sequence[Sequence[float]] | Any,
        k: Sequence[Sequence[float]] | Any = None,
        stored: str = "float64",
    ):
        runtime.settings()  # tables in double precision
        given = checks.array("coefficients", coefficients, (None, None, None, None))
        checks.choice("stored", stored, STORED)
        for axis, n in enumerate(given.shape[:3]):
            if n < 4:
                raise checks.InputError(
                    "coefficients", f"must have 4 grid points or more, but have {n} on axis {axis}"
                )
        self.vectors = checks.array("vectors", vectors, (3, 3))
        if abs(np.linalg.det(self.vectors)) < 1e-12 * np.max(np.abs(self.vectors)) ** 3:
            raise checks.InputError("vectors", "must span the space, but are linearly dependent")
        self.inverse = np.linalg.inv(self.vectors)
        self.count = given.shape[3]
        every = np.zeros((self.count, 3)) if k is None else checks.array("k", k, (self.count, 3))
        self.waves, index = np.unique(every, axis=0, return_inverse=True)
        self.index = tuple(int(i) for i in np.ravel(index))
        self.grid = given.shape[:3]
        self.is_complex = bool(np.iscomplexobj(given) or np.any(every != 0))
        rows = given.reshape(-1, self.count)
        if np.iscomplexobj(rows):
            rows = np.concatenate([rows.real, rows.imag], axis=1)
        self.table = jnp.asarray(rows, stored)

    @property
    def k(self) -> Any:
        """The wave vector (count, 3) of each orbital."""
        return self.waves[np.asarray(self.index)]

    def at_twist(self, cell, twist):
        """Blips belong to their wave vectors: only the twist that changes nothing is taken."""
        if np.all(np.asarray(twist) == 0):
            return self
        raise checks.InputError(
            "twists",
            "cannot move Blips to other wave vectors: make them from orbitals at that twist",
        )

    def values(self, r, dtype=jnp.float64):
        return self._evaluated(r, 0, dtype)[0]

    def slopes(self, r, dtype=jnp.float64):
        value, *gradient = self._evaluated(r, 1, dtype)
        return value, jnp.stack(gradient)

    def derivatives(self, r, dtype=jnp.float64):
        value, *gradient, laplacian = self._evaluated(r, 2, dtype)
        return value, jnp.stack(gradient), laplacian

    def _evaluated(self, r: Any, order: int, dtype: Any) -> list[Any]:
        """ψ, with `order` 1 also its three slopes, with `order` 2 also ∇²ψ, each (…, count)."""
        points = r.reshape(3, -1)
        around, t = located(points, self.inverse, self.grid, dtype)
        sums = contract(
            self.table,
            rows_around(around, self.grid),
            weights(t, self.inverse, self.grid, order),
        )
        if self.is_complex:
            angles = points.T @ self.waves.T
            index = np.asarray(self.index)
            phase = tuple(wave[:, index] for wave in cos_sin(angles, dtype))
            k = self.waves.astype(dtype)[index].T
            waves = _bloch([self._parts(x) for x in sums], phase, k)
            sums = [jax.lax.complex(*parts) for parts in waves]
        return [x.reshape(*r.shape[1:], self.count) for x in sums]

    def _parts(self, channels: Any) -> Pair:
        """Real and imaginary parts of u, or of a derivative."""
        real = channels[:, : self.count]
        if channels.shape[1] == self.count:
            return real, jnp.zeros_like(real)
        return real, channels[:, self.count :]


def _bloch(periodic: list[Pair], phase: Pair, k: Any) -> list[Pair]:
    """ψ, ∇ψ and ∇²ψ of e^{ik·r}u from u, ∇u and ∇²u, as far as they are given."""
    u, *slopes = periodic
    found = [_times(phase, u)]
    for a, slope in enumerate(slopes[:3]):
        found.append(_times(phase, (slope[0] - k[a] * u[1], slope[1] + k[a] * u[0])))
    if len(slopes) == 4:
        square = sum(k[a] ** 2 for a in range(3))
        along = [sum(k[a] * slopes[a][part] for a in range(3)) for part in range(2)]
        real = slopes[3][0] - 2 * along[1] - square * u[0]
        imaginary = slopes[3][1] + 2 * along[0] - square * u[1]
        found.append(_times(phase, (real, imaginary)))
    return found


def _times(a: Pair, b: Pair) -> Pair:
    """A product of complex numbers, kept apart: who wants real parts alone computes no others."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]
