"""Real orbitals from complex ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.orbitals.base import Orbitals


class RealParts(Orbitals):
    """Re φ_j or Im φ_j of complex orbitals.

    `chosen` lists pairs (j, part) with part 0 for Re and 1 for Im. Where orbitals come in pairs ±k
    with ψ_{−k} = ψ_k*, Re and Im of one of them span the same space as both.
    """

    orbitals: Orbitals
    places: Any  # (count,) in Re φ followed by Im φ
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, orbitals: Orbitals, chosen: Sequence[tuple[int, int]]):
        self.orbitals = checks.instance("orbitals", orbitals, Orbitals)
        if not orbitals.is_complex:
            raise checks.InputError("orbitals", "must be complex, but are real already")
        places = [
            checks.integer(f"chosen.{i}.0", index, 0, orbitals.count - 1)
            + orbitals.count * checks.choice(f"chosen.{i}.1", part, (0, 1))
            for i, (index, part) in enumerate(chosen)
        ]
        self.places = np.asarray(places, int)
        self.count = len(places)
        self.is_complex = False

    def _chosen(self, found: Any) -> Any:
        return jnp.concatenate([found.real, found.imag], axis=-1)[..., self.places]

    def values(self, r, dtype=jnp.float64):
        return self._chosen(self.orbitals.values(r, dtype))

    def slopes(self, r, dtype=jnp.float64):
        value, slope = self.orbitals.slopes(r, dtype)
        return self._chosen(value), self._chosen(slope)

    def derivatives(self, r, dtype=jnp.float64):
        value, slope, laplacian = self.orbitals.derivatives(r, dtype)
        return self._chosen(value), self._chosen(slope), self._chosen(laplacian)
