"""Channels in a row, each coupled to its neighbours, cut over the devices of a mesh axis.

    (Dψ)_l = D_l ψ_{l+1} + s D_{l−1}ᵀ ψ_{l−1}      dense blocks, one channel for each l
    (Aψ)_c = Σ_c′ A_cc′ ψ_c′,  |c − c′| ≤ w         numbers, for any order of channels

Device d holds the channels d·m … (d + 1)·m − 1 and the blocks D_l that lead up from them, each
once: ψ of its first channel goes down, and the product D_lᵀψ_l of its last one goes up. Of a matrix
A it holds its own rows; w rows of ψ go to each neighbor. Whatever the number of devices, each sends
2w rows (w = 1 where channels differ in l only).
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from zitter import checks
from zitter.linalg.base import Unsupported
from zitter.linalg.layouts import Layout
from zitter.linalg.neighbors import Neighbors
from zitter.linalg.pairs import as_parts, joined
from zitter.runtime import placed


class Chain(Layout):
    """Coefficients (channels, n), cut between channels that couple no farther than `reach` rows."""

    whole: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    reach: int = eqx.field(static=True, default=1)
    axis: str = eqx.field(static=True, default="l")

    def __check_init__(self):
        self.require_work_for_all()
        self.require_halo(self.reach, f"couplings over {self.reach} rows")

    @property
    def unit(self) -> str:
        return "values of l" if self.reach == 1 else "channels"

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

    # Numbers between channels, for each its neighbors only.

    def require_near(self, neighbors: Neighbors) -> None:
        if neighbors.reach > self.reach:
            raise Unsupported(
                f"a coupling of channels over more than {self.reach} rows cannot be divided over "
                f"the mesh axis {self.axis!r}"
            )

    def divide_weights(self, weights: Any) -> jax.Array:
        """(…, channels, width) as each device's rows, zero in the padding."""
        missing = self.shape[0] - weights.shape[-2]
        widths = [(0, 0)] * (weights.ndim - 2) + [(0, missing), (0, 0)]
        padded = jnp.pad(weights, widths) if checks.is_traced(weights) else np.pad(weights, widths)
        return placed(padded, self.sharding(weights.ndim - 2))

    def coupled(
        self, function: Any, neighbors: Neighbors, psi: jax.Array, weights: Any, *shared: Any
    ) -> jax.Array:
        """function(rows of ψ at the neighbors, weights, *shared) on each device, of its channels;
        `weights` are (k, channels, width)."""
        mine = PartitionSpec(self.axis)
        specs = (mine, mine, PartitionSpec(None, self.axis), *(PartitionSpec() for _ in shared))

        def local(part, places, weights, *shared):
            return function(self.widened(part, self.reach)[places], weights, *shared)

        spread = jax.shard_map(local, mesh=self.mesh, in_specs=specs, out_specs=mine)
        return spread(psi, self._at_hand(neighbors), weights, *shared)

    def _at_hand(self, neighbors: Neighbors) -> np.ndarray:
        """Where each channel finds its neighbors among those that its device has at hand."""
        row = np.arange(self.shape[0])[:, None]
        padded = np.pad(neighbors.rows, ((0, self.shape[0] - self.whole[0]), (0, 0)))
        known = np.where(row < self.whole[0], padded, row)
        return known - row // self.share * self.share + self.reach

    def across(self, function: Any, psi: jax.Array, values: jax.Array, *shared: Any) -> jax.Array:
        """function(all channels of some columns, their values, *shared) on each device, by an
        all-to-all before it and one after; ψ is (channels, …, n), and there are n `values`."""
        values = jnp.pad(values, (0, self.turned_length - self.whole[1]))
        mine = PartitionSpec(self.axis)
        specs = (mine, mine, *(PartitionSpec() for _ in shared))

        def local(part, values, *shared):
            columns = jnp.moveaxis(self.turn(jnp.moveaxis(part, -1, 1)), 1, -1)
            columns = function(columns, values, *shared)
            return jnp.moveaxis(self.turn_back(jnp.moveaxis(columns, -1, 1)), 1, -1)

        spread = jax.shard_map(local, mesh=self.mesh, in_specs=specs, out_specs=mine)
        return spread(psi, values, *shared)
