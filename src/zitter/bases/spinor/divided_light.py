"""α_x F(r, θ) on many devices: `light`, with channels in pairs of |μ| (`folded`).

Each device takes the coefficients of one pair from each neighbor and goes with them to (r, θ), as
with its own; up(μ) needs down(μ − 1), and down(μ) up(μ + 1). All that follows stays on the device.
Both members of a pair share a table of harmonics, with zeros where κ belongs to the other one:
twice the products of small matrices, of which there are few beside the traffic of the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter.bases.angular import spinor_table
from zitter.bases.spinor.folded import FoldedChain, Pairs
from zitter.bases.spinor.kinetic_balance import balanced, held, unbalanced
from zitter.bases.spinor.light import (
    WORKSPACE,
    SpinorLight,
    added_up,
    angles,
    windows_of,
)
from zitter.linalg.base import Operator
from zitter.linalg.layouts import placed


class DividedLight(Operator):
    """What `SpinorLight` is, for states of a `FoldedChain`."""

    light: SpinorLight  # without harmonics
    harmonics: jax.Array  # (D·(M + 2), 2·2·θ, rows): both members, spins, of own and next pairs
    layout: FoldedChain = eqx.field(static=True)

    def __init__(self, light: SpinorLight, layout: FoldedChain):
        self.layout = layout
        self.light = eqx.tree_at(lambda o: o.harmonics, light, ())
        table = _harmonics(layout, light.lmax).astype(light.splines.dtype)
        self.harmonics = placed(table, layout.sharding())

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
        layout, sources = self.layout, _sources(self.layout.pairs)
        mine, everywhere = PartitionSpec(layout.axis), PartitionSpec()
        kappas = jnp.asarray(_extended(layout.pairs, layout.devices))
        tables = (kappas, jnp.asarray(sources.down), jnp.asarray(sources.up), self.harmonics)
        mapped = jax.shard_map(
            self._local,
            mesh=layout.mesh,
            in_specs=(mine, *(mine for _ in tables), everywhere, everywhere),
            out_specs=mine,
        )
        field = jnp.moveaxis(self.light.field, 1, 0)
        image = mapped(psi, *tables, self.light.splines, field)
        return (1j * self.light.scale) * image

    def _local(self, psi, kappas, down, up, harmonics, splines, field):
        layout, basis, rows = self.layout, self.layout.basis, self.layout.pairs.rows
        below = layout.from_neighbor(-1, psi[-rows:])
        above = layout.from_neighbor(1, psi[:rows])
        more = jnp.concatenate([below, psi, above])
        more = held(more.astype(jnp.result_type(psi, jnp.complex64)), kappas)
        a, b, d = balanced(more, kappas)
        same = jnp.stack([a, _partner(b)], axis=1)
        other = jnp.stack([b, _partner(d)], axis=1)
        windows = windows_of(basis, same, other, kappas)  # (tiles, rows, half, part, 3·window)
        tables = _Tables(harmonics, down, up)
        chunks = _chunks(len(windows), len(harmonics), splines, field.shape[1], layout.devices)
        if chunks == 1:
            images = _multiply(windows, splines, field, tables)
        else:
            split = [x.reshape(chunks, -1, *x.shape[1:]) for x in (windows, splines, field)]
            images = jax.lax.map(lambda parts: _multiply(*parts, tables=tables), tuple(split))
            images = images.reshape(-1, *images.shape[2:])
        own = kappas[rows:-rows]
        same, other = added_up(basis, images, own)
        image = unbalanced(
            same[:, 0], other[:, 0] + _partner(same[:, 1]), _partner(other[:, 1]), own
        )
        return held(image, own)

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
    wanted = min(tiles, round(values * devices / WORKSPACE))
    return next(c for c in range(1, tiles + 1) if tiles % c == 0 and c >= wanted)


class _Sources(NamedTuple):
    """(D·M·2,): among the members of the pairs that a device has at hand, 2(M + 2) for none."""

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


def _extended(pairs: Pairs, devices: int) -> np.ndarray:
    """κ of the rows that each device has at hand, (D·(M + 2)·rows,)."""
    rows = pairs.kappas.reshape(-1, pairs.rows)
    padded = np.pad(rows, ((1, 1), (0, 0)))
    starts = pairs.each * np.arange(devices)
    return np.concatenate([padded[s : s + pairs.each + 2] for s in starts]).reshape(-1)


def _harmonics(layout: FoldedChain, lmax: int) -> np.ndarray:
    """√w a_κμ Θ and √w b_κμ Θ of each pair at hand, (D·(M + 2), 4θ, rows)."""
    pairs, basis = layout.pairs, layout.basis
    x, weights = angles(basis, lmax)
    kappas = pairs.kappas.reshape(-1, pairs.rows)
    member = pairs.member.reshape(kappas.shape)
    mus = np.take_along_axis(pairs.members, member, axis=1)
    table = np.zeros((len(kappas), 2, 2, len(x), pairs.rows))
    for p, (kappa, mu, which) in enumerate(zip(kappas, mus, member, strict=True)):
        used = kappa != 0
        if not used.any():
            continue
        values = spinor_table(kappa[used], mu[used], x) * np.sqrt(weights)  # (spin, rows, θ)
        for m in range(2):
            mine = which[used] == m
            table[p, m, :, :, np.nonzero(used)[0][mine]] = np.moveaxis(values[:, mine], 1, 0)
    table = table.reshape(len(kappas), -1, pairs.rows)
    padded = np.pad(table, ((1, 1), (0, 0), (0, 0)))
    starts = pairs.each * np.arange(layout.devices)
    return np.concatenate([padded[s : s + pairs.each + 2] for s in starts])
