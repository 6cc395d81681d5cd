"""A grid cut into slabs along its first axis, one for each device of a mesh axis.

    device d holds the planes d·m … (d + 1)·m − 1 of n, m = ⌈n/D⌉; planes from n on are zero

What works plane by plane runs as it is. Two things need other devices, and are written out, since
left to itself the compiler would gather the whole grid: a transform along the first axis (an
all-to-all turns slabs of the first axis into slabs of the second, and another one back), and
differences along it (permutes bring the neighbours' outermost planes).

An all-to-all sends (D − 1)/D of a slab from each device, a halo 2p planes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter.linalg.layouts import Layout, column
from zitter.runtime import placed

AxisMap = Callable[..., jax.Array]  # (array, axes, *shared) → the array changed along these axes


class Slabs(Layout):
    """How a grid of shape `whole` lies on the devices of one mesh axis."""

    whole: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(static=True, default="space")
    portions: ClassVar[int] = 4  # turned at once, a slab would need another one

    def __check_init__(self):
        self.require_work_for_all()

    @property
    def unit(self) -> str:
        return "points along the first axis"

    # Transforms.

    def forward(self, along: AxisMap, psi: jax.Array, *shared) -> jax.Array:
        """`along` all axes, the first one last: the result is cut along the second axis."""
        others = tuple(range(1, len(self.whole)))

        def transform(slab, *shared):
            return along(self.turn(along(slab, others, *shared)), (0,), *shared)

        before, after = PartitionSpec(self.axis), PartitionSpec(None, self.axis)
        return self.mapped(transform, before, after)(psi, *shared)

    def backward(self, along: AxisMap, phi: jax.Array, *shared) -> jax.Array:
        """`along` all axes, the first one first, from what `forward` gives."""
        others = tuple(range(1, len(self.whole)))

        def transform(slab, *shared):
            return along(self.turn_back(along(slab, (0,), *shared)), others, *shared)

        before, after = PartitionSpec(None, self.axis), PartitionSpec(self.axis)
        return self.mapped(transform, before, after)(phi, *shared)

    def turned_row(self, row: jax.Array, axis: int) -> jax.Array:
        """Values along one axis, as long as that axis is after `forward`."""
        if axis != 1 or self.turned_length == self.whole[1]:
            return row
        row = jnp.pad(row, (0, self.turned_length - self.whole[1]), mode="edge")
        return placed(row, NamedSharding(self.mesh, PartitionSpec()))  # short: whole everywhere

    # Differences.

    def check_halo(self, p: int) -> None:
        """Refuse slabs thinner than the planes that a neighbour asks for."""
        self.require_halo(p, f"differences over {p} points on both sides")

    def with_halo(self, slab: jax.Array, p: int, periodic: bool) -> jax.Array:
        """A slab with p planes more on both sides: zeros beyond walls, or the other end."""
        wide = self.widened(slab, p, ring=periodic and self.exact)
        return self._wrapped(wide, slab, p) if periodic and not self.exact else wide

    def _wrapped(self, wide: jax.Array, slab: jax.Array, p: int) -> jax.Array:
        """The planes of the other end, which do not lie where padded slabs meet: both ends are
        handed to all devices."""
        n, first = self.whole[0], jax.lax.axis_index(self.axis) * self.share
        place = jnp.asarray(np.concatenate([np.arange(p), np.arange(n - p, n)])) - first
        mine = (place >= 0) & (place < self.share)
        planes = jnp.where(column(mine, slab), slab[jnp.clip(place, 0, self.share - 1)], 0)
        planes = jax.lax.psum(planes, self.axis)
        rows = first - p + jnp.arange(self.share + 2 * p)
        found = jnp.where(rows < 0, rows + 2 * p, rows - n)  # −p … −1 are the last p of the ends
        outside = (rows < 0) | ((rows >= n) & (rows < n + p))
        return jnp.where(column(outside, slab), planes[jnp.clip(found, 0, 2 * p - 1)], wide)
