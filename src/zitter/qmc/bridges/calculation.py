"""A finished mean-field or CASSCF calculation, whoever wrote it."""

from __future__ import annotations

import dataclasses

import numpy as np

from zitter import checks
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis
from zitter.qmc.systems.nuclei import Nucleus

WHOLE = 1e-6  # how near to 0, 1 or 2 an occupation must be


@dataclasses.dataclass(frozen=True)
class Expansion:
    """Σ_I c_I D↑_I D↓_I; rows of `up` and `down` are the occupied orbitals of a determinant."""

    coefficients: np.ndarray  # (determinants,)
    up: np.ndarray  # (determinants, electrons)
    down: np.ndarray

    @property
    def turned(self) -> Expansion:
        """With the names of the spins exchanged."""
        return Expansion(self.coefficients, self.down, self.up)


@dataclasses.dataclass(frozen=True)
class Calculation:
    """Nuclei, functions, orbitals and who occupies them.

    Orbitals and occupations are lists over sets, one for both spins or one for each, of lists over
    k-points, one without a lattice. Cells have `vectors` (rows, in bohr), `fractions`, the k-points
    in their reciprocal vectors, and `levels`, the energies of the orbitals; `slab` is one that is
    repeated by the first two vectors alone.
    """

    name: str
    nuclei: tuple[Nucleus, ...]
    basis: GaussianBasis
    coefficients: list[list[np.ndarray]]  # (functions, orbitals)
    occupations: list[list[np.ndarray]]  # (orbitals,)
    vectors: np.ndarray | None = None
    fractions: np.ndarray | None = None
    levels: list[list[np.ndarray]] | None = None
    slab: bool = False
    expansion: Expansion | None = None


@dataclasses.dataclass(frozen=True)
class Filled:
    """Occupied orbitals of one set at one k: those of both spins first, then those of spin up."""

    coefficients: np.ndarray  # (functions, up)
    both: int

    @property
    def up(self) -> int:
        return self.coefficients.shape[1]


def filled(coefficients: np.ndarray, occupations: np.ndarray) -> Filled:
    """The occupied orbitals, whose occupations must be whole numbers."""
    whole = np.round(occupations).astype(int)
    for i in np.flatnonzero(np.abs(occupations - whole) > WHOLE):
        raise checks.InputError(
            "occupations",
            f"must be 0, 1 or 2, but orbital {i} holds {checks.as_given(occupations[i])} "
            "electrons: without smearing or averages over states they would be",
        )
    order = [*np.flatnonzero(whole == 2), *np.flatnonzero(whole == 1)]
    return Filled(coefficients[:, order], int(np.sum(whole == 2)))


def electrons(calculation: Calculation) -> tuple[int, int]:
    """(up, down) electrons at all k-points together."""
    if calculation.expansion is not None:
        return calculation.expansion.up.shape[1], calculation.expansion.down.shape[1]
    sets = [
        [filled(c, n) for c, n in zip(coefficients, occupations, strict=True)]
        for coefficients, occupations in zip(
            calculation.coefficients, calculation.occupations, strict=True
        )
    ]
    if len(sets) == 1:
        return sum(one.up for one in sets[0]), sum(one.both for one in sets[0])
    return sum(one.up for one in sets[0]), sum(one.up for one in sets[1])
