"""Radial splines in segments, one for each device of the mesh axis "space".

At rest these devices share the κ of their pairs of |μ|, each with all r: what keeps κ stays where
it is. Light mixes all κ at one r, so that for a product

    some κ, all r  ─ all-to-all ─▶  all κ, the splines of some intervals of r  ─ product ─▶  back

Segments overlap by the splines that reach over their ends, and what comes back is added there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

from zitter.bases.spinor.light import tiling
from zitter.linalg.base import total

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis

AXIS = "space"


class Segments(NamedTuple):
    """X of them, each with as many tiles of intervals; the last may reach beyond rmax."""

    count: int
    tiles: int  # of one segment
    tile: int  # intervals of a tile
    more: int  # tiles whose width splines reach over the end of an interval
    n: int

    @property
    def intervals(self) -> int:
        """Of one segment."""
        return self.tiles * self.tile

    @property
    def length(self) -> int:
        """Splines of a segment, with those that its neighbor has as well."""
        return self.intervals + self.more * self.tile

    def spread(self, parts: jax.Array, each: int) -> jax.Array:
        """Inside a mapped function: this device's rows (each·rows, k, n) of `each` pairs to all
        rows of these pairs, (each·X·rows, k, length)."""
        width = self.count * self.intervals + self.more * self.tile
        lined = jnp.pad(parts, ((0, 0), (0, 0), (1, width - self.n - 1)))
        starts = [x * self.intervals for x in range(self.count)]
        pieces = jnp.stack([lined[:, :, s : s + self.length] for s in starts])
        came = jax.lax.all_to_all(pieces, AXIS, 0, 0)  # (X, each·rows, k, length)
        came = came.reshape(self.count, each, -1, *came.shape[2:])
        return jnp.moveaxis(came, 0, 1).reshape(-1, *came.shape[3:])

    def collected(self, parts: jax.Array, each: int) -> jax.Array:
        """The transpose: (each·X·rows, k, length) to this device's rows (each·rows, k, n)."""
        pieces = parts.reshape(each, self.count, -1, *parts.shape[1:])
        pieces = jnp.moveaxis(pieces, 1, 0).reshape(self.count, -1, *parts.shape[1:])
        came = jax.lax.all_to_all(pieces, AXIS, 0, 0)
        rest = (self.count - 1) * self.intervals
        lined = total(
            jnp.pad(piece, ((0, 0), (0, 0), (x * self.intervals, rest - x * self.intervals)))
            for x, piece in enumerate(came)
        )
        return lined[:, :, 1 : self.n + 1]


def segments(basis: SpinorBasis, count: int) -> Segments | None:
    """None where r is not cut."""
    tile, tiles, more = tiling(basis)
    return Segments(count, -(-tiles // count), tile, more, basis.radial.n) if count > 1 else None
