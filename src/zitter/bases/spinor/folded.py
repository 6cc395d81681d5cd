"""Channels (κ, μ) on many devices, cut between values of μ.

Light couples μ to μ ± 1 only, with all κ at once. A μ has 2(kappa_max − |μ| + ½) channels, so that
equal numbers of μ would be very unequal work: |μ| = q + ½ is kept with |μ| = m − ½ − q, where m
counts the values of |μ|, and every such pair has as many channels. In the chain of pairs

    −(q = last), …, −(q = 0), +(q = 0), …, +(q = last)

μ ± 1 is in the same pair or in a neighboring one. Device d holds M pairs, and needs one of each
neighbor. The rows of a pair are ±κ side by side, of its smaller |μ| first, then of the larger; the
middle pair of an odd m, and pairs that fill up the last device, are padded with zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from zitter import checks
from zitter.linalg.layouts import Layout, placed

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis


class Pairs(NamedTuple):
    """Where everything is, on D devices."""

    rows: int  # of one pair
    each: int  # pairs on a device, M
    members: np.ndarray  # (D·M, 2): μ of both members, 0 where there is none
    channels: np.ndarray  # row → channel; the number of channels in padding
    kappas: np.ndarray  # row → κ, 0 in padding
    member: np.ndarray  # row → 0 or 1
    places: np.ndarray  # channel → row
    groups: np.ndarray  # (D, distinct κ, slots) → row of the device; M·rows where there is none
    slots: np.ndarray  # (D, rows of the device) → place among its groups; beyond the last: padding


class FoldedChain(Layout):
    """Coefficients (channels, 2n) of a spinor basis in pairs of |μ|."""

    basis: SpinorBasis = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)
    axis: str = eqx.field(static=True)

    def __init__(self, basis: SpinorBasis, mesh: Mesh):
        self.basis, self.mesh, self.axis = basis, mesh, "angular"
        most = 2 * pair_count(self.basis)
        if self.devices > most:
            raise checks.InputError(
                f"mesh.{self.axis}",
                f"must be at most {most}, the number of {self.unit}, but is {self.devices}",
            )

    @property
    def pairs(self) -> Pairs:
        return _pairs(self.basis, self.devices)

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
        used = self.pairs.channels.reshape(self.devices, -1) < self.whole[0]
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
        return np.take(np.asarray(array), self.pairs.places, axis=leading)

    def over_kappa(self, function: Callable[..., Any], psi: jax.Array, *shared: Any) -> jax.Array:
        """function((distinct κ, slots, 2n), *shared) on every device; all μ of a κ are alike."""
        pairs = self.pairs

        def local(part, groups, slots, *shared):
            zero = jnp.zeros_like(part[:1])
            grouped = jnp.concatenate([part, zero])[groups[0]]
            made = function(grouped, *shared)
            flat = made.reshape(-1, made.shape[-1])
            return jnp.concatenate([flat, jnp.zeros_like(flat[:1])])[slots[0]]

        mine = PartitionSpec(self.axis)
        specs = (mine, mine, mine, *(PartitionSpec() for _ in shared))
        mapped = jax.shard_map(local, mesh=self.mesh, in_specs=specs, out_specs=mine)
        return mapped(psi, jnp.asarray(pairs.groups), jnp.asarray(pairs.slots), *shared)


def pair_count(basis: SpinorBasis) -> int:
    """Pairs of one sign of μ."""
    return (round(basis.mu_max + 0.5) + 1) // 2


@functools.lru_cache(maxsize=16)
def _pairs(basis: SpinorBasis, devices: int) -> Pairs:
    m, half = round(basis.mu_max + 0.5), pair_count(basis)
    rows = 4 * basis.kappa_max - 2 * m + 2
    each = -(-2 * half // devices)
    none = basis.shape[0]
    place = {(k, mu): i for i, (k, mu) in enumerate(zip(basis.kappas, basis.mus, strict=True))}
    members = np.zeros((devices * each, 2))
    channels = np.full((devices * each, rows), none)
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
    flat = channels.reshape(-1)
    places = np.zeros(none, int)
    places[flat[flat < none]] = np.nonzero(flat < none)[0]
    groups, slots = _by_kappa(kappas.reshape(devices, -1), basis.distinct_kappas)
    return Pairs(
        rows, each, members, flat, kappas.reshape(-1), member.reshape(-1), places, groups, slots
    )


def _by_kappa(kappas: np.ndarray, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`groups` and `slots` of `Pairs`, for the rows (D, rows) of each device."""
    width = max(int(np.sum(own == kappa)) for own in kappas for kappa in distinct)
    devices, count = kappas.shape
    groups = np.full((devices, len(distinct), width), count)
    slots = np.full(kappas.shape, len(distinct) * width)
    for d, own in enumerate(kappas):
        for i, kappa in enumerate(distinct):
            found = np.nonzero(own == kappa)[0]
            groups[d, i, : len(found)] = found
            slots[d, found] = i * width + np.arange(len(found))
    return groups, slots
