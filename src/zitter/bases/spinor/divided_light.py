"""α_x F(r, θ) on many devices: `light`, with channels in pairs of |μ| (`folded`).

Each device takes the coefficients of one pair from each neighbor and goes with them to (r, θ), as
with its own; up(μ) needs down(μ − 1), and down(μ) up(μ + 1). All that follows stays on the device,
but where several share the κ of a pair: these take segments of r, before and after (`segments`).
Both members of a pair share a table of harmonics, with zeros where κ belongs to the other one:
twice the products of small matrices, of which there are few beside the traffic of the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from zitter.bases.angular import spinor_table
from zitter.bases.spinor.folded import FoldedChain, Pairs
from zitter.bases.spinor.kinetic_balance import balanced, held, unbalanced
from zitter.bases.spinor.light import (
    SpinorLight,
    added_up,
    angles,
    windows_of,
    workspace,
)
from zitter.bases.spinor.segments import AXIS
from zitter.linalg.base import Operator
from zitter.linalg.layouts import placed


class DividedLight(Operator):
    """What `SpinorLight` is, for states of a `FoldedChain`."""

    light: SpinorLight  # without harmonics
    harmonics: jax.Array  # (A·(M + 2), 2·2·θ, rows): both members, spins, of own and next pairs
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, light: SpinorLight, layout: FoldedChain):
        self.layout = layout
        self.light = eqx.tree_at(lambda o: o.harmonics, light, ())
        table = _harmonics(layout, light.lmax).astype(light.splines.dtype)
        self.harmonics = placed(table, NamedSharding(layout.mesh, layout.over_mu))

    def with_field(self, values: Any) -> DividedLight:
        return eqx.tree_at(lambda o: o.light, self, self.light.with_field(values))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def hermitian(self) -> bool:
        return self.light.hermitian

    @property
    def dtype(self) -> Any:
        return self.light.dtype

    def apply(self, psi: jax.Array) -> jax.Array:
        layout, pairs, cut = self.layout, self.layout.pairs, self.layout.segments
        mine, over_mu = PartitionSpec(layout.axis), layout.over_mu
        over_r = PartitionSpec() if cut is None else PartitionSpec(AXIS)
        sources = _sources(pairs)
        own = jnp.asarray(_extended(pairs.kappas.reshape(*pairs.counts, -1), pairs.rows))
        together = pairs.by_pair(pairs.kappas).reshape(pairs.counts[0], 1, -1)
        together = jnp.asarray(_extended(together, pairs.together))
        tables = _Tables(
            self.harmonics, jnp.asarray(sources.down), jnp.asarray(sources.up), together
        )
        points = (self.light.splines, jnp.moveaxis(self.light.field, 1, 0))
        if cut is not None:  # tiles that fill up the last segment are zero
            missing = cut.count * cut.tiles - len(points[0])
            points = tuple(jnp.pad(x, ((0, missing), (0, 0), (0, 0))) for x in points)
        mapped = jax.shard_map(
            self._local,
            mesh=layout.mesh,
            in_specs=(mine, mine, over_mu, over_r),
            out_specs=mine,
        )
        return (1j * self.light.scale) * mapped(psi, own, tables, points)

    def _local(self, psi, kappas, tables, points):
        layout, basis, pairs = self.layout, self.layout.basis, self.layout.pairs
        cut, tiles = layout.segments, None
        more = layout.widened(psi, pairs.rows)
        more = held(more.astype(jnp.result_type(psi, jnp.complex64)), kappas)
        a, b, d = balanced(more, kappas)
        if cut is not None:
            tiles = cut.tiles
            a, b, d = jnp.moveaxis(cut.spread(jnp.stack([a, b, d], axis=1), pairs.each + 2), 1, 0)
        same = jnp.stack([a, _partner(b)], axis=1)
        other = jnp.stack([b, _partner(d)], axis=1)
        # (tiles, rows, half, part, 3·window)
        windows = windows_of(basis, same, other, tables.kappas, tiles)
        images = self._images(windows, tables, *points)
        own = slice(pairs.together, -pairs.together)
        same, other = added_up(basis, images, tables.kappas[own], cut is None)
        a, b, d = same[:, 0], other[:, 0] + _partner(same[:, 1]), _partner(other[:, 1])
        if cut is not None:
            a, b, d = jnp.moveaxis(cut.collected(jnp.stack([a, b, d], axis=1), pairs.each), 1, 0)
        kappas = kappas[pairs.rows : -pairs.rows]
        return held(unbalanced(a, b, d, kappas), kappas)

    def _images(self, windows, tables, splines, field):
        """Of own pairs, (tiles, rows, half, part, 3·window); some tiles after others."""
        chunks = _chunks(
            len(windows), len(tables.harmonics), splines, field.shape[1], self.layout.devices
        )
        if chunks == 1:
            return _multiply(windows, splines, field, tables)
        split = [x.reshape(chunks, -1, *x.shape[1:]) for x in (windows, splines, field)]
        images = jax.lax.map(lambda parts: _multiply(*parts, tables=tables), tuple(split))
        return images.reshape(-1, *images.shape[2:])

    def scaled(self, factor: Any) -> DividedLight:
        return eqx.tree_at(lambda o: o.light, self, self.light.scaled(factor))

    def merged(self, other: Operator) -> DividedLight | None:
        if not isinstance(other, DividedLight) or other.layout != self.layout:
            return None
        both = self.light.merged(other.light)
        return None if both is None else eqx.tree_at(lambda o: o.light, self, both)

    def strength(self) -> jax.Array:
        return self.light.strength()

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        return self.light.bounds()


class _Tables(NamedTuple):
    harmonics: jax.Array  # (M + 2, 4θ, rows)
    down: jax.Array  # member of own pairs → the one with μ − 1
    up: jax.Array  # … with μ + 1
    kappas: jax.Array  # of all rows at hand


def _multiply(windows, splines, field, tables: _Tables) -> jax.Array:
    tiles = windows.shape[0]
    pairs = len(tables.harmonics)
    values = jnp.einsum("trfck,tkq->rfctq", windows, splines)
    values = values.reshape(pairs, tables.harmonics.shape[2], -1)
    spread = jnp.einsum("psk,pkc->psc", tables.harmonics, values)
    spread = spread.reshape(2 * pairs, 2, field.shape[1], 2, 2, -1)  # (members, spin, θ, …)
    field = jnp.moveaxis(field, 0, 1).reshape(field.shape[1], 1, 1, -1)
    signed = jnp.concatenate([field, -field], axis=1)  # P from Q, and Q from −P
    turned = [_taken(spread[:, 1], tables.down), _taken(spread[:, 0], tables.up)]
    turned = jnp.stack(turned, axis=1)[:, :, :, ::-1] * signed
    own = tables.harmonics[1:-1]
    turned = turned.reshape(*own.shape[:2], -1)
    images = jnp.einsum("psk,psc->pkc", own, turned)
    images = images.reshape(own.shape[0] * own.shape[2], 2, 2, tiles, -1)
    return jnp.einsum("rfctq,tkq->trfck", images, splines)


def _taken(values: jax.Array, members: jax.Array) -> jax.Array:
    """Values of other members, zero where there is none."""
    there = members < len(values)
    found = values[jnp.where(there, members, 0)]
    return jnp.where(there.reshape(-1, *(1,) * (values.ndim - 1)), found, 0)


def _partner(rows: jax.Array) -> jax.Array:
    """Rows of −κ: ±κ stand side by side."""
    return rows.reshape(-1, 2, *rows.shape[1:])[:, ::-1].reshape(rows.shape)


def _chunks(tiles: int, pairs: int, splines: jax.Array, theta: int, devices: int) -> int:
    """Into how many parts of equal length tiles are cut, so that the values of all devices together
    fit the workspace of one."""
    values = 2 * pairs * 2 * theta * 4 * tiles * splines.shape[2] * splines.dtype.itemsize
    wanted = min(tiles, round(values * devices / workspace()))
    return next(c for c in range(1, tiles + 1) if tiles % c == 0 and c >= wanted)


class _Sources(NamedTuple):
    """(A·M·2,): among the members of the pairs that a device has at hand, 2(M + 2) for none."""

    down: np.ndarray
    up: np.ndarray


def _sources(pairs: Pairs) -> _Sources:
    where = {mu: i for i, mu in enumerate(pairs.members.reshape(-1)) if mu != 0}
    none = 2 * (pairs.each + 2)
    found = []
    for step in (-1, 1):
        places = []
        for i, mu in enumerate(pairs.members.reshape(-1)):
            there = where.get(mu + step) if mu != 0 else None
            first = 2 * (i // (2 * pairs.each) * pairs.each - 1)  # of the pair before the device's
            places.append(none if there is None else there - first)
        assert max(places) <= none and min(places) >= 0
        found.append(np.asarray(places))
    return _Sources(*found)


def _extended(values: np.ndarray, rows: int) -> np.ndarray:
    """Something for each row of own pairs, (A, X, M·rows), for those of the neighbors' too."""
    padded = np.pad(values, ((1, 1), (0, 0), (0, 0)))
    before, after = padded[:-2, :, -rows:], padded[2:, :, :rows]
    return np.concatenate([before, values, after], axis=2).reshape(-1)


def _harmonics(layout: FoldedChain, lmax: int) -> np.ndarray:
    """√w a_κμ Θ and √w b_κμ Θ of each pair at hand, (A·(M + 2), 4θ, rows)."""
    pairs, basis = layout.pairs, layout.basis
    x, weights = angles(basis, lmax)
    kappas, member = pairs.by_pair(pairs.kappas), pairs.by_pair(pairs.member)
    mus = np.take_along_axis(pairs.members, member, axis=1)
    table = np.zeros((len(kappas), 2, 2, len(x), pairs.together))
    for p, (kappa, mu, which) in enumerate(zip(kappas, mus, member, strict=True)):
        used = kappa != 0
        if not used.any():
            continue
        values = spinor_table(kappa[used], mu[used], x) * np.sqrt(weights)  # (spin, rows, θ)
        for m in range(2):
            mine = which[used] == m
            table[p, m, :, :, np.nonzero(used)[0][mine]] = np.moveaxis(values[:, mine], 1, 0)
    table = table.reshape(len(kappas), -1, pairs.together)
    padded = np.pad(table, ((1, 1), (0, 0), (0, 0)))
    starts = pairs.each * np.arange(pairs.counts[0])
    return np.concatenate([padded[s : s + pairs.each + 2] for s in starts])
