"""How the coefficients of a basis lie on the devices of a mesh.

An array of shape `whole` is padded along one axis to `shape`, which the mesh can cut evenly, and
the padding of a state is zero. An operator on such arrays (`Operator.divided`) keeps it zero, so
that sums over all coefficients are sums over the basis, and methods need not know of it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks, runtime
from zitter.runtime import placed


class Layout(eqx.Module):
    """The first axis of arrays of shape `whole`, cut over one axis of a mesh."""

    whole: eqx.AbstractVar[tuple[int, ...]]
    mesh: eqx.AbstractVar[Mesh]
    axis: eqx.AbstractVar[Any]  # a name, or several whose product it is
    portions: ClassVar[int] = 1  # in which an array is turned, to save room

    @property
    def devices(self) -> int:
        return self.mesh.shape[self.axis]

    @property
    def count(self) -> int:
        """What is cut: rows, or groups of as many rows that stay together."""
        return self.whole[0]

    @property
    def blocks(self) -> int:
        """Rows or groups of rows on each device, padding included."""
        return -(-self.count // self.devices)

    @property
    def share(self) -> int:
        """Rows on each device, padding included."""
        return self.blocks * (self.whole[0] // self.count)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the padded array."""
        return (self.share * self.devices, *self.whole[1:])

    @property
    def exact(self) -> bool:
        """Whether nothing is padded."""
        return self.shape == self.whole

    @property
    def shares(self) -> list[int]:
        """Rows of the array itself on each device."""
        ends = np.minimum(np.arange(self.devices + 1) * self.share, self.whole[0])
        return np.diff(ends).tolist()

    @property
    @abc.abstractmethod
    def unit(self) -> str:
        """What a row or a group of rows is called, in the plural."""

    def require_work_for_all(self) -> None:
        if self.devices > self.count:
            raise checks.InputError(
                f"mesh.{self.axis}",
                f"must be at most {self.count}, the number of {self.unit}, but is {self.devices}",
            )

    def sharding(self, leading: int = 0) -> NamedSharding:
        """That of states with so many axes before theirs."""
        return NamedSharding(self.mesh, PartitionSpec(*(None,) * leading, self.axis))

    def divide(self, array: Any, mode: str = "constant") -> jax.Array:
        """States (their axes last), or rows that broadcast over them, cut over the devices.

        The padding is zero, or with the mode "edge" the last row again, for values that multiply.
        """
        leading = np.ndim(array) - len(self.whole)
        if leading < 0 or np.shape(array)[leading] != self.whole[0]:
            return placed(array, NamedSharding(self.mesh, PartitionSpec()))
        if not self.exact:
            missing = self.shape[0] - self.whole[0]
            widths = [(0, missing if a == leading else 0) for a in range(np.ndim(array))]
            if checks.is_traced(array):
                array = jnp.pad(array, widths, mode=mode)
            else:  # on the host: no device need hold the whole
                array = np.pad(runtime.to_host(array), widths, mode=mode)  # type: ignore[call-overload]
        return placed(array, self.sharding(leading))

    def divide_blocks(self, blocks: Any) -> jax.Array:
        """Something for each row or group of rows, or for some of them, with zeros after it."""
        missing = self.blocks * self.devices - blocks.shape[0]
        widths = [(0, missing)] + [(0, 0)] * (blocks.ndim - 1)
        # On the host, where no device need hold the whole.
        padded = jnp.pad(blocks, widths) if checks.is_traced(blocks) else np.pad(blocks, widths)
        return placed(padded, self.sharding())

    def keep(self, array: jax.Array) -> jax.Array:
        """States that are padded already, held where they belong."""
        return placed(array, self.sharding(array.ndim - len(self.whole)))

    def join(self, array: Any) -> Any:
        """The inverse of `divide`; what cannot be cut evenly comes back on the host."""
        leading = np.ndim(array) - len(self.whole)
        if leading < 0 or np.shape(array)[leading:] != self.shape:
            return array
        if self.exact:
            return array if runtime.is_here(array) else runtime.to_host(array)
        kept = (slice(None),) * leading + (slice(self.whole[0]),)
        return array[kept] if checks.is_traced(array) else runtime.to_host(array)[kept]

    def local(self, function: Any, psi: jax.Array, *shared: Any) -> jax.Array:
        """function(part, *shared) on every device."""
        mine = PartitionSpec(self.axis)
        return self.mapped(function, mine, mine)(psi, *shared)

    def mapped(self, function: Any, before: PartitionSpec, after: PartitionSpec) -> Any:
        """function(part, *shared) from one way of cutting to another."""

        def call(psi, *shared):
            specs = (before, *(PartitionSpec() for _ in shared))
            spread = jax.shard_map(function, mesh=self.mesh, in_specs=specs, out_specs=after)
            return spread(psi, *shared)

        return call

    def require_halo(self, p: int, reason: str) -> None:
        """Refuse parts thinner than the p rows that a neighbor asks for."""
        if self.share < p:
            n = self.whole[0]
            most = max(d for d in range(1, n + 1) if -(-n // d) >= p)
            raise checks.InputError(
                f"mesh.{self.axis}",
                f"must be at most {most} for {reason} and {n} {self.unit}, but is {self.devices}",
            )

    # Inside a mapped function: what goes from device to device.

    def from_neighbor(self, step: int, rows: jax.Array, ring: bool = False) -> jax.Array:
        """What the device above (1) or below (−1) gives; zero at the ends of the chain, unless it
        is a ring."""
        last = self.devices - 1
        pairs = [(d + 1, d) for d in range(last)] + ([(0, last)] if ring else [])
        pairs = pairs if step == 1 else [(to, come) for come, to in pairs]
        return jax.lax.ppermute(rows, self.axis, pairs)

    def widened(self, part: jax.Array, p: int, ring: bool = False) -> jax.Array:
        """A part with p rows more on both sides, from the neighbors."""
        before = self.from_neighbor(-1, part[-p:], ring)
        after = self.from_neighbor(1, part[:p], ring)
        return jnp.concatenate([before, part, after])

    def turn(self, part: jax.Array) -> jax.Array:
        """Some of the first axis and all of the second → all of the first, some of the second."""
        part = _padded(part, 1, self.turned_length)

        def exchange(columns):
            # What goes to one device lies together: the exchange itself then copies nothing.
            pieces = jnp.moveaxis(columns.reshape(self.share, self.devices, -1), 1, 0)
            return self._exchanged(pieces).reshape(self.shape[0], -1)

        turned = self._in_portions(exchange, part.reshape(self.shape[0], -1))
        return turned.reshape(self.shape[0], -1, *part.shape[2:])[: self.whole[0]]

    def turn_back(self, part: jax.Array) -> jax.Array:
        """The inverse of `turn`."""
        part = _padded(part, 0, self.shape[0])

        def exchange(columns):
            pieces = self._exchanged(columns.reshape(self.devices, self.share, -1))
            return jnp.moveaxis(pieces, 0, 1).reshape(self.shape[0], -1)

        turned = self._in_portions(exchange, part.reshape(self.shape[0], -1))
        return turned.reshape(self.share, -1, *part.shape[2:])[:, : self.whole[1]]

    def _exchanged(self, pieces: jax.Array) -> jax.Array:
        """One piece to each device, and one from each."""
        return jax.lax.all_to_all(pieces, self.axis, 0, 0, tiled=True)

    def _in_portions(self, exchange: Callable[..., jax.Array], columns: jax.Array) -> jax.Array:
        """`exchange` of some columns after others, each put in the place of what went."""
        portions = self.portions
        if portions == 1:
            return exchange(columns)
        width, rest = divmod(columns.shape[1], portions)

        def replaced(columns, first, width):
            old = jax.lax.dynamic_slice_in_dim(columns, first, width, 1)
            return jax.lax.dynamic_update_slice_in_dim(columns, exchange(old), first, 1)

        if width:
            columns = jax.lax.fori_loop(
                0, portions, lambda j, columns: replaced(columns, j * width, width), columns
            )
        return replaced(columns, portions * width, rest) if rest else columns

    @property
    def turned_length(self) -> int:
        """The second axis, padded to be cut."""
        return -(-self.whole[1] // self.devices) * self.devices

    def without_padding(self, part: jax.Array, halo: int = 0) -> jax.Array:
        """Zero in the rows that the array does not have, on every device; `halo` rows more on
        both sides."""
        if self.exact and not halo:
            return part
        row = jax.lax.axis_index(self.axis) * self.share - halo + jnp.arange(len(part))
        return jnp.where(column((row >= 0) & (row < self.whole[0]), part), part, 0)


def column(values: jax.Array, part: jax.Array) -> jax.Array:
    """One value for each row, shaped to broadcast."""
    return values.reshape(-1, *(1,) * (part.ndim - 1))


def _padded(part: jax.Array, axis: int, length: int) -> jax.Array:
    missing = length - part.shape[axis]
    return jnp.pad(part, [(0, missing if a == axis else 0) for a in range(part.ndim)])
