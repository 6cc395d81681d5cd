"""Banded matrices of one-dimensional problems, stored by diagonals as in `bands.py`."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.linalg.bands import banded_product, dense_from_bands, sparse_bands
from zitter.linalg.base import Operator, keeps_hermitian, one_axis, real_like


class Banded(Operator):
    """A matrix with p diagonals on either side of the main one."""

    bands: jax.Array
    assumed_hermitian: bool = eqx.field(static=True)

    def __init__(self, bands: Any, assumed_hermitian: bool = True):
        self.bands = jnp.asarray(bands)
        self.assumed_hermitian = assumed_hermitian

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bands.shape[1],)

    @property
    def half_width(self) -> int:
        return self.bands.shape[0] // 2

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        return banded_product(self.bands, psi)

    def scaled(self, factor: Any) -> Banded:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        return Banded(real_like(factor, self.bands) * self.bands, hermitian)

    def widened(self, half_width: int) -> Banded:
        extra = half_width - self.half_width
        return Banded(jnp.pad(self.bands, ((extra, extra), (0, 0))), self.assumed_hermitian)

    def merged(self, other: Operator) -> Banded | None:
        return self.plus(other) if isinstance(other, Banded) else None

    def plus(self, other: Banded) -> Banded:
        p = max(self.half_width, other.half_width)
        return Banded(
            self.widened(p).bands + other.widened(p).bands,
            self.assumed_hermitian and other.assumed_hermitian,
        )

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Gershgorin's discs."""
        p = self.half_width
        center = jnp.real(self.bands[p])
        radius = jnp.sum(jnp.abs(self.bands), axis=0) - jnp.abs(self.bands[p])
        return jnp.min(center - radius), jnp.max(center + radius)

    def as_banded(self) -> Banded:
        return self

    def as_sparse(self) -> Any:
        return sparse_bands(self.bands)

    def axis_matrices(self) -> list[np.ndarray]:
        return one_axis(self)

    def as_matrix(self) -> jax.Array:
        return dense_from_bands(self.bands)
