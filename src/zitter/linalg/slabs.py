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

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks
from zitter.linalg.layouts import Layout, column
from zitter.runtime import placed

PORTIONS = 4  # of a slab, exchanged one after another
AxisMap = Callable[..., jax.Array]  # (array, axes, *shared) → the array changed along these axes


class Slabs(Layout):
    """How a grid of shape `whole` lies on the devices of one mesh axis."""

    whole: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(static=True, default="space")

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

    def turn(self, slab: jax.Array) -> jax.Array:
        """Some of the first axis and all of the second → all of the first, some of the second."""
        slab = _padded(slab, 1, self._turned_rows)
        parts = slab.reshape(self.shape[0], -1)

        def exchange(part):
            # What goes to one device lies together: the exchange itself then copies nothing.
            part = jnp.moveaxis(part.reshape(self.share, self.devices, -1), 1, 0)
            return self._exchanged(part).reshape(self.shape[0], -1)

        turned = _in_portions(exchange, parts)
        return turned.reshape(self.shape[0], -1, *slab.shape[2:])[: self.whole[0]]

    def turn_back(self, slab: jax.Array) -> jax.Array:
        slab = _padded(slab, 0, self.shape[0])
        parts = slab.reshape(self.shape[0], -1)

        def exchange(part):
            part = self._exchanged(part.reshape(self.devices, self.share, -1))
            return jnp.moveaxis(part, 0, 1).reshape(self.shape[0], -1)

        turned = _in_portions(exchange, parts)
        return turned.reshape(self.share, -1, *slab.shape[2:])[:, : self.whole[1]]

    def _exchanged(self, parts: jax.Array) -> jax.Array:
        """One part to each device, and one from each."""
        return jax.lax.all_to_all(parts, self.axis, 0, 0, tiled=True)

    @property
    def _turned_rows(self) -> int:
        """The second axis, padded to be cut."""
        return -(-self.whole[1] // self.devices) * self.devices

    def turned_row(self, row: jax.Array, axis: int) -> jax.Array:
        """Values along one axis, as long as that axis is after `forward`."""
        if axis != 1 or self._turned_rows == self.whole[1]:
            return row
        row = jnp.pad(row, (0, self._turned_rows - self.whole[1]), mode="edge")
        return placed(row, NamedSharding(self.mesh, PartitionSpec()))  # short: whole everywhere

    # Differences.

    def check_halo(self, p: int) -> None:
        """Refuse slabs thinner than the planes that a neighbour asks for."""
        if self.share < p:
            n = self.whole[0]
            most = max(d for d in range(1, n + 1) if -(-n // d) >= p)
            raise checks.InputError(
                f"mesh.{self.axis}",
                f"must be at most {most} for differences over {p} points on both sides and {n} "
                f"points along the first axis, but is {self.devices}",
            )

    def with_halo(self, slab: jax.Array, p: int, periodic: bool) -> jax.Array:
        """A slab with p planes more on both sides: zeros beyond walls, or the other end."""
        last, ring = self.devices - 1, periodic and self.exact
        up = [(d, d + 1) for d in range(last)] + ([(last, 0)] if ring else [])
        down = [(d + 1, d) for d in range(last)] + ([(0, last)] if ring else [])
        before = jax.lax.ppermute(slab[-p:], self.axis, up)
        after = jax.lax.ppermute(slab[:p], self.axis, down)
        wide = jnp.concatenate([before, slab, after])
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


def _in_portions(exchange: Callable[[jax.Array], jax.Array], parts: jax.Array) -> jax.Array:
    """`exchange` of some columns after others, each put in the place of what went: an exchange of
    all at once would keep two slabs more."""
    width = parts.shape[1] // PORTIONS

    def replaced(parts, first, width):
        old = jax.lax.dynamic_slice_in_dim(parts, first, width, 1)
        return jax.lax.dynamic_update_slice_in_dim(parts, exchange(old), first, 1)

    if width:
        parts = jax.lax.fori_loop(
            0, PORTIONS, lambda j, parts: replaced(parts, j * width, width), parts
        )
    rest = parts.shape[1] % PORTIONS
    return replaced(parts, PORTIONS * width, rest) if rest else parts


def _padded(slab: jax.Array, axis: int, length: int) -> jax.Array:
    missing = length - slab.shape[axis]
    return jnp.pad(slab, [(0, missing if a == axis else 0) for a in range(slab.ndim)])
