"""Dense matrices within channels: what an absorber becomes between eigenstates of one l."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.linalg.base import Operator, keeps_hermitian, real_like
from zitter.linalg.chain import Chain
from zitter.linalg.layouts import Layout
from zitter.linalg.pairs import times_vector


class ChannelMatrices(Operator):
    """(Oψ)_l = s M_l ψ_l with real symmetric M_l; `scaled` changes only s, which may be complex."""

    matrices: jax.Array  # (channels, n, n)
    scale: jax.Array
    assumed_hermitian: bool = eqx.field(static=True)

    def __init__(self, matrices: Any, scale: Any = 1.0, assumed_hermitian: bool | None = None):
        self.matrices = jnp.asarray(matrices)
        self.scale = real_like(scale, self.matrices)
        self.assumed_hermitian = (
            keeps_hermitian(scale) if assumed_hermitian is None else assumed_hermitian
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrices.shape[:2]

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        return self.scale * times_vector(self.matrices, psi)

    def scaled(self, factor: Any) -> ChannelMatrices:
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        scale = self.scale * real_like(factor, self.scale)
        return ChannelMatrices(self.matrices, scale, hermitian)

    def merged(self, other: Operator) -> ChannelMatrices | None:
        if not isinstance(other, ChannelMatrices) or self.matrices is not other.matrices:
            return None
        both = self.assumed_hermitian and other.assumed_hermitian
        return ChannelMatrices(self.matrices, self.scale + other.scale, both)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Chain):
            return Operator.divided(self, layout)
        matrices = layout.divide_blocks(self.matrices)
        return ChannelMatrices(matrices, self.scale, self.assumed_hermitian)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """± the largest row sum of |s M|."""
        reach = jnp.max(jnp.sum(jnp.abs(self.matrices), axis=2)) * jnp.abs(self.scale)
        return -reach, reach
