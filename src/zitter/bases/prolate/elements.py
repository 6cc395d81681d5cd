"""Elements of ξ in a row, cut over the devices of a mesh axis.

    device d holds the elements d·k … (d + 1)·k − 1 of E, k = ⌈E/D⌉, with all η

An element meets the next one in their joint, the first node of the next: its value comes from
above, and what an element does to the joint at its end goes up. These are one row each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from zitter import checks
from zitter.linalg.layouts import Layout, column


class Elements(Layout):
    """Coefficients (N_ξ, N_η), cut between elements of `nodes` rows each."""

    whole: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    nodes: int = eqx.field(static=True, default=1)
    axis: str = eqx.field(static=True, default="space")

    def __check_init__(self):
        self.require_work_for_all()

    @property
    def count(self) -> int:
        return self.whole[0] // self.nodes

    @property
    def unit(self) -> str:
        return "elements in ξ"

    def divide_matrix(self, blocks: Any) -> jax.Array:
        """A matrix along ξ, stored by elements. The wall is no joint, though padding follows it."""
        xp: Any = jnp if checks.is_traced(blocks) else np
        inside = np.ones(blocks.shape)
        inside[-1, -1], inside[-1, :, -1] = 0, 0
        return self.divide_blocks(xp.where(inside, blocks, 0))

    def over(
        self,
        function: Callable[..., Any],
        after: PartitionSpec,
        mine: Sequence[Any],
        shared: Sequence[Any] = (),
        by_k: Any = (),
    ) -> Any:
        """function(*mine, *shared, by_k) on each device: arrays cut along their first axis, whole
        ones, and a tree of what is cut along its second axis."""
        here, second = PartitionSpec(self.axis), PartitionSpec(None, self.axis)
        specs = (*(here for _ in mine), *(PartitionSpec() for _ in shared), second)
        spread = jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=after)
        return spread(*mine, *shared, by_k)

    # Inside a mapped function.

    @property
    def first(self) -> jax.Array:
        """The number of this device's first element."""
        return jax.lax.axis_index(self.axis) * self.blocks

    def gathered(self, values: jax.Array) -> jax.Array:
        """A number of each element, all of them on every device."""
        return jax.lax.all_gather(values, self.axis, tiled=True)[: self.count]

    def own(self, rows: jax.Array) -> jax.Array:
        """Those of this device among rows for all elements."""
        missing = self.blocks * self.devices - self.count
        rows = jnp.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1))
        return jax.lax.dynamic_slice_in_dim(rows, self.first, self.blocks)

    def zero_outside(self, part: jax.Array) -> jax.Array:
        """Something for each element, zero in those that the basis does not have."""
        there = self.first + jnp.arange(len(part)) < self.count
        return jnp.where(column(there, part), part, 0)


def sooner(values: jax.Array, layout: Elements | None) -> jax.Array:
    """What the next element has, at the place of this one; zero after the last."""
    end = jnp.zeros_like(values[:1]) if layout is None else layout.from_neighbor(1, values[:1])
    return jnp.concatenate([values[1:], end])


def later(values: jax.Array, layout: Elements | None) -> jax.Array:
    """What the element before has, at the place of this one; zero before the first."""
    start = jnp.zeros_like(values[:1]) if layout is None else layout.from_neighbor(-1, values[-1:])
    return jnp.concatenate([start, values[:-1]])
