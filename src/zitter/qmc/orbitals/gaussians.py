"""Orbitals of molecules as combinations of Gaussian functions."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Gaussians(AtomicOrbitals):
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
        found = grouped(basis)
        rows = [
            angular.norm(l, basis.cartesian) * given[places.reshape(-1)]
            for functions in found
            for l, places in enumerate(functions.places)
        ]
        groups = tuple(functions.group for functions in found)
        self.combinations = Combinations(groups, np.concatenate(rows), basis.cartesian)
        self.count = given.shape[1]
        self.is_complex = False


class GroupedFunctions(NamedTuple):
    """A group, and where its functions stand in the basis: for each l an array (m, k, center)."""

    group: GaussianGroup
    places: list[np.ndarray]


def grouped(basis: GaussianBasis) -> list[GroupedFunctions]:
    """The functions of a basis by groups of equal centers."""
    shells = basis.shells
    sizes = [s.contractions * angular.size(s.l, basis.cartesian) for s in shells]
    starts = np.cumsum([0, *sizes]).tolist()
    marks = [
        (s.center, s.l, (s.exponents.tobytes(), s.coefficients.tobytes(), s.contractions))
        for s in shells
    ]
    found = []
    for equal in equal_centers(marks):
        kinds = [shells[place] for place in equal.shells[0]]
        exponents = np.unique(np.concatenate([kind.exponents for kind in kinds]))
        weights = []
        for kind in kinds:
            spread = np.zeros((len(exponents), kind.contractions))
            np.add.at(spread, np.searchsorted(exponents, kind.exponents), kind.coefficients)
            weights.append(spread.T)
        counts = [kind.contractions for kind in kinds]
        places = standing(equal, starts, [kind.l for kind in kinds], counts, basis.cartesian)
        group = GaussianGroup(
            centers=basis.centers[equal.centers],
            exponents=exponents,
            weights=np.concatenate(weights),
            numbers=tuple(table.shape[1] for table in places),
        )
        found.append(GroupedFunctions(group, places))
    return found
