"""Channels (κ, μ) on many devices, cut between values of κ: where matrices of each κ are at hand.

Light wants all κ of a μ on one device (`folded`), levels and factors of H₀ want all μ of a κ, so
that no two devices hold the same matrices. An all-to-all takes a state from one way to the other.

|κ| = k goes with |κ| = kappa_max + 1 − k of the same sign: each such pair has as many channels, and
where every μ is there, two of them in each pair of |μ|, so that all parts that are exchanged are of
one size. A device holds F pairs, first their smaller |κ|, then the larger: two classes of matrices,
each with as many right-hand sides as its largest |κ| has values of μ. Where there are more devices
than pairs of κ, several have the same matrices and share their μ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter.linalg.exchange import Exchange, exchange, exchanged, with_zero

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis
    from zitter.bases.spinor.folded import FoldedChain


class KappaRows(NamedTuple):
    """Where everything is, on D devices."""

    kappas: tuple[np.ndarray, ...]  # of each class, (D·F,); 0 where there is none
    channels: np.ndarray  # (D, rows) → channel; the number of channels in padding
    matrix: np.ndarray  # (D, rows) → number among the device's 2F matrices
    groups: tuple[np.ndarray, ...]  # of each class, (D, F, slots) → row; `rows` where there is none
    slots: np.ndarray  # (D, rows) → place in the groups laid end to end; beyond them in padding
    enter: Exchange  # from pairs of |μ|
    leave: Exchange  # back to them


def over_kappa(
    chain: FoldedChain,
    function: Callable[..., jax.Array],
    state: jax.Array,
    matrices: Sequence[Any],
    shared: Sequence[Any] = (),
    enters: bool = True,
    leaves: bool = True,
) -> jax.Array:
    """function((F, slots, 2n), matrices of the class, *shared) on each device and class.

    A state that enters comes in pairs of |μ|, one that leaves goes back to them; others are kept
    by κ, as (D, rows, 2n). `matrices` has a tree for each class, cut along the first axis.
    """
    table, axis = kappa_rows(chain.basis, chain.counts), chain.axis

    def local(part, tables, matrices, *shared):
        places = jax.tree.map(lambda x: x[0], tables)
        rows = exchanged(part, places.enter, axis) if enters else part[0]
        wide = with_zero(rows)
        made = [
            function(wide[group], mine, *shared)
            for group, mine in zip(places.groups, matrices, strict=True)
        ]
        flat = with_zero(jnp.concatenate([x.reshape(-1, x.shape[-1]) for x in made]))
        rows = flat[places.slots]
        return exchanged(rows, places.leave, axis) if leaves else rows[None]

    mine = PartitionSpec(axis)
    specs = (mine, mine, mine, *(PartitionSpec() for _ in shared))
    mapped = jax.shard_map(local, mesh=chain.mesh, in_specs=specs, out_specs=mine)
    tables = jax.tree.map(jnp.asarray, table._replace(kappas=()))
    return mapped(state, tables, tuple(matrices), *shared)


def made_by_kappa(chain: FoldedChain, function: Callable[..., Any], *shared: Any) -> tuple:
    """function(κ of the device, *shared) on each device, for each class: matrices where they are
    used. Empty places get those of κ = 1."""
    mine = PartitionSpec(chain.axis)
    specs = (mine, *(PartitionSpec() for _ in shared))
    mapped = jax.shard_map(function, mesh=chain.mesh, in_specs=specs, out_specs=mine)
    return tuple(
        mapped(jnp.asarray(np.where(kappas == 0, 1, kappas)), *shared)
        for kappas in kappa_rows(chain.basis, chain.counts).kappas
    )


def per_row(chain: FoldedChain, values: Sequence[jax.Array]) -> jax.Array:
    """(F, 2n) of each class as (D, rows, 2n): every μ of a κ shares its row."""
    matrix = jnp.asarray(kappa_rows(chain.basis, chain.counts).matrix)

    def local(matrix, *values):
        return jnp.concatenate(values)[matrix]

    mine = PartitionSpec(chain.axis)
    specs = (mine, *(mine for _ in values))
    mapped = jax.shard_map(local, mesh=chain.mesh, in_specs=specs, out_specs=mine)
    return mapped(matrix, *values)


@functools.lru_cache(maxsize=16)
def kappa_rows(basis: SpinorBasis, counts: tuple[int, int]) -> KappaRows:
    from zitter.bases.spinor.folded import folded_pairs

    devices = counts[0] * counts[1]
    none, most = basis.shape[0], basis.kappa_max
    pairs = [(s * k, s * (most + 1 - k)) for s in (-1, 1) for k in range(1, (most + 1) // 2 + 1)]
    sharing = max(1, devices // len(pairs))
    units = [(pair, part) for pair in pairs for part in range(sharing)]
    each = -(-len(units) // devices)
    kappas = np.zeros((2, devices, each), int)
    held: list[list[list[Any]]] = [[[[]] * each for _ in range(devices)] for _ in range(2)]
    for i, ((small, large), part) in enumerate(units):
        d, f = divmod(i, each)
        for c, k in enumerate((small, 0 if large == small else large)):
            kappas[c, d, f] = k
            held[c][d][f] = np.nonzero(basis.kappas == k)[0][part::sharing] if k else []
    widths = [max(1, *(len(rows) for own in part for rows in own)) for part in held]
    count = max(sum(len(rows) for part in held for rows in part[d]) for d in range(devices))
    channels, matrix = np.full((devices, count), none), np.zeros((devices, count), int)
    groups = tuple(np.full((devices, each, width), count) for width in widths)
    slots = np.full((devices, count), each * sum(widths))
    for d in range(devices):
        start, before = 0, 0
        for c, (part, width) in enumerate(zip(held, widths, strict=True)):
            for f, rows in enumerate(part[d]):
                own = start + np.arange(len(rows))
                channels[d, own], matrix[d, own] = rows, c * each + f
                groups[c][d, f, : len(rows)] = own
                slots[d, own] = before + f * width + np.arange(len(rows))
                start += len(rows)
            before += each * width
    folded = folded_pairs(basis, counts).channels.reshape(devices, -1)
    return KappaRows(
        tuple(kappas.reshape(2, -1)),
        channels,
        matrix,
        groups,
        slots,
        exchange(folded, channels, none),
        exchange(channels, folded, none),
    )
