"""Channels in a row, each coupled to its neighbours, cut over the devices of a mesh axis.

    (Dψ)_l = D_l ψ_{l+1} + s D_{l−1}ᵀ ψ_{l−1}

Device d holds the channels d·m … (d + 1)·m − 1 and the blocks D_l that lead up from them, each
once: ψ of its first channel goes down, and the product D_lᵀψ_l of its last one goes up. Whatever
the number of devices, each sends two rows.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from zitter import checks
from zitter.linalg.layouts import Layout
from zitter.linalg.pairs import as_parts, joined
from zitter.runtime import placed


class Chain(Layout):
    """Coefficients (channels, n), cut between channels."""

    whole: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(static=True, default="l")

    def __check_init__(self):
        self.require_work_for_all()

    @property
    def unit(self) -> str:
        return "values of l"

    def divide_blocks(self, blocks: Any) -> jax.Array:
        """Something for each channel, or for each but the last, with zeros up to `shape[0]`."""
        widths = [(0, self.shape[0] - blocks.shape[0])] + [(0, 0)] * (blocks.ndim - 1)
        # On the host, where no device need hold the whole.
        padded = jnp.pad(blocks, widths) if checks.is_traced(blocks) else np.pad(blocks, widths)
        return placed(padded, self.sharding())

    def product(self, upper: jax.Array, psi: jax.Array, sign: float) -> jax.Array:
        """Dψ for real blocks D_l in the order of the channels, the last ones zero."""

        def local(rows, upper):
            columns = as_parts(rows)
            above = jnp.concatenate([columns[1:], self.from_neighbor(1, columns[:1])])
            led = sign * jnp.einsum("lji,ljk->lik", upper, columns)
            led = jnp.concatenate([self.from_neighbor(-1, led[-1:]), led[:-1]])
            return joined(jnp.einsum("lij,ljk->lik", upper, above) + led)

        mine = PartitionSpec(self.axis)
        mapped = jax.shard_map(local, mesh=self.mesh, in_specs=(mine, mine), out_specs=mine)
        return mapped(psi, upper)
