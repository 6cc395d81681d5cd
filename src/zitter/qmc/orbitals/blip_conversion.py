"""Blips from orbitals of other kinds, with what the conversion costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.blip_filters import BlipFilter, LeastSquaresFilter, filtered
from zitter.qmc.orbitals.blips import Blips
from zitter.qmc.orbitals.real_parts import RealParts

BATCH = 4096  # points sampled at once
PROBES = 400  # random points at which a conversion is judged
LARGEST = 2**30  # coefficients beyond which a finer grid is not tried


def blips_from_plane_waves(
    amplitudes: Sequence[Any] | Any,
    integers: Sequence[Any] | Any,
    vectors: Any,
    k: Any = None,
    *,
    multiplicity: float = 2.0,
    grid: Sequence[int] | None = None,
    filter: BlipFilter | None = None,
    stored: str = "float64",
) -> Blips:
    """Blips of ψ_j(r) = Σ_G c_jG e^{i(k_j+G)·r}, with G = Σ_i m_i b_i of the cell's own lattice.

    `amplitudes` c (orbitals, G) belong to `integers` m (G, 3); where orbitals differ in their plane
    waves, both are lists with an entry for each orbital. `k` (orbitals, 3) is in 1/bohr. The grid
    has `multiplicity` times the points that hold these plane waves, 2⌈m⌉ + 1 along each vector,
    rounded up to a size that suits FFTs, unless `grid` names it. Orbitals without k that are real
    become real blips.
    """
    kind = _filter(filter)
    each = _waves_of_each(amplitudes, integers)
    largest = np.max([np.max(np.abs(m), axis=0) for _, m in each], axis=0)
    if grid is None:
        wanted = float(checks.positive("multiplicity", multiplicity))
        if wanted < 1:
            raise checks.InputError("multiplicity", f"must be at least 1, but is {wanted:g}")
        sizes = tuple(_fft_size(max(4, math.ceil(wanted * (2 * m + 1)))) for m in largest)
    else:
        sizes = _grid(grid)
        for axis, (n, m) in enumerate(zip(sizes, largest, strict=True)):
            if n < 2 * m + 1:
                raise checks.InputError(
                    f"grid.{axis}",
                    f"must be at least {2 * m + 1} for these plane waves, but is {n}",
                )
    coefficients = np.empty((*sizes, len(each)), np.complex128)
    for j, (c, m) in enumerate(each):
        spectrum = np.zeros(sizes, np.complex128)
        spectrum[tuple(m.T)] = c  # negative indices count from the end, as FFTs have it
        coefficients[..., j] = filtered(spectrum, kind)
    if (k is None or not np.any(k)) and _is_real(coefficients):
        return Blips(np.real(coefficients), vectors, None, stored)
    return Blips(coefficients, vectors, k, stored)


class BlipConversion(eqx.Module):
    """Blips made from other orbitals, and how far they are from them.

    `orbitals` stand for those that were given: the `blips` themselves, or real parts of them.
    Errors are root mean squares over random points, relative to that of the quantity itself, of
    the worst orbital. `last_shell` is the largest share of an orbital's norm in the outermost plane
    waves that the grid holds: what it cut off is about as much.
    """

    orbitals: Orbitals
    blips: Blips
    value_error: float
    gradient_error: float
    laplacian_error: float
    last_shell: float

    def summary(self) -> str:
        size = "×".join(map(str, self.blips.grid))
        return (
            f"{self.blips.count} orbitals as blips on {size} points: relative r.m.s. errors "
            f"{self.value_error:.1e} (values), {self.gradient_error:.1e} (gradients), "
            f"{self.laplacian_error:.1e} (Laplacians); last shell {self.last_shell:.1e} of the norm"
        )


def to_blips(
    orbitals: Orbitals,
    vectors: Any,
    k: Any = None,
    *,
    error: float = 1e-4,
    grid: Sequence[int] | None = None,
    filter: BlipFilter | None = None,
    stored: str = "float64",
    seed: int = 0,
) -> BlipConversion:
    """Blips of any Bloch orbitals, with ψ_j(r + a_i) = e^{ik_j·a_i} ψ_j(r).

    The rows of `vectors` are the a_i. u = e^{−ik·r}ψ is sampled on a grid of the cell, Fourier
    transformed and filtered. The grid is the coarsest found whose values are right to `error`,
    unless `grid` names it. Of `RealParts` the complex orbitals are converted, with their k.
    """
    checks.instance("orbitals", orbitals, Orbitals)
    if isinstance(orbitals, RealParts):
        inner = to_blips(
            orbitals.orbitals, vectors, k, error=error, grid=grid, filter=filter, stored=stored,
            seed=seed,
        )  # fmt: skip
        parts = eqx.tree_at(lambda o: o.orbitals, orbitals, inner.blips)
        return eqx.tree_at(lambda c: c.orbitals, inner, parts)
    checks.seed(seed)
    kind = _filter(filter)
    cell = checks.array("vectors", vectors, (3, 3))
    every = np.zeros((orbitals.count, 3))
    if k is not None:
        every = checks.array("k", k, (orbitals.count, 3))
    _require_bloch(orbitals, cell, every, seed)
    if grid is not None:
        return _converted(orbitals, cell, every, _grid(grid), kind, stored, seed)
    wanted = float(checks.positive("error", error))
    lengths = np.linalg.norm(cell, axis=1)
    spacing = 0.5
    while True:
        sizes = tuple(_fft_size(max(8, math.ceil(length / spacing))) for length in lengths)
        found = _converted(orbitals, cell, every, sizes, kind, stored, seed)
        if found.value_error <= wanted:
            return found
        # The law below is the best that can be hoped for: what it cannot reach is not tried.
        ideal = spacing * min(1.0, wanted / found.value_error) ** 0.25
        if max(np.prod(sizes), np.prod(lengths / ideal) / 8) * orbitals.count > LARGEST:
            raise checks.InputError(
                "error",
                f"must be at least {found.value_error:.1e}, which {found.blips.grid} points reach, "
                f"but is {wanted:g}: smoother orbitals, or a `grid`, would do",
            )
        # The error falls as h⁴ where the orbitals are smooth on the grid, slower before.
        spacing *= max(0.5, min(0.85, 0.97 * (wanted / found.value_error) ** 0.25))


def _converted(
    orbitals: Orbitals,
    vectors: np.ndarray,
    k: np.ndarray,
    sizes: tuple[int, ...],
    kind: BlipFilter,
    stored: str,
    seed: int,
) -> BlipConversion:
    fractions = np.stack(
        np.meshgrid(*(np.arange(n) / n for n in sizes), indexing="ij"), axis=-1
    ).reshape(-1, 3)
    real = not orbitals.is_complex and not np.any(k)
    values = np.empty((len(fractions), orbitals.count), np.float64 if real else np.complex128)
    for first in range(0, len(fractions), BATCH):
        r = fractions[first : first + BATCH] @ vectors
        short = BATCH - len(r) if len(fractions) > BATCH else 0  # one shape, one compilation
        found = np.asarray(_values(orbitals, jnp.asarray(np.pad(r, ((0, short), (0, 0))).T)))
        u = found[: len(r)] if real else found[: len(r)] * np.exp(-1j * (r @ k.T))
        values[first : first + len(r)] = u
    values = values.reshape(*sizes, orbitals.count)
    worst = 0.0
    for j in range(orbitals.count):
        spectrum = np.fft.fftn(values[..., j], norm="forward")
        worst = max(worst, _last_shell(spectrum))
        found = filtered(spectrum, kind)
        values[..., j] = np.real(found) if real else found
    blips = Blips(values, vectors, None if real else k, stored)
    return BlipConversion(blips, blips, *_errors(orbitals, blips, seed), worst)


@eqx.filter_jit
def _values(orbitals: Orbitals, r: Any) -> Any:
    return orbitals.values(r, jnp.float64)


@eqx.filter_jit
def _derivatives(orbitals: Orbitals, r: Any) -> Any:
    return orbitals.derivatives(r, jnp.float64)


def _last_shell(spectrum: np.ndarray) -> float:
    """The share of Σ|c|² in the plane waves of the largest |m| along any of the three vectors."""
    weights = np.abs(spectrum) ** 2
    inner = weights
    for axis, n in enumerate(weights.shape):
        order = np.abs(np.fft.fftfreq(n, 1 / n))
        inner = np.take(inner, np.flatnonzero(order < np.max(order)), axis=axis)
    return float(1 - np.sum(inner) / np.sum(weights))


def _errors(orbitals: Orbitals, blips: Blips, seed: int) -> tuple[float, float, float]:
    """Relative r.m.s. errors of value, gradient and Laplacian at random points, the worst."""
    fractions = np.random.default_rng(seed).uniform(size=(PROBES, 3))
    r = jnp.asarray((fractions @ blips.vectors).T)
    found = []
    for exact, splined in zip(_derivatives(orbitals, r), _derivatives(blips, r), strict=True):
        axes = tuple(range(exact.ndim - 1))
        miss = jnp.sqrt(jnp.mean(jnp.abs(exact - splined) ** 2, axis=axes))
        size = jnp.sqrt(jnp.mean(jnp.abs(exact) ** 2, axis=axes))
        found.append(float(jnp.max(miss / jnp.where(size > 0, size, 1))))
    return found[0], found[1], found[2]


def _require_bloch(orbitals: Orbitals, vectors: np.ndarray, k: np.ndarray, seed: int) -> None:
    """Refuse orbitals that do not have the period, or not the wave vectors, that are claimed."""
    r = np.random.default_rng(seed).uniform(size=(16, 3)) @ vectors
    moved = np.concatenate([r, *(r + vector for vector in vectors)])
    here, *elsewhere = np.split(np.asarray(_values(orbitals, jnp.asarray(moved.T))), 4)
    scale = np.sqrt(np.mean(np.abs(here) ** 2, axis=0))
    for i, (vector, there) in enumerate(zip(vectors, elsewhere, strict=True)):
        miss = np.sqrt(np.mean(np.abs(there - np.exp(1j * k @ vector) * here) ** 2, axis=0))
        if np.any(miss > 1e-5 * scale):
            j = int(np.argmax(miss / scale))
            raise checks.InputError(
                "k",
                f"must be that of each orbital, but orbital {j} changes by another factor than "
                f"e^{{ik·a}} along lattice vector {i}",
            )


def _waves_of_each(amplitudes: Any, integers: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """(c, m) of each orbital, checked."""
    for key, given in (("amplitudes", amplitudes), ("integers", integers)):
        if np.ndim(given[0] if isinstance(given, list | tuple) and given else given) == 0:
            raise checks.InputError(
                key, f"must be arrays, one for each orbital, but is {checks.shown(given)}"
            )
    shared = not isinstance(integers, list | tuple) or np.ndim(integers[0]) < 2
    count = len(amplitudes)
    if not shared and len(integers) != count:
        raise checks.InputError(
            "integers", f"must be given for {count} orbitals, but are for {len(integers)}"
        )
    each = []
    for j in range(count):
        m = checks.array("integers", integers if shared else integers[j], (None, 3))
        c = checks.array(f"amplitudes.{j}", amplitudes[j], (len(m),))
        if np.any(m != np.round(m)):
            raise checks.InputError("integers", "must be whole numbers, but are not")
        each.append((c, np.asarray(np.round(m), np.int64)))
    return each


def _is_real(coefficients: np.ndarray) -> bool:
    """Whether imaginary parts are rounding: ψ(r) real, c_{−G} = c_G*."""
    return bool(np.max(np.abs(np.imag(coefficients))) < 1e-13 * np.max(np.abs(coefficients)))


def _filter(given: BlipFilter | None) -> BlipFilter:
    return LeastSquaresFilter() if given is None else checks.instance("filter", given, BlipFilter)


def _grid(grid: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(grid, list | tuple) or len(grid) != 3:
        raise checks.InputError("grid", f"must be three numbers of points, but is {grid!r}")
    return tuple(checks.integer(f"grid.{i}", n, 4) for i, n in enumerate(grid))


def _fft_size(n: int) -> int:
    """The next even number without prime factors above 7."""
    n += n % 2
    while True:
        rest = n
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 2
