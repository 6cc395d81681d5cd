"""Orbitals of molecules as combinations of Gaussian functions."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.orbitals import angular
from zitter.qmc.orbitals.atomic import Combinations, RadialGroup, equal_centers, placed
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis


class GaussianGroup(RadialGroup):
    """R_k = Σ_p w_kp e^{−α_p r²} for all centers at once.

    R₁ = Σ w (−2α) e^{−αr²} and Λ = (2l+3) R₁ + r² Σ w 4α² e^{−αr²}.
    Equal exponents of a center are one exponential, whatever functions they belong to.
    """

    centers: Any
    exponents: Any  # (P,)
    weights: Any  # (functions, P)
    numbers: tuple[int, ...] = eqx.field(static=True)

    def radials(self, square, order):
        dtype = square.dtype
        exponents = jnp.asarray(self.exponents, dtype)
        table = jnp.exp(-exponents[:, None, None] * square)
        weights = [self.weights, -2 * self.weights * self.exponents]
        weights.append(-2 * weights[1] * self.exponents)
        stacked = jnp.concatenate([jnp.asarray(w, dtype) for w in weights[: order + 1]])
        sums = (stacked @ table.reshape(len(exponents), -1)).reshape(-1, *square.shape)
        parts = jnp.split(sums, order + 1)
        if order == 2:
            degrees = jnp.asarray(np.repeat(np.arange(len(self.numbers)), self.numbers), dtype)
            parts[2] = (2 * degrees + 3)[:, None, None] * parts[1] + square * parts[2]
        return tuple(parts)


class Gaussians(Orbitals):
    """φ_j = Σ_μ χ_μ C_μj of the functions χ of a `GaussianBasis`.

    `coefficients` C is (functions, orbitals). In single precision values and slopes are evaluated
    in float32 from distances made in double. The Laplacian, where 4α²r² and 6α nearly cancel, is
    evaluated in double with all that comes with it and rounded at the end.
    """

    combinations: Combinations
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, basis: GaussianBasis, coefficients: Any):
        checks.instance("basis", basis, GaussianBasis)
        given = checks.array("coefficients", coefficients, (None, None))
        if len(given) != basis.count:
            raise checks.InputError(
                "coefficients",
                f"must have a row for each of the {basis.count} functions, but have {len(given)}",
            )
        groups, places, norms = grouped(basis)
        self.combinations = Combinations(groups, norms[:, None] * given[places], basis.cartesian)
        self.count = given.shape[1]
        self.is_complex = False

    def values(self, r, dtype=jnp.float64):
        return self.combinations(r, 0, dtype)[0]

    def slopes(self, r, dtype=jnp.float64):
        return self.combinations(r, 1, dtype)

    def derivatives(self, r, dtype=jnp.float64):
        return tuple(found.astype(dtype) for found in self.combinations(r, 2, jnp.float64))


def grouped(basis: GaussianBasis) -> tuple[tuple[GaussianGroup, ...], np.ndarray, np.ndarray]:
    """Groups of equal centers; for each function of theirs its place in the basis and its norm."""
    shells = basis.shells
    counts = [shell.contractions for shell in shells]
    ls = [shell.l for shell in shells]
    sizes = [n * angular.size(l, basis.cartesian) for n, l in zip(counts, ls, strict=True)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    marks = [
        (s.center, s.l, (s.exponents.tobytes(), s.coefficients.tobytes(), s.contractions))
        for s in shells
    ]
    groups, places, norms = [], [], []
    for group in equal_centers(marks):
        kinds = [shells[place] for place in group.shells[0]]
        exponents = np.unique(np.concatenate([kind.exponents for kind in kinds]))
        weights = []
        for kind in kinds:
            spread = np.zeros((kind.contractions, len(exponents)))
            where = np.searchsorted(exponents, kind.exponents)
            np.add.at(spread, (slice(None), where), kind.coefficients.T)
            weights.append(spread)
        numbers = [0] * (1 + max(kind.l for kind in kinds))
        for kind in kinds:
            numbers[kind.l] += kind.contractions
        groups.append(
            GaussianGroup(
                centers=basis.centers[group.centers],
                exponents=exponents,
                weights=np.concatenate(weights),
                numbers=tuple(numbers),
            )
        )
        there, factors = placed(group, starts, ls, counts, basis.cartesian)
        places.append(there)
        norms.append(factors)
    return tuple(groups), np.concatenate(places), np.concatenate(norms)
