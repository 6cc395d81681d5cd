"""Contracted Gaussian functions around centers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from zitter import checks
from zitter.qmc.orbitals import angular


class GaussianShell(eqx.Module):
    """Functions R(r) S_lm(r) of one l around a center, R = Σ_p c_p e^{−α_p r²}.

    `center` counts from 0, `coefficients` are (primitives,), or (primitives, contractions) where
    several functions share their exponents. They hold all norms but those of S, see
    `GaussianBasis`.
    """

    center: int = eqx.field(static=True)
    l: int = eqx.field(static=True)
    exponents: Any
    coefficients: Any  # (primitives, contractions)

    def __init__(self, center: int, l: int, exponents: Any, coefficients: Any):
        self.center = checks.integer("center", center, 0)
        self.l = checks.integer("l", l, 0, angular.HIGHEST)
        self.exponents = checks.array("exponents", exponents, (None,))
        if not np.all(self.exponents > 0):
            raise checks.InputError(
                "exponents", f"must be positive, but are {np.min(self.exponents):g} and more"
            )
        given = checks.array("coefficients", coefficients)
        columns = given[:, None] if given.ndim == 1 else given
        if columns.ndim != 2 or len(columns) != len(self.exponents):
            raise checks.InputError(
                "coefficients",
                f"must be ({len(self.exponents)},) or ({len(self.exponents)}, contractions), "
                f"but are {given.shape}",
            )
        self.coefficients = columns

    @property
    def contractions(self) -> int:
        return self.coefficients.shape[1]


class GaussianBasis(eqx.Module):
    """Shells of Gaussian functions around `centers` (n, 3), in bohr.

    Functions are counted shell after shell as given, in a shell contraction after contraction, and
    in a contraction by m: −l … l, but x, y, z for l = 1. S_lm is r^l times the real orthonormal
    Y_lm. With `cartesian`, it is x^i y^j z^k with i + j + k = l in the order of i, then j,
    descending (xx, xy, xz, yy, yz, zz), times √(1/4π) for s, √(3/4π) for p and 1 from d on. This is
    PySCF's convention, with `mol._libcint_ctr_coeff(shell)` as coefficients.
    """

    centers: Any
    shells: tuple[GaussianShell, ...]
    cartesian: bool = eqx.field(static=True)

    def __init__(self, centers: Any, shells: Sequence[GaussianShell], cartesian: bool = False):
        self.centers = checks.array("centers", centers, (None, 3))
        checks.listed("shells", shells, GaussianShell)
        for i, shell in enumerate(shells):
            if shell.center >= len(self.centers):
                raise checks.InputError(
                    f"shells.{i}.center",
                    f"must be one of the {len(self.centers)} centers, counted from 0, "
                    f"but is {shell.center}",
                )
        self.shells = tuple(shells)
        self.cartesian = checks.boolean("cartesian", cartesian)

    @property
    def count(self) -> int:
        """The number of functions."""
        return sum(s.contractions * angular.size(s.l, self.cartesian) for s in self.shells)
