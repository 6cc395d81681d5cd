"""α_x F(r, θ) on spinors without a matrix: the light of the time-dependent Dirac equation.

The field does not depend on φ and σ_x turns spin over, so it couples only the up component of
channels μ = m + ½ with the down component of channels μ = m − ½ in the other half of the spinor. A
product is two steps and their transposes, each a batched product of small real matrices with
both parts of ψ as columns:

    coefficients ─ splines ─▶ P, Q at radial points ─ harmonics ─▶ four components at (r, θ)
    × F(r, θ), spin and halves exchanged, and back the same way.

Gauss–Legendre points in r (degree + 1 for each interval, as in the matrix elements) and in cos θ
(exact for the truncated field) make it equal to the assembled matrix to rounding. In matrix form it
is i times a real antisymmetric matrix; nothing that grows as (channels)² is stored.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.bases.angular import spinor_table
from zitter.bases.spinor.kinetic_balance import balanced, doublets, held, unbalanced
from zitter.linalg.base import Operator, keeps_hermitian, real_like, total

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis
    from zitter.linalg.layouts import Layout

TILE = 8  # intervals that share one product of splines
WORKSPACE = 2**30  # bytes of the values at (r, θ) that are held at a time
CACHED = 2**24  # the same on a CPU, whose caches hold them: half the time, and less memory
CLASSES = 8  # of |μ|, each with its own length of the κ axis


class SpinorLight(Operator):
    """i(P†F σ_x Q − Q†F σ_x P); `field` F = c·A at the points `points(basis, lmax)`."""

    field: jax.Array  # (θ, tiles, points), real
    scale: jax.Array  # a number that multiplies it all
    splines: jax.Array  # (tiles, 3·window, points): u, u′/2c and −u/2cr, times √weight
    harmonics: tuple[jax.Array, ...]  # (μ, 2θ, κ) for each segment of neighboring μ, times √weight
    basis: SpinorBasis = eqx.field(static=True)
    lmax: int = eqx.field(static=True)

    def __init__(self, basis: SpinorBasis, lmax: int):
        """The operator for fields with Legendre components up to `lmax`; F = 0 at first."""
        self.basis, self.lmax = basis, lmax
        layout = _layout(basis)
        with jax.ensure_compile_time_eval():
            self.splines = jnp.asarray(_spline_tiles(basis))
            self.harmonics = tuple(jnp.asarray(h) for h in _harmonics(basis, lmax))
        self.field = jnp.zeros((angles(basis, lmax)[0].size, layout.tiles, self.splines.shape[2]))
        self.scale = jnp.ones(())

    def with_field(self, values: Any) -> SpinorLight:
        """The same with F given at (θ, r), in the order of `points`."""
        values = jnp.asarray(values, self.splines.dtype).reshape(self.field.shape)
        return eqx.tree_at(lambda o: o.field, self, values)

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """r, (tiles, points), and cos θ at which F is given as (θ, tiles, points)."""
        return points(self.basis, self.lmax)

    @property
    def c(self) -> float:
        """The speed of light."""
        return self.basis.c

    @property
    def reach(self) -> float:
        """The radius up to which there is room for electrons."""
        return self.basis.radial.rmax

    @property
    def shape(self) -> tuple[int, ...]:
        return self.basis.shape

    @property
    def hermitian(self) -> bool:
        return keeps_hermitian(self.scale)

    @property
    def dtype(self) -> Any:
        return jnp.result_type(self.field, jnp.complex64)

    def apply(self, psi: jax.Array) -> jax.Array:
        layout = _layout(self.basis)
        windows = _windows(self.basis, psi)  # (tiles, rows, half, part, 3·window)
        parts = (windows, self.splines, jnp.moveaxis(self.field, 1, 0))
        if layout.chunks == 1:
            images = self._multiply(parts)
        else:
            sizes = (layout.chunks, layout.tiles // layout.chunks)
            split = jax.tree.map(lambda x: x.reshape(*sizes, *x.shape[1:]), parts)
            images = jax.lax.map(self._multiply, split).reshape(windows.shape)
        return (1j * self.scale) * _collected(self.basis, images)

    def _multiply(self, parts: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        windows, splines, field = parts
        tiles, rows = windows.shape[:2]
        values = jnp.einsum("trfck,tkq->rfctq", windows, splines).reshape(rows, -1)
        spread, start = [], 0
        for table in self.harmonics:
            stop = start + table.shape[0] * table.shape[2]
            segment = values[start:stop].reshape(table.shape[0], table.shape[2], -1)
            components = jnp.einsum("msk,mkc->msc", table, segment)
            spread.append(components.reshape(len(table), 2, -1, 2, 2, tiles * splines.shape[2]))
            start = stop
        field = jnp.moveaxis(field, 0, 1).reshape(field.shape[1], 1, 1, -1)
        signed = jnp.concatenate([field, -field], axis=1)  # P from Q, and Q from −P
        back = []
        for table, turned in zip(self.harmonics, _turned(spread, signed), strict=True):
            images = jnp.einsum("msk,msc->mkc", table, turned.reshape(*table.shape[:2], -1))
            back.append(images.reshape(-1, images.shape[2]))
        images = jnp.concatenate(back) if len(back) > 1 else back[0]
        images = images.reshape(rows, 2, 2, tiles, -1)
        return jnp.einsum("rfctq,tkq->trfck", images, splines)

    def divided(self, layout: Layout) -> Operator:
        from zitter.bases.spinor.divided_light import DividedLight
        from zitter.bases.spinor.folded import FoldedChain

        if not isinstance(layout, FoldedChain):
            return super().divided(layout)
        return DividedLight(self, layout)

    def scaled(self, factor: Any) -> SpinorLight:
        return eqx.tree_at(lambda o: o.scale, self, self.scale * real_like(factor, self.scale))

    def merged(self, other: Operator) -> SpinorLight | None:
        if not isinstance(other, SpinorLight) or other.basis != self.basis:
            return None
        if other.lmax != self.lmax or not (self.hermitian and other.hermitian):
            return None
        sum_of_both = self.scale * self.field + other.scale * other.field
        return eqx.tree_at(
            lambda o: (o.field, o.scale), self, (sum_of_both, jnp.ones_like(self.scale))
        )

    def strength(self) -> jax.Array:
        """max|F|, the largest |⟨ψ|α_x F|ψ⟩|/⟨ψ|ψ⟩."""
        return jnp.max(jnp.abs(self.scale * self.field))

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """± max|F| times Gershgorin's bound of S, since coefficients are not orthonormal."""
        overlap = self.basis.overlap_matrices(self.field.dtype)
        reach = self.strength() * jnp.max(jnp.sum(jnp.abs(overlap), axis=1))
        return -reach, reach


def angles(basis: SpinorBasis, lmax: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights in cos θ: exact for two spinors times P_l, l ≤ lmax."""
    return np.polynomial.legendre.leggauss(basis.kappa_max + lmax // 2 + 1)


def points(basis: SpinorBasis, lmax: int) -> tuple[np.ndarray, np.ndarray]:
    """r, (tiles, points), and cos θ at which a field is given as (θ, tiles, points)."""
    layout, d = _layout(basis), _doublets(basis)
    extra = ((0, layout.tiles * layout.tile - len(d.r)), (0, 0))
    # Intervals that fill up the last tile have no weight.
    r = np.pad(d.r, extra, constant_values=basis.radial.rmax)
    return r.reshape(layout.tiles, -1), angles(basis, lmax)[0]


class _Layout(NamedTuple):
    """How channels and intervals are arranged for the products."""

    upper: np.ndarray  # row → channel with P; the number of channels where there is none
    lower: np.ndarray  # row → channel (−κ, μ) with Q
    kappas: np.ndarray  # row → κ of the spinor X_κμ
    upper_place: np.ndarray  # channel → row
    lower_place: np.ndarray
    segments: tuple[tuple[int, int, int], ...]  # (first μ, last μ + 1, smallest |κ|)
    tile: int
    tiles: int
    chunks: int


def workspace() -> int:
    """Bytes of the values at (r, θ) that are held at a time on the device in use."""
    return CACHED if runtime.on_host() else WORKSPACE


def _layout(basis: SpinorBasis) -> _Layout:
    return _layout_within(basis, workspace())


@functools.lru_cache(maxsize=16)
def _layout_within(basis: SpinorBasis, most_bytes: int) -> _Layout:
    most = round(basis.mu_max + 0.5)
    orders = np.arange(-most, most)  # μ − ½
    smallest = np.maximum(orders + 1, -orders)  # least |κ| with this μ
    count = max(1, min(CLASSES, most))
    classes = (smallest - 1) * count // most
    edges = [0, *(np.nonzero(np.diff(classes))[0] + 1), len(orders)]
    segments = tuple(
        (int(a), int(b), int(smallest[a:b].min())) for a, b in itertools.pairwise(edges)
    )
    place = {(k, m): i for i, (k, m) in enumerate(zip(basis.kappas, basis.mus, strict=True))}
    rows = [
        (kappa, orders[m] + 0.5)
        for a, b, first in segments
        for m in range(a, b)
        for kappa in basis.distinct_kappas[2 * (first - 1) :]
    ]
    none = len(place)
    upper = np.asarray([place.get((k, m), none) for k, m in rows])
    lower = np.asarray([place.get((-k, m), none) for k, m in rows])
    upper_place, lower_place = np.zeros(none, int), np.zeros(none, int)
    upper_place[upper[upper < none]] = np.nonzero(upper < none)[0]
    lower_place[lower[lower < none]] = np.nonzero(lower < none)[0]
    degree, between = basis.radial.degree, intervals(basis)
    tiles = -(-between // TILE)
    values = 4 * 2 * 8 * len(orders) * (basis.kappa_max + 8) * between * (degree + 1)
    each = -(-tiles // max(1, min(tiles, round(values / most_bytes))))  # tiles of a chunk
    chunks = -(-tiles // each)
    tiles = chunks * each
    kappas = np.asarray([k for k, _ in rows], float)
    return _Layout(upper, lower, kappas, upper_place, lower_place, segments, TILE, tiles, chunks)


def _doublets(basis: SpinorBasis):
    return doublets(basis.radial, basis.c, basis.radial.degree + 1)


def _spline_tiles(basis: SpinorBasis) -> np.ndarray:
    """P = A (same, other, κ·other), and Q the same with halves and the sign of κ exchanged."""
    layout, d = _layout(basis), _doublets(basis)
    width = layout.tile + basis.radial.degree
    kinds = np.sqrt(d.weights)[..., None] * d.kinds
    table = np.zeros((layout.tiles, 3, width, layout.tile, d.r.shape[1]))
    for j in range(len(d.r)):
        tile, place = divmod(j, layout.tile)
        for kind, values in enumerate(kinds):
            span = slice(place, place + values.shape[2])
            table[tile, kind, span, place] = values[j].T
    return table.reshape(layout.tiles, 3 * width, -1)


def _harmonics(basis: SpinorBasis, lmax: int) -> list[np.ndarray]:
    """√w a_κμ Θ and √w b_κμ Θ of each segment, (μ, 2θ, κ)."""
    x, weights = angles(basis, lmax)
    most = round(basis.mu_max + 0.5)
    tables = []
    for a, b, first in _layout(basis).segments:
        kappas = basis.distinct_kappas[2 * (first - 1) :]
        mus = np.arange(a - most, b - most) + 0.5
        grid = [axis.reshape(-1) for axis in np.meshgrid(mus, kappas, indexing="ij")]
        table = spinor_table(grid[1], grid[0], x) * np.sqrt(weights)
        table = table * (np.abs(grid[1]) > np.abs(grid[0]))[:, None]
        table = table.reshape(2, len(mus), len(kappas), len(x))
        tables.append(
            np.moveaxis(table, (1, 0, 3, 2), (0, 1, 2, 3)).reshape(len(mus), -1, len(kappas))
        )
    return tables


def _windows(basis: SpinorBasis, psi: jax.Array) -> jax.Array:
    """(tiles, rows, half, part, 3·window): what the splines of each tile multiply."""
    layout = _layout(basis)
    psi = held(jnp.asarray(psi, jnp.result_type(psi, jnp.complex64)), basis.kappas)
    a, b, d = (jnp.pad(part, ((0, 1), (0, 0))) for part in balanced(psi, basis.kappas))
    same = jnp.stack([a[layout.upper], b[layout.lower]], axis=1)
    other = jnp.stack([b[layout.upper], d[layout.lower]], axis=1)
    return windows_of(basis, same, other, layout.kappas)


def intervals(basis: SpinorBasis) -> int:
    """Of r, between knots."""
    return len(_doublets(basis).r)


def tiling(basis: SpinorBasis) -> tuple[int, int, int]:
    """Intervals of a tile, tiles, and tiles whose width splines reach over the end of one."""
    layout = _layout(basis)
    return layout.tile, layout.tiles, -(-basis.radial.degree // layout.tile)


def windows_of(
    basis: SpinorBasis, same: jax.Array, other: jax.Array, kappas: Any, tiles: int | None = None
) -> jax.Array:
    """Windows of rows (rows, half, n) with these κ, whose P and Q have the coefficients `same` of
    u, and `other` of the derivatives; or of a segment (`segments`) with so many tiles."""
    n, degree = basis.radial.n, basis.radial.degree
    tile, all_tiles, more = tiling(basis)
    whole, tiles = tiles is None, all_tiles if tiles is None else tiles
    kappa = jnp.asarray(kappas, jnp.finfo(same.dtype).dtype)[:, None, None]
    kinds = jnp.stack([same, other, kappa * other], axis=2)  # (rows, half, kind, n)
    parts = jnp.stack([jnp.real(kinds), jnp.imag(kinds)], axis=2)  # (rows, half, part, kind, n)
    if whole:
        parts = jnp.pad(parts, ((0, 0),) * 4 + ((1, (tiles + more) * tile - n - 1),))
    blocks = parts.reshape(*parts.shape[:4], tiles + more, tile)
    windows = jnp.concatenate(
        [
            blocks[..., s : s + tiles, : min(tile, tile + degree - s * tile)]
            for s in range(more + 1)
        ],
        axis=-1,
    )
    windows = jnp.moveaxis(windows, 4, 0)  # (tiles, rows, half, part, kind, window)
    return windows.reshape(*windows.shape[:4], -1)


def _turned(segments: list[jax.Array], field: jax.Array) -> list[jax.Array]:
    """F σ_x with the halves exchanged: up(μ) from down(μ − 1), down(μ) from up(μ + 1).

    Segments are (μ, spin, θ, half, part, r); each is made in one pass over memory.
    """
    nothing = jnp.zeros_like(segments[0][:1, 0])
    turned = []
    for i, own in enumerate(segments):
        before = segments[i - 1][-1:, 1] if i > 0 else nothing
        after = segments[i + 1][:1, 0] if i + 1 < len(segments) else nothing
        up = jnp.concatenate([before, own[:-1, 1]])
        down = jnp.concatenate([own[1:, 0], after])
        turned.append(jnp.stack([up, down], axis=1)[:, :, :, ::-1] * field)
    return turned


def _collected(basis: SpinorBasis, images: jax.Array) -> jax.Array:
    """The transpose of `_windows`: windows added up, and rows returned to channels."""
    layout = _layout(basis)
    same, other = added_up(basis, images, layout.kappas)
    image = unbalanced(
        same[layout.upper_place, 0],
        other[layout.upper_place, 0] + same[layout.lower_place, 1],
        other[layout.lower_place, 1],
        basis.kappas,
    )
    return held(image, basis.kappas)


def added_up(
    basis: SpinorBasis, images: jax.Array, kappas: Any, whole: bool = True
) -> tuple[jax.Array, jax.Array]:
    """The transpose of `windows_of`, for the whole line or for a segment."""
    n, degree = basis.radial.n, basis.radial.degree
    tile, _, more = tiling(basis)
    width = tile + degree
    images = images.reshape(*images.shape[:4], 3, width)
    images = jnp.moveaxis(images, 0, 4)  # (rows, half, part, kind, tiles, window)
    pieces = []
    for s in range(more + 1):
        piece = images[..., s * tile : min(width, (s + 1) * tile)]
        gap = ((0, 0),) * 4 + ((s, more - s), (0, tile - piece.shape[-1]))
        pieces.append(jnp.pad(piece, gap))
    flat = total(pieces).reshape(*images.shape[:4], -1)
    flat = flat[..., 1 : n + 1] if whole else flat
    kinds = jax.lax.complex(flat[:, :, 0], flat[:, :, 1])  # (rows, half, kind, n)
    kappa = jnp.asarray(kappas, flat.dtype)[:, None, None]
    return kinds[:, :, 0], kinds[:, :, 1] + kappa * kinds[:, :, 2]
