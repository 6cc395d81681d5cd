"""Orbitals as combinations of Slater-type functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.orbitals import angular
from zitter.qmc.orbitals.atomic import (
    AtomicOrbitals,
    Combinations,
    RadialGroup,
    equal_centers,
    standing,
)

HIGHEST_N = 7


class SlaterShell(eqx.Module):
    """Functions N r^{n−1} e^{−ζr} Y_lm of one n and l around a center, which counts from 0.

    Y_lm is real and orthonormal, N = (2ζ)^{n+½}/√((2n)!).
    """

    center: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    l: int = eqx.field(static=True)
    zeta: float = eqx.field(static=True)

    def __init__(self, center: int, n: int, l: int, zeta: float):
        self.center = checks.integer("center", center, 0)
        self.n = checks.integer("n", n, 1, HIGHEST_N)
        self.l = checks.integer("l", l, 0, min(angular.HIGHEST, n - 1))
        self.zeta = float(checks.positive("zeta", zeta))


class SlaterGroup(RadialGroup):
    """R = N r^q e^{−ζr} with q = n − l − 1.

    R₁ = R (q/r − ζ)/r and Λ = R [q(n+l)/r² − 2nζ/r + ζ²]. At the nucleus slopes have no limit.
    """

    centers: Any
    zetas: Any  # (K,)
    norms: Any  # (K,)
    n: tuple[int, ...] = eqx.field(static=True)
    numbers: tuple[int, ...] = eqx.field(static=True)

    def radials(self, square, order):
        dtype = square.dtype
        ls = np.repeat(np.arange(len(self.numbers)), self.numbers)
        q = np.asarray(self.n) - ls - 1
        r = jnp.sqrt(square)
        powers = [jnp.ones_like(r)]
        for _ in range(int(np.max(q))):
            powers.append(powers[-1] * r)
        zetas, norms, n, l, q_ = (
            jnp.asarray(x, dtype)[:, None, None] for x in (self.zetas, self.norms, self.n, ls, q)
        )
        R = norms * jnp.stack([powers[i] for i in q]) * jnp.exp(-zetas * r)
        parts = [R]
        if order > 0:
            inverse = 1 / r
            parts.append(R * (q_ * inverse - zetas) * inverse)
        if order > 1:
            inverse = 1 / r
            bracket = (q_ * (n + l) * inverse - 2 * n * zetas) * inverse + zetas**2
            parts.append(R * bracket)
        return tuple(parts)


class SlaterTypes(AtomicOrbitals):
    """φ_j = Σ_μ χ_μ C_μj of Slater-type functions χ around `centers` (n, 3), in bohr.

    Functions are counted shell after shell, in a shell by m: −l … l, but x, y, z for l = 1.
    `coefficients` C is (functions, orbitals).
    """

    combinations: Combinations
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, centers: Any, shells: Sequence[SlaterShell], coefficients: Any):
        centers = checks.array("centers", centers, (None, 3))
        checks.listed("shells", shells, SlaterShell)
        for i, shell in enumerate(shells):
            if shell.center >= len(centers):
                raise checks.InputError(
                    f"shells.{i}.center",
                    f"must be one of the {len(centers)} centers, counted from 0, "
                    f"but is {shell.center}",
                )
        starts = np.cumsum([0, *(2 * shell.l + 1 for shell in shells)]).tolist()
        given = checks.array("coefficients", coefficients, (None, None))
        if len(given) != starts[-1]:
            raise checks.InputError(
                "coefficients",
                f"must have a row for each of the {starts[-1]} functions, but have {len(given)}",
            )
        groups, rows = [], []
        for equal in equal_centers([(s.center, s.l, (s.n, s.zeta)) for s in shells]):
            kinds = [shells[place] for place in equal.shells[0]]
            places = standing(equal, starts, [s.l for s in kinds], [1] * len(kinds), False)
            groups.append(
                SlaterGroup(
                    centers=centers[equal.centers],
                    zetas=np.asarray([kind.zeta for kind in kinds]),
                    norms=np.asarray([_norm(kind) for kind in kinds]),
                    n=tuple(kind.n for kind in kinds),
                    numbers=tuple(table.shape[1] for table in places),
                )
            )
            rows += [angular.norm(l, False) * given[p.reshape(-1)] for l, p in enumerate(places)]
        self.combinations = Combinations(groups, np.concatenate(rows), False)
        self.count = given.shape[1]
        self.is_complex = False


def _norm(shell: SlaterShell) -> float:
    return (2 * shell.zeta) ** (shell.n + 0.5) / math.sqrt(math.factorial(2 * shell.n))
