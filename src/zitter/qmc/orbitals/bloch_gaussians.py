"""Orbitals of crystals as Bloch sums of Gaussian functions.

    φ_μk(r) = Σ_T e^{ik·T} χ_μ(r − T)    ψ_kj(r) = Σ_μ φ_μk(r) C^k_μj    ψ_k(r+T) = e^{ik·T} ψ_k(r)

Positions are brought into one cell first, ψ(r) = e^{ik·(r−r₀)} ψ(r₀), so that few images T matter.
All k share the functions of the images. What enters for ±k are Σ_T cos(k·T) χ(r₀ − T) and the same
with sines, which are left out where they vanish: at Γ and at halves of reciprocal vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import reduce_lattice
from zitter.qmc.orbitals.atomic import PARTS, rows
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis
from zitter.qmc.orbitals.gaussians import GaussianGroup
from zitter.qmc.orbitals.images import tiers
from zitter.qmc.orbitals.points import over_points, points_at_a_time
from zitter.qmc.trigonometry import cos_sin


class Tier(eqx.Module):
    """Functions of some images of equal centers, and the phases they are summed with."""

    group: GaussianGroup  # centers × images
    phases: Any  # (columns, images)


class BlochGaussians(Orbitals):
    """ψ_kj of a crystal, all orbitals of the first k, then those of the next.

    `vectors` are the lattice vectors as rows, in bohr: three, or two of a slab. `kpoints` (nk, 3)
    are absolute, in 1/bohr, and `coefficients` has an array (functions, orbitals) for each of them.
    `order` lists orbitals by their place in that sequence, where another order or fewer are wanted.
    Images of primitive functions that are below `tolerance` all over the cell are left out.
    Orbitals are real if all k are Γ and all coefficients are real, else complex.
    """

    tiers: tuple[Tier, ...]
    plain: Any  # (k, functions, 2 × orbitals), for k without sines
    paired: Any  # (k, 2 × functions, 2 × orbitals), for one of each other ±k
    real_places: Any  # (count,): where Re and Im of an orbital are found
    imaginary_places: Any
    k: Any  # (count, 3)
    vectors: Any  # reduced
    inverse: Any
    cartesian: bool = eqx.field(static=True)
    together: tuple[int, ...] = eqx.field(static=True)  # points at a time, by order
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(
        self,
        basis: GaussianBasis,
        vectors: Any,
        kpoints: Any,
        coefficients: Sequence[Any],
        order: Sequence[int] | None = None,
        tolerance: float = 1e-8,
    ):
        checks.instance("basis", basis, GaussianBasis)
        kpoints = checks.array("kpoints", kpoints, (None, 3))
        tables = _coefficients(basis, kpoints, coefficients)
        places = _order(order, sum(table.shape[1] for table in tables))
        self.cartesian = basis.cartesian
        self.count = len(places)
        self.is_complex = bool(np.any(kpoints)) or any(np.any(np.imag(t) != 0) for t in tables)
        self.k = np.repeat(kpoints, [table.shape[1] for table in tables], axis=0)[places]
        self.vectors = reduce_lattice(_lattice(vectors))
        self.inverse = np.linalg.pinv(self.vectors)  # r @ inverse are coordinates along vectors

        found = tiers(
            basis, self.vectors, self.inverse, float(checks.positive("tolerance", tolerance))
        )
        waves = _waves(kpoints @ self.vectors.T / (2 * np.pi))
        self.tiers = tuple(Tier(t.group, waves.phases(t.images @ self.inverse)) for t in found)
        # C^k for the functions of all tiers. With a center R + h in the cell instead of R, and T
        # counted from there, Σ_T e^{ik·T} χ(r − T) gets e^{ik·h}.
        spread = [
            np.concatenate(
                [(t.norms * np.exp(1j * (t.homes @ k)))[:, None] * table[t.places] for t in found]
            )
            for k, table in zip(kpoints, tables, strict=True)
        ]
        self.plain, self.paired, real, imaginary = waves.stacked(spread)
        self.real_places, self.imaginary_places = real[places], imaginary[places]
        functions = sum(tier.group.functions(basis.cartesian) for tier in self.tiers)
        self.together = tuple(points_at_a_time(parts * functions) for parts in PARTS)

    def _parts(self, r: Any, order: int, dtype: Any) -> tuple[Any, ...]:
        def evaluate(data: BlochGaussians, r: Any) -> tuple[Any, ...]:
            shift = data.vectors.T @ jnp.round(data.inverse.T @ r)
            sums = [_sums(tier, data.cartesian, r - shift, order, dtype) for tier in data.tiers]
            parts = [jnp.concatenate(part, axis=1) for part in zip(*sums, strict=True)]
            found = [data._combined(part) for part in parts]
            if not data.is_complex:
                return tuple(found)
            c, s = cos_sin(shift.T @ data.k.T, dtype)
            return tuple((c + 1j * s) * part for part in found)

        return over_points(evaluate, self, r, self.together[order])

    def _combined(self, sums: Any) -> Any:
        """Σ_μ φ_μk C^k_μj at r₀ from sums (columns, functions, …, M), as (…, M, orbitals)."""
        dtype = sums.dtype
        plain, pairs = self.plain.shape[0], self.paired.shape[0]
        joined = [
            jnp.einsum("qf...,qfn->...qn", sums[:plain], self.plain.astype(dtype)),
            jnp.einsum(
                "qf...,qfn->...qn",
                jnp.concatenate([sums[plain : plain + pairs], sums[plain + pairs :]], axis=1),
                self.paired.astype(dtype),
            ),
        ]
        flat = [part.reshape(*part.shape[:-2], -1) for part in joined if part.size]
        table = jnp.concatenate(flat, axis=-1)
        real = table[..., self.real_places]
        return real + 1j * table[..., self.imaginary_places] if self.is_complex else real

    def values(self, r, dtype=jnp.float64):
        return self._parts(r, 0, dtype)[0]

    def slopes(self, r, dtype=jnp.float64):
        return self._parts(r, 1, dtype)

    def derivatives(self, r, dtype=jnp.float64):
        kind = jnp.result_type(dtype, jnp.complex64) if self.is_complex else dtype
        return tuple(found.astype(kind) for found in self._parts(r, 2, jnp.float64))


def _sums(tier: Tier, cartesian: bool, r: Any, order: int, dtype: Any) -> list[Any]:
    """Σ_T of the functions with each column of phases: (columns, functions, …, M)."""
    phases = jnp.asarray(tier.phases, dtype)
    images = phases.shape[1]
    found = []
    for table in rows(tier.group, cartesian, r, order, dtype):
        split = table.reshape(-1, images, *table.shape[1:])
        found.append(jnp.einsum("qt,ft...->qf...", phases, split))
    return found


class _Waves(NamedTuple):
    """k-points by the sums over images they need."""

    plain: np.ndarray  # (n, d) coordinates of k without sines
    paired: np.ndarray  # (n, d) of the others, one of each ±k
    of: list[tuple[bool, int, float]]  # for each k: whether plain, its number, its sign

    def phases(self, steps: np.ndarray) -> np.ndarray:
        """cos and sin of k·T (columns, images): plain ones, then cosines, then sines of pairs."""
        plain, paired = (2 * np.pi * k @ np.round(steps).T for k in (self.plain, self.paired))
        return np.concatenate([np.cos(plain), np.cos(paired), np.sin(paired)])

    def stacked(
        self, tables: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients of plain and paired k, and where Re and Im of each orbital stand.

        (X_c ± iX_s)(A + iB) = X_c A ∓ X_s B + i(X_c B ± X_s A)
        """
        functions = tables[0].shape[0]
        blocks: dict[tuple[bool, int], list[np.ndarray]] = {}
        where = []
        for (is_plain, number, sign), table in zip(self.of, tables, strict=True):
            block = blocks.setdefault((is_plain, number), [])
            first = sum(part.shape[2] for part in block)
            where += [(is_plain, number, first + i) for i in range(table.shape[1])]
            real, imaginary = np.real(table), np.imag(table)
            cosines = np.stack([real, imaginary])
            sines = sign * np.stack([-imaginary, real])
            both = cosines if is_plain else np.concatenate([cosines, sines], axis=1)
            block.append(both)
        arrays, widths = [], []
        for is_plain, count in ((True, len(self.plain)), (False, len(self.paired))):
            height = functions if is_plain else 2 * functions
            joined = [np.concatenate(blocks[is_plain, n], axis=2) for n in range(count)]
            width = max((block.shape[2] for block in joined), default=0)
            array = np.zeros((count, height, 2, width))
            for n, block in enumerate(joined):
                array[n, :, :, : block.shape[2]] = np.moveaxis(block, 0, 1)
            arrays.append(array.reshape(count, height, 2 * width))
            widths.append(width)
        offset = arrays[0].shape[0] * arrays[0].shape[2]
        real = [
            (0 if is_plain else offset) + number * 2 * widths[not is_plain] + column
            for is_plain, number, column in where
        ]
        imaginary = [
            place + widths[not is_plain]
            for place, (is_plain, _, _) in zip(real, where, strict=True)
        ]
        return arrays[0], arrays[1], np.asarray(real, int), np.asarray(imaginary, int)


def _waves(coordinates: np.ndarray) -> _Waves:
    """k-points, by coordinates along the reciprocal vectors; those that differ by one are equal."""
    plain: list[np.ndarray] = []
    paired: list[np.ndarray] = []
    of = []
    for k in coordinates:
        kind, signs = (plain, (1.0,)) if _equal(k, -k) else (paired, (1.0, -1.0))
        known = [(i, s) for i, other in enumerate(kind) for s in signs if _equal(s * k, other)]
        number, sign = known[0] if known else (len(kind), 1.0)
        if not known:
            kind.append(k)
        of.append((kind is plain, number, sign))
    width = coordinates.shape[1]
    return _Waves(np.reshape(plain, (-1, width)), np.reshape(paired, (-1, width)), of)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    difference = a - b
    return bool(np.all(np.abs(difference - np.round(difference)) < 1e-9))


def _lattice(vectors: Any) -> np.ndarray:
    found = checks.array("vectors", vectors, (None, 3))
    if len(found) not in (2, 3) or np.linalg.matrix_rank(found) < len(found):
        raise checks.InputError(
            "vectors", f"must be two or three independent lattice vectors, but are {found.tolist()}"
        )
    return found


def _coefficients(basis: GaussianBasis, kpoints: np.ndarray, given: Any) -> list[np.ndarray]:
    if len(given) != len(kpoints):
        raise checks.InputError(
            "coefficients", f"must be one array for each of {len(kpoints)} k, but are {len(given)}"
        )
    tables = [np.asarray(table, complex) for table in given]
    for i, table in enumerate(tables):
        if table.ndim != 2 or len(table) != basis.count:
            raise checks.InputError(
                f"coefficients.{i}",
                f"must be ({basis.count} functions, orbitals), but is {table.shape}",
            )
    return tables


def _order(order: Sequence[int] | None, count: int) -> np.ndarray:
    if order is None:
        return np.arange(count)
    places = [checks.integer(f"order.{i}", n, 0, count - 1) for i, n in enumerate(order)]
    return np.asarray(places, int)
