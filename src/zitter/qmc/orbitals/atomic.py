"""Functions around centers, φ = R(r) S(x, y, z), and their combinations.

With R₁ = R'/r and Λ = R'' + (2l+2) R'/r,

    ∇φ = R ∇S + S R₁ r        ∇²φ = S Λ + R ∇²S,        ∇²S = 0 for solid harmonics,

so that few radial functions serve all m and all derivatives. Centers with equal functions form a
group, whose radial functions come from one table. All arrays have the points as their last axis.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.qmc.orbitals import angular
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.points import over_points, points_at_a_time

PARTS = (1, 4, 5)  # numbers for each function: value; slopes; Laplacian


class RadialGroup(eqx.Module):
    """The radial functions of centers that have the same ones, sorted by l."""

    centers: eqx.AbstractVar[Any]  # (A, 3)
    numbers: eqx.AbstractVar[tuple[int, ...]]  # how many radial functions for each l

    @abc.abstractmethod
    def radials(self, square: Any, order: int) -> tuple[Any, ...]:
        """R at r² (A, M), with R₁ for order 1 and Λ for order 2, each (functions, A, M)."""

    def functions(self, cartesian: bool) -> int:
        """How many functions all centers have together."""
        sizes = [n * angular.size(l, cartesian) for l, n in enumerate(self.numbers)]
        return sum(sizes) * self.centers.shape[0]


class Combinations(eqx.Module):
    """Orbitals as combinations of the functions of groups."""

    groups: tuple[RadialGroup, ...]
    coefficients: Any  # (functions, orbitals), in the order of `rows`
    cartesian: bool = eqx.field(static=True)
    together: tuple[int, ...] = eqx.field(static=True)  # points at a time, by order

    def __init__(self, groups: Sequence[RadialGroup], coefficients: Any, cartesian: bool):
        self.groups = tuple(groups)
        self.coefficients = coefficients
        self.cartesian = cartesian
        functions = coefficients.shape[0]
        self.together = tuple(points_at_a_time(parts * functions) for parts in PARTS)

    def displaced(self, carry: Callable[[Any], Any]) -> Combinations:
        centers = lambda c: [group.centers for group in c.groups]  # noqa: E731
        return eqx.tree_at(centers, self, [carry(group.centers) for group in self.groups])

    def values(self, r: Any, dtype: Any) -> Any:
        """φ (…, orbitals) at r (3, …)."""
        return self._parts(r, 0, dtype)[0]

    def slopes(self, r: Any, dtype: Any) -> tuple[Any, Any]:
        """φ (…, orbitals) and ∇φ (3, …, orbitals)."""
        return self._parts(r, 1, dtype)

    def derivatives(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """φ, ∇φ and ∇²φ, made in double: in the Laplacian large terms cancel."""
        value, slope, laplacian = self._parts(r, 2, jnp.float64)
        return value.astype(dtype), slope.astype(dtype), laplacian.astype(dtype)

    def _parts(self, r: Any, order: int, dtype: Any) -> tuple[Any, ...]:
        """φ (…, orbitals) at r (3, …), with ∇φ (3, …, orbitals) for order 1 and ∇²φ for order 2."""

        def evaluate(data: Combinations, r: Any) -> Any:
            tables = [rows(group, data.cartesian, r, order, dtype) for group in data.groups]
            coefficients = data.coefficients.astype(dtype)
            return tuple(
                _products(jnp.concatenate(part), coefficients) for part in zip(*tables, strict=True)
            )

        return over_points(evaluate, self, r, self.together[order])


def _products(rows: Any, coefficients: Any) -> Any:
    """Σ_μ χ_μ(r) C_μj of rows (functions, …, M) as (…, M, orbitals)."""
    flat = rows.reshape(rows.shape[0], -1)
    found = jax.lax.dot_general(flat, coefficients, (((0,), (0,)), ((), ())))
    return found.reshape(*rows.shape[1:], -1)


def rows(group: RadialGroup, cartesian: bool, r: Any, order: int, dtype: Any) -> list[Any]:
    """Functions of a group at r (3, M), in the order of l, m, radial function and center.

    φ (functions, M), ∇φ (functions, 3, M) for order 1, ∇²φ (functions, M) for order 2.
    """
    # Far from the origin only the difference keeps its digits in single precision.
    offset = (r[:, None, :] - group.centers.T[:, :, None]).astype(dtype)
    x, y, z = offset
    radials = _made(group.radials(x * x + y * y + z * z, order))
    levels = angular.functions(len(group.numbers) - 1, cartesian, x, y, z)
    across = jnp.swapaxes(offset, 0, 1)  # (A, 3, M)
    parts: list[list[Any]] = [[] for _ in range(order + 1)]
    first = 0
    for l, number in enumerate(group.numbers):
        # Axes: m, radial function, center, (component,) point.
        S, *rest = [levels[l][:, None], *(f[first : first + number] for f in radials)]
        parts[0].append(rest[0] * S)
        if order > 0:
            slope = (rest[1] * S)[:, :, :, None] * across
            if l > 0:
                table = jnp.asarray(angular.slopes(l, cartesian), dtype)
                lower = jnp.einsum("dmn,ncp->mcdp", table, levels[l - 1])
                slope = slope + rest[0][:, :, None] * _made(lower)[:, None]
            parts[1].append(slope)
        if order > 1:
            curved = rest[2] * S
            table = angular.laplacians(l, cartesian)
            if table is not None:
                lower = jnp.tensordot(jnp.asarray(table, dtype), levels[l - 2], 1)
                curved = curved + rest[0] * _made(lower)[:, None]
            parts[2].append(curved)
        first += number
    flat = [[p.reshape(-1, *p.shape[3:]) for p in part] for part in parts]
    return [jnp.concatenate(part) for part in flat]


def _made(tables: Any) -> Any:
    """Tables that are made once and read afterwards.

    Fused into all that use them, they would be computed again and again, and take minutes to
    compile.
    """
    return jax.lax.optimization_barrier(tables)


class Grouped(NamedTuple):
    """Centers of equal shells: which ones, and the place of each of their shells in the list."""

    centers: list[int]
    shells: list[list[int]]  # of each center, sorted by l


def equal_centers(shells: Sequence[tuple[int, int, Hashable]]) -> list[Grouped]:
    """Groups of centers whose shells, given as (center, l, whatever tells them apart), are equal.

    Shells of a center are sorted by l and otherwise stay in order.
    """
    of_center: dict[int, list[int]] = {}
    for place, (center, _, _) in enumerate(shells):
        of_center.setdefault(center, []).append(place)
    groups: dict[Hashable, Grouped] = {}
    for center, places in of_center.items():
        places = sorted(places, key=lambda place: shells[place][1])
        key = tuple(shells[place][1:] for place in places)
        group = groups.setdefault(key, Grouped([], []))
        group.centers.append(center)
        group.shells.append(places)
    return list(groups.values())


def standing(
    group: Grouped, starts: Sequence[int], ls: Sequence[int], counts: Sequence[int], cartesian: bool
) -> list[np.ndarray]:
    """Where the functions of a group stand in the basis: for each l an array (m, k, center).

    The functions of a shell begin at `starts`. The shells of a center have degrees `ls` and
    `counts` radial functions k.
    """
    none = np.zeros((0, 0, len(group.centers)), int)
    found = [none] * (1 + max(ls))
    for i, (l, count) in enumerate(zip(ls, counts, strict=True)):
        first = np.asarray([starts[shells[i]] for shells in group.shells])
        steps = angular.size(l, cartesian) * np.arange(count)
        places = np.asarray(angular.places(l, cartesian))[:, None, None] + steps[:, None] + first
        found[l] = np.concatenate([found[l], places], axis=1) if found[l].size else places
    return found


class AtomicOrbitals(Orbitals):
    """Orbitals that are combinations of functions around centers, and nothing more."""

    combinations: eqx.AbstractVar[Combinations]

    def displaced(self, carry):
        return eqx.tree_at(lambda o: o.combinations, self, self.combinations.displaced(carry))

    def values(self, r, dtype=jnp.float64):
        return self.combinations.values(r, dtype)

    def slopes(self, r, dtype=jnp.float64):
        return self.combinations.slopes(r, dtype)

    def derivatives(self, r, dtype=jnp.float64):
        return self.combinations.derivatives(r, dtype)
