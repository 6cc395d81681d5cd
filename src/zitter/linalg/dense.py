"""Matrices with no assumed structure."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.base import Operator, keeps_hermitian, one_axis, real_like
from zitter.linalg.pairs import times_vector


class Dense(Operator):
    """A full matrix on the flattened coefficient array."""

    matrix: jax.Array
    shape: tuple[int, ...] = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)

    def __init__(self, matrix: Any, shape: tuple[int, ...], assumed_hermitian: bool = True):
        self.matrix = jnp.asarray(matrix)
        self.shape = shape
        self.assumed_hermitian = assumed_hermitian

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        return times_vector(self.matrix, psi.reshape(-1)).reshape(self.shape)

    def scaled(self, factor: Any) -> Dense:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        return Dense(real_like(factor, self.matrix) * self.matrix, self.shape, hermitian)

    def merged(self, other: Operator) -> Dense | None:
        if isinstance(other, Dense):
            both = self.assumed_hermitian and other.assumed_hermitian
            return Dense(self.matrix + other.matrix, self.shape, both)
        return None

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Gershgorin's discs."""
        center = jnp.real(jnp.diag(self.matrix))
        radius = jnp.sum(jnp.abs(self.matrix), axis=1) - jnp.abs(jnp.diag(self.matrix))
        return jnp.min(center - radius), jnp.max(center + radius)

    def as_matrix(self) -> jax.Array:
        return self.matrix

    def axis_matrices(self) -> list[np.ndarray]:
        return one_axis(self)
