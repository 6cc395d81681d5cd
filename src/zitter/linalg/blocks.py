"""Operators on coefficient arrays (channels, n): matrices within a channel, and between channels.

RadialBlocks   one banded matrix for each channel   kinetic energy, central potentials
DipoleBlocks   dense blocks between l and l + 1     light on a basis of eigenstates

Light on a basis of B-splines is in `angular_coupling.py`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from zitter.linalg.bands import banded_product, dense_from_bands, sparse_bands
from zitter.linalg.base import Operator, keeps_hermitian, real_like
from zitter.linalg.chain import Chain
from zitter.linalg.kernels import block_tridiagonal
from zitter.linalg.layouts import Layout
from zitter.linalg.neighbors import Neighbors


class RadialBlocks(Operator):
    """One banded matrix for each channel: bands[c, p + k, j] = O_c[j, j + k].

    Neighboring channels with the same number in `alike`, if that is known, have the same matrix.
    """

    bands: jax.Array
    assumed_hermitian: bool = eqx.field(static=True)
    alike: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        bands: Any,
        assumed_hermitian: bool = True,
        alike: tuple[int, ...] | None = None,
    ):
        self.bands = jnp.asarray(bands)
        self.assumed_hermitian = assumed_hermitian
        self.alike = alike

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bands.shape[0], self.bands.shape[2])

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        return banded_product(self.bands, psi)

    def scaled(self, factor: Any) -> RadialBlocks:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        bands = real_like(factor, self.bands) * self.bands
        return RadialBlocks(bands, hermitian, self.alike)

    def merged(self, other: Operator) -> RadialBlocks | None:
        if not isinstance(other, RadialBlocks):
            return None
        both = self.assumed_hermitian and other.assumed_hermitian
        alike = self.alike if self.alike == other.alike else None
        return RadialBlocks(self.bands + other.bands, both, alike)

    def links(self) -> Neighbors:
        return Neighbors(np.arange(self.shape[0])[:, None])

    def kept(self, rows: np.ndarray) -> RadialBlocks:
        alike = None if self.alike is None else tuple(self.alike[row] for row in rows)
        return RadialBlocks(self.bands[rows], self.assumed_hermitian, alike)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Chain):
            return Operator.divided(self, layout)
        return RadialBlocks(layout.divide_blocks(self.bands), self.assumed_hermitian)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Gershgorin's discs of the matrices."""
        p = self.bands.shape[1] // 2
        center = jnp.real(self.bands[:, p])
        radius = jnp.sum(jnp.abs(self.bands), axis=1) - jnp.abs(self.bands[:, p])
        return jnp.min(center - radius), jnp.max(center + radius)

    def matrices(self) -> jax.Array:
        """The full matrix of each channel."""
        return dense_from_bands(self.bands)

    def as_matrix(self) -> jax.Array:
        return jax.scipy.linalg.block_diag(*self.matrices())

    def as_sparse(self) -> Any:
        return sparse.block_diag([sparse_bands(bands) for bands in self.bands])


class DipoleBlocks(Operator):
    """(Dψ)_l = s [f D_l ψ_{l+1} + f* D_{l−1}ᵀ ψ_{l−1}] with real blocks D_l, upper ones only.

    f (`phase`) is 1 for z and −i for p_z. Factors of time change only the number s (`scale`), so
    the blocks are never copied.
    """

    upper: jax.Array  # (channels − 1, n, n)
    scale: jax.Array
    phase: complex = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)
    layout: Chain | None  # of channels on many devices; each then has a block, the last ones zero

    def __init__(
        self,
        upper: Any,
        scale: Any = 1.0,
        phase: complex = 1.0,
        assumed_hermitian: bool = True,
        layout: Chain | None = None,
    ):
        self.upper = jnp.asarray(upper)
        self.scale = real_like(scale, self.upper)
        self.phase = complex(phase)
        self.assumed_hermitian = assumed_hermitian
        self.layout = layout

    @property
    def shape(self) -> tuple[int, ...]:
        if self.layout is not None:
            return self.layout.shape
        return (self.upper.shape[0] + 1, self.upper.shape[1])

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    @property
    def dtype(self) -> Any:
        plain = jnp.result_type(self.upper, self.scale)
        return plain if self.phase.imag == 0 else jnp.result_type(plain, jnp.complex64)

    def apply(self, psi: jax.Array) -> jax.Array:
        sign = 1.0 if self.phase.imag == 0 else -1.0  # f* = sign · f
        if self.layout is None:
            image = block_tridiagonal.product(self.upper, psi, sign)
        else:
            image = self.layout.product(self.upper, psi, sign)
        return image * (self.scale * _factor(self.phase, image))

    def scaled(self, factor: Any) -> DipoleBlocks:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        scale = self.scale * real_like(factor, self.scale)
        return DipoleBlocks(self.upper, scale, self.phase, hermitian, self.layout)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Chain):
            return Operator.divided(self, layout)
        upper = layout.divide_blocks(self.upper)
        return DipoleBlocks(upper, self.scale, self.phase, self.assumed_hermitian, layout)

    def merged(self, other: Operator) -> DipoleBlocks | None:
        if not isinstance(other, DipoleBlocks) or other.phase != self.phase:
            return None
        both = self.assumed_hermitian and other.assumed_hermitian
        if self.upper is other.upper:
            scale = self.scale + other.scale
            return DipoleBlocks(self.upper, scale, self.phase, both, self.layout)
        upper = self.scale * self.upper + other.scale * other.upper
        return DipoleBlocks(upper, 1.0, self.phase, both, self.layout)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """± the largest row sum; 2 max_l ‖D_l‖ bounds a block-tridiagonal matrix more tightly."""
        rows = jnp.sum(jnp.abs(self.upper), axis=2)
        columns = jnp.sum(jnp.abs(self.upper), axis=1)
        # ‖D_l‖² ≤ ‖D_l‖₁ ‖D_l‖_∞
        norms = jnp.sqrt(jnp.max(rows, axis=1) * jnp.max(columns, axis=1))
        pad = jnp.zeros(1, norms.dtype)
        reach = jnp.max(jnp.concatenate([norms, pad]) + jnp.concatenate([pad, norms]))
        reach = reach * jnp.abs(self.scale)
        return -reach, reach


def _factor(phase: complex, array: jax.Array) -> Any:
    if phase.imag == 0:
        return real_like(phase.real, array)
    return jnp.asarray(phase, jnp.result_type(array, jnp.complex64))
