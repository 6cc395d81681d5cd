"""Blips: Bloch orbitals whose cell-periodic part is a sum of cubic B-splines.

    ψ(r) = e^{ik·r} u(r)

u lives on a grid of the primitive cell, whatever supercell the electrons move in (Alfè and Gillan,
Phys. Rev. B 70, 161101). With h the spacing of the grid, values are right to O(h⁴), slopes to
O(h³), Laplacians to O(h²), and the energy of the blip orbitals is that of what they stand for to
O(h⁶).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.blip_waves import Shape, bloch_waves

STORED = ("float64", "float32")


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
        shape = Shape(self.grid, self.count, self.index if self.is_complex else (), order, dtype)
        found = bloch_waves(shape, self.table, self.inverse, self.waves, r.reshape(3, -1))
        return [x.reshape(*r.shape[1:], self.count) for x in found]
