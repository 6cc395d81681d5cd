"""Light between channels: Σ_k (radial matrix k) ⊗ (angular matrix k), each channel with few others.

    (Oψ)_c = Σ_k R_k Σ_j a_kcj ψ_{n(c, j)}

Rows are gathered and mixed first, for all k at once; then each R_k is one banded product. So time
and memory are linear in the number of channels, and factors of time multiply the small a_kcj only.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from zitter import checks, runtime
from zitter.linalg.bands import banded_product, dense_from_bands, sparse_bands
from zitter.linalg.base import Operator, keeps_hermitian, real_like, total
from zitter.linalg.chain import Chain
from zitter.linalg.layouts import Layout
from zitter.linalg.neighbors import Neighbors, united


class AngularCoupling(Operator):
    """Banded radial matrices R_k (bands[k]) and weights a_kcj of the neighbors n(c, j) of channels.

    What has the same `source`, if any, has the same bands: x and y light are then one coupling.
    """

    bands: jax.Array
    weights: jax.Array  # (k, channels, width), real or complex; on many devices cut by the layout
    neighbors: Neighbors = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)
    source: Hashable = eqx.field(static=True)
    layout: Chain | None

    def __init__(
        self,
        bands: Any,
        weights: Any,
        neighbors: Neighbors,
        assumed_hermitian: bool = True,
        source: Hashable = None,
        layout: Chain | None = None,
    ):
        self.bands = jnp.asarray(bands)
        self.weights = jnp.asarray(weights)
        self.neighbors = neighbors
        self.assumed_hermitian = assumed_hermitian
        self.source = source
        self.layout = layout

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.weights.shape[1], self.bands.shape[2])

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        if self.layout is None:
            return _coupled(psi[self.neighbors.rows], self.weights, self.bands)
        return self.layout.coupled(_coupled, self.neighbors, psi, self.weights, self.bands)

    def all_weights(self) -> Any:
        """The weights of all channels, wherever they are; on the host where they are known."""
        known = self.weights if checks.is_traced(self.weights) else runtime.to_host(self.weights)
        return known[:, : len(self.neighbors.rows)]

    def _with(self, weights: Any, hermitian: bool) -> AngularCoupling:
        return AngularCoupling(
            self.bands, weights, self.neighbors, hermitian, self.source, self.layout
        )

    def scaled(self, factor: Any) -> AngularCoupling:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        return self._with(real_like(factor, self.weights) * self.weights, hermitian)

    def links(self) -> Neighbors | None:
        return self.neighbors if self.layout is None else None

    def kept(self, rows: np.ndarray) -> AngularCoupling:
        weights, neighbors = self.weights[:, rows], self.neighbors.kept(rows)
        hermitian = self.assumed_hermitian
        return AngularCoupling(self.bands, weights, neighbors, hermitian, self.source)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Chain):
            return Operator.divided(self, layout)
        layout.require_near(self.neighbors)
        weights = layout.divide_weights(self.weights)
        return AngularCoupling(
            self.bands, weights, self.neighbors, self.assumed_hermitian, self.source, layout
        )

    def merged(self, other: Operator) -> AngularCoupling | None:
        if not isinstance(other, AngularCoupling):
            return None
        same = self.source is not None and self.source == other.source
        if not (same or self.bands is other.bands):
            return None
        both = self.assumed_hermitian and other.assumed_hermitian
        if self.neighbors == other.neighbors:
            return self._with(self.weights + other.weights, both)
        neighbors, first, second = united(self.neighbors, other.neighbors)
        width = neighbors.rows.shape[1]
        weights = _placed(self.weights, first, width) + _placed(other.weights, second, width)
        return AngularCoupling(self.bands, weights, neighbors, both, self.source, self.layout)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """±Σ_k ‖R_k‖ ‖A_k‖ with the largest row sums as norms."""
        radial = jnp.max(jnp.sum(jnp.abs(self.bands), axis=1), axis=1)
        angular = jnp.max(jnp.sum(jnp.abs(self.weights), axis=2), axis=1)
        reach = jnp.sum(radial * angular)
        return -reach, reach

    def as_matrix(self) -> jax.Array:
        if self.layout is not None:
            return Operator.as_matrix(self)
        channels = self.shape[0]
        row = np.arange(channels)[:, None]
        empty = jnp.zeros((len(self.bands), channels, channels), self.weights.dtype)
        angular = empty.at[:, row, self.neighbors.rows].add(self.weights)
        return total(map(jnp.kron, angular, dense_from_bands(self.bands)))

    def as_sparse(self) -> Any:
        if self.layout is not None:
            return Operator.as_sparse(self)
        pairs = zip(np.asarray(self.weights), np.asarray(self.bands), strict=True)
        return total(
            sparse.kron(self.neighbors.matrix(weights), sparse_bands(bands))
            for weights, bands in pairs
        )


def _coupled(rows: jax.Array, weights: jax.Array, bands: jax.Array) -> jax.Array:
    """Σ_k R_k Σ_j a_kcj ψ_{n(c, j)} from the neighbors' rows, (channels, width, n)."""
    mixing = jnp.swapaxes(weights, 0, 1)
    if jnp.iscomplexobj(rows) or jnp.iscomplexobj(weights):
        # [Re a, −Im a; Im a, Re a] with the real and imaginary parts of ψ: one real product.
        real, imaginary = jnp.real(mixing), jnp.imag(mixing)
        above = jnp.concatenate([real, -imaginary], axis=2)
        mixing = jnp.concatenate([above, jnp.concatenate([imaginary, real], axis=2)], axis=1)
        parts = mixing @ jnp.concatenate([jnp.real(rows), jnp.imag(rows)], axis=1)
        k = len(bands)
        mixed = jax.lax.complex(parts[:, :k], parts[:, k:])
    else:
        mixed = mixing @ rows
    return total(banded_product(radial, mixed[:, k]) for k, radial in enumerate(bands))


def _placed(weights: jax.Array, places: np.ndarray, width: int) -> jax.Array:
    """Weights among more neighbors; padding of channels stays zero."""
    places = np.pad(places, ((0, weights.shape[1] - len(places)), (0, 0)))
    empty = jnp.zeros((*weights.shape[:2], width), weights.dtype)
    return empty.at[:, np.arange(len(places))[:, None], places].add(weights)
