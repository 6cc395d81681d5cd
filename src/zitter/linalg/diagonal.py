"""Multiplication: (Oψ)_i = v_i ψ_i."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.banded import Banded
from zitter.linalg.bands import sparse_bands
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.layouts import Layout


class Diagonal(Operator):
    """A potential on a grid, or energies in an eigenbasis; `values` broadcasts over `shape`."""

    values: jax.Array
    shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, values: Any, shape: tuple[int, ...]):
        self.values = jnp.asarray(values)
        self.shape = shape

    @property
    def hermitian(self) -> bool:
        return self.real

    def apply(self, psi: jax.Array) -> jax.Array:
        return self.values * psi

    def full(self) -> jax.Array:
        return jnp.broadcast_to(self.values, self.shape)

    def scaled(self, factor: Any) -> Diagonal:
        return Diagonal(real_like(factor, self.values) * self.values, self.shape)

    def merged(self, other: Operator) -> Diagonal | None:
        if isinstance(other, Diagonal):
            return Diagonal(self.values + other.values, self.shape)
        return None

    def divided(self, layout: Layout) -> Diagonal:
        """The padding repeats the last row, which leaves the bounds as they are."""
        missing = len(self.shape) - self.values.ndim
        values = self.values.reshape((1,) * missing + self.values.shape)
        return Diagonal(layout.divide(values, "edge"), layout.shape)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        values = jnp.real(self.values)
        return jnp.min(values), jnp.max(values)

    def as_matrix(self) -> jax.Array:
        return jnp.diag(self.full().reshape(-1))

    def added_to(self, matrix: jax.Array) -> jax.Array:
        place = jnp.arange(self.size)
        return matrix.at[place, place].add(self.full().reshape(-1))

    def as_sparse(self) -> Any:
        return sparse_bands(np.asarray(self.full()).reshape(1, -1))

    def as_banded(self) -> Banded:
        if len(self.shape) != 1:
            raise Unsupported(
                f"banded matrices need a 1D basis, but this one has {len(self.shape)} axes"
            )
        return Banded(self.full()[None, :], self.hermitian)
