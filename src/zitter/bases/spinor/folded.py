"""Channels (κ, μ) on many devices, cut between values of μ, and then between κ.

Light couples μ to μ ± 1 only, with all κ at once. A μ has 2(kappa_max − |μ| + ½) channels, so that
equal numbers of μ would be very unequal work: |μ| = q + ½ is kept with |μ| = m − ½ − q, where m
counts the values of |μ|, and every such pair has as many channels. In the chain of pairs

    −(q = last), …, −(q = 0), +(q = 0), …, +(q = last)

μ ± 1 is in the same pair or in a neighboring one. Device d holds M pairs, and needs one of each
neighbor. The rows of a pair are ±κ side by side, of its smaller |μ| first, then of the larger; the
middle pair of an odd m, and pairs that fill up the last device, are padded with zeros.

Beyond one device for each pair, X devices of the axis "space" share the same pairs: each has every
X-th ±κ of each of them, and light brings them together, by segments of r (`segments`).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks, runtime
from zitter.bases.spinor.by_kappa import kappa_rows
from zitter.bases.spinor.light import tiling
from zitter.bases.spinor.segments import AXIS, Segments, segments
from zitter.linalg.exchange import exchange, exchanged
from zitter.linalg.layouts import Layout, placed

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis


class Pairs(NamedTuple):
    """Where everything is, on A × X devices."""

    counts: tuple[int, int]
    rows: int  # of one pair on a device
    each: int  # pairs on a device, M
    members: np.ndarray  # (A·M, 2): μ of both members, 0 where there is none
    channels: np.ndarray  # row → channel; the number of channels in padding
    kappas: np.ndarray  # row → κ, 0 in padding
    member: np.ndarray  # row → 0 or 1
    places: np.ndarray  # channel → row

    @property
    def together(self) -> int:
        """Rows of one pair on the X devices that share it."""
        return self.counts[1] * self.rows

    def by_pair(self, values: np.ndarray) -> np.ndarray:
        """Something for each row as (A·M, X·rows), in the order in which rows come together."""
        apart = values.reshape(*self.counts, self.each, self.rows)
        return np.moveaxis(apart, 1, 2).reshape(-1, self.together)


class FoldedChain(Layout):
    """Coefficients (channels, 2n) of a spinor basis in pairs of |μ|."""

    basis: SpinorBasis = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    axis: Any = eqx.field(static=True)

    def __init__(self, basis: SpinorBasis, mesh: Mesh):
        self.basis, self.mesh = basis, mesh
        axes = [axis for axis in ("angular", AXIS) if axis in mesh.shape]
        self.axis = tuple(axes) if len(axes) > 1 else axes[0]
        (over_mu, over_r), most = self.counts, 2 * pair_count(basis)
        if over_mu > most:
            raise checks.InputError(
                "mesh.angular",
                f"must be at most {most}, the number of {self.unit}, but is {over_mu}; a mesh of "
                "angular and space takes more devices",
            )
        most = min(tiling(basis)[1], row_count(basis) // 2)
        if over_r > most:
            raise checks.InputError(
                f"mesh.{AXIS}",
                f"must be at most {most} for {row_count(basis)} channels in a pair of |μ| and "
                f"{basis.radial.n} splines, but is {over_r}",
            )

    @property
    def counts(self) -> tuple[int, int]:
        """Devices over μ, and those that share a μ."""
        return self.mesh.shape.get("angular", 1), self.mesh.shape.get(AXIS, 1)

    @property
    def devices(self) -> int:
        return self.counts[0] * self.counts[1]

    @property
    def over_mu(self) -> PartitionSpec:
        """What devices that share pairs have in common."""
        return PartitionSpec("angular") if self.counts[0] > 1 else PartitionSpec()

    @property
    def segments(self) -> Segments | None:
        return segments(self.basis, self.counts[1])

    @property
    def pairs(self) -> Pairs:
        return folded_pairs(self.basis, self.counts)

    def from_neighbor(self, step: int, rows: jax.Array, ring: bool = False) -> jax.Array:
        """What the device with the pairs above (1) or below (−1) gives."""
        last = self.counts[0] - 1
        if last == 0:
            return jnp.zeros_like(rows)
        pairs = [(d + 1, d) for d in range(last)]
        pairs = pairs if step == 1 else [(to, come) for come, to in pairs]
        return jax.lax.ppermute(rows, "angular", pairs)

    @property
    def whole(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.basis.shape

    @property
    def share(self) -> int:
        return self.pairs.each * self.pairs.rows

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.share * self.devices, self.whole[1])

    @property
    def exact(self) -> bool:
        """Channels are in another order even where none is padded."""
        return False

    @property
    def shares(self) -> list[int]:
        """Channels of each device, or of those that share them."""
        used = self.pairs.channels.reshape(self.counts[0], -1) < self.whole[0]
        return used.sum(axis=1).tolist()

    @property
    def unit(self) -> str:
        return "pairs of |μ|"

    def divide(self, array: Any, mode: str = "constant") -> jax.Array:
        leading = np.ndim(array) - 2
        if leading < 0 or np.shape(array)[leading:] != self.whole:
            return placed(array, NamedSharding(self.mesh, PartitionSpec()))
        widths = [(0, 0)] * leading + [(0, 1), (0, 0)]
        if checks.is_traced(array):
            cut = jnp.take(jnp.pad(array, widths), self.pairs.channels, axis=leading)
        else:  # on the host: no device need hold the whole
            cut = np.take(np.pad(np.asarray(array), widths), self.pairs.channels, axis=leading)
        return placed(cut, self.sharding(leading))

    def join(self, array: Any) -> Any:
        leading = np.ndim(array) - 2
        if leading < 0 or np.shape(array)[leading:] != self.shape:
            return array
        if checks.is_traced(array):
            return jnp.take(array, self.pairs.places, axis=leading)
        return np.take(runtime.to_host(array), self.pairs.places, axis=leading)

    # In files, where channels have the order of the basis whatever the number of devices.

    def in_order(self, array: Any) -> Any:
        """States, in pairs of |μ| or by κ, with their channels in order and zeros after the last;
        what is no state as it is."""
        rows = self._rows_of(np.shape(array))
        if rows is None:
            return array
        if isinstance(array, np.ndarray):
            return self.join(array)
        count, devices, apart = self.whole[0], self.devices, rows.ndim == 2
        target = np.minimum(np.arange(devices * -(-count // devices)), count)
        tables = exchange(rows.reshape(devices, -1), target.reshape(devices, -1), count)

        def local(part, tables):
            mine = jax.tree.map(lambda x: x[0], tables)
            part = jnp.moveaxis(part[..., 0, :, :] if apart else part, -2, 0)
            return jnp.moveaxis(exchanged(part, mine, self.axis), 0, -2)

        leading = array.ndim - 3 if apart else array.ndim - 2
        state = self.sharding(leading).spec
        specs = (state, PartitionSpec(self.axis))
        mapped = jax.shard_map(local, mesh=self.mesh, in_specs=specs, out_specs=state)
        return jax.jit(mapped)(array, tables)

    def from_order(self, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        rows = self._rows_of(shape)
        if rows is None:
            return values
        widths = [(0, 0)] * (values.ndim - 2) + [(0, 1), (0, 0)]
        channels = np.pad(values[..., : self.whole[0], :], widths)
        return np.take(channels, rows, axis=values.ndim - 2)

    def _rows_of(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """Row → channel of states of this shape, in pairs of |μ| (rows,) or by κ (D, rows); None
        for other arrays."""
        by_kappa = kappa_rows(self.basis, self.counts).channels
        if shape[-3:] == (*by_kappa.shape, self.whole[1]):
            return by_kappa
        return self.pairs.channels if shape[-2:] == self.shape else None


def pair_count(basis: SpinorBasis) -> int:
    """Pairs of one sign of μ."""
    return (round(basis.mu_max + 0.5) + 1) // 2


def row_count(basis: SpinorBasis) -> int:
    """Channels of a pair."""
    return 4 * basis.kappa_max - 2 * round(basis.mu_max + 0.5) + 2


@functools.lru_cache(maxsize=16)
def folded_pairs(basis: SpinorBasis, counts: tuple[int, int]) -> Pairs:
    m, half = round(basis.mu_max + 0.5), pair_count(basis)
    over_mu, over_r = counts
    each = -(-2 * half // over_mu)
    rows = -(-row_count(basis) // (2 * over_r)) * 2 * over_r
    none = basis.shape[0]
    place = {(k, mu): i for i, (k, mu) in enumerate(zip(basis.kappas, basis.mus, strict=True))}
    members = np.zeros((over_mu * each, 2))
    channels = np.full((over_mu * each, rows), none)
    kappas, member = np.zeros(channels.shape, int), np.zeros(channels.shape, int)
    for p in range(2 * half):
        sign, q = (-1, half - 1 - p) if p < half else (1, p - half)
        sizes = [q + 0.5] + ([m - 0.5 - q] if m - 1 - q != q else [])
        start = 0
        for which, size in enumerate(sizes):
            mu = sign * size
            members[p, which] = mu
            found = [
                (s * k, mu) for k in range(round(size + 0.5), basis.kappa_max + 1) for s in (-1, 1)
            ]
            span = slice(start, start + len(found))
            channels[p, span] = [place[pair] for pair in found]
            kappas[p, span], member[p, span] = [kappa for kappa, _ in found], which
            start += len(found)
    flat, kappas, member = (
        # Every X-th ±κ of each pair: all parts then have κ of every size.
        np.moveaxis(x.reshape(over_mu, each, -1, over_r, 2), 3, 1).reshape(-1)
        for x in (channels, kappas, member)
    )
    places = np.zeros(none, int)
    places[flat[flat < none]] = np.nonzero(flat < none)[0]
    return Pairs(counts, rows // over_r, each, members, flat, kappas, member, places)
