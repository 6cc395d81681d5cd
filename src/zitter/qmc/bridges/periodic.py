"""Cells: orbitals at k-points as orbitals of a supercell, real ones where they can be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.keywords import caller
from zitter.qmc.bridges.calculation import Calculation, Filled, filled
from zitter.qmc.bridges.folding import Folding, folded, is_real, translations, wrapped
from zitter.qmc.bridges.real_orbitals import Bloch, Parts, real_parts
from zitter.qmc.orbitals import BlochGaussians, Orbitals, RealParts, to_blips
from zitter.qmc.systems import Crystal, Nucleus

DEGENERATE = 1e-4  # hartree
WORST = 0.1  # error of values that may be asked of blips
POOR = 1e-2  # error of values above which blips are warned of


def folding_of(calculation: Calculation, supercell: Any, twist: Any) -> Folding:
    """The supercell, its twist and the k-points it is made of."""
    if calculation.expansion is not None:
        raise checks.InputError(
            "file", "must hold one determinant for a cell, but holds the CI vector of a CASSCF"
        )
    found = folded(np.asarray(calculation.fractions), supercell, twist)
    if calculation.slab and not np.array_equal(found.supercell[2], [0, 0, 1]):
        raise checks.InputError("supercell", "must not repeat a slab along its third vector")
    return found


def crystal(
    calculation: Calculation, folding: Folding, spins: tuple[int, int], quadrature: int
) -> Crystal:
    """The supercell with all its nuclei; two vectors and two twists make a slab."""
    vectors = np.asarray(calculation.vectors)
    nuclei = [
        Nucleus(None if n.pseudopotential else n.Z, n.position + shift, n.symbol, n.pseudopotential)
        for shift in translations(folding.supercell) @ vectors
        for n in calculation.nuclei
    ]
    d = 2 if calculation.slab else 3
    large = (folding.supercell @ vectors)[:d].tolist()
    twist = folding.twist[:d].tolist()
    return Crystal(large, nuclei, spins, twist, folding.cells, quadrature=quadrature)


def occupied(calculation: Calculation, folding: Folding) -> list[list[Filled]]:
    """[set][k] of occupied orbitals at the k-points of the supercell."""
    fractions = np.asarray(calculation.fractions)
    for levels, occupations in zip(
        calculation.levels or [], calculation.occupations, strict=bool(calculation.levels)
    ):
        for k in folding.chosen:
            _warn_of_open_shells(levels[k], occupations[k], fractions[k])
    return [
        [filled(coefficients[k], occupations[k]) for k in folding.chosen]
        for coefficients, occupations in zip(
            calculation.coefficients, calculation.occupations, strict=True
        )
    ]


def orbitals(
    calculation: Calculation, folding: Folding, sets: list[list[Filled]], blips: Any = None
) -> list[Orbitals]:
    """Orbitals of each set, those of both spins first; real ones if all sets can be.

    `blips` is a grid, or the error of values up to which a grid is refined.
    """
    fractions = [np.asarray(calculation.fractions)[k] for k in folding.chosen]
    blocks = [_alike(one, fractions) for one in sets]
    if is_real(folding.twist):
        real = [[real_parts(block) for block in of_set] for of_set in blocks]
        if all(parts is not None for of_set in real for parts in of_set):
            chosen = [[one for parts in of_set for one in parts or []] for of_set in real]
            return [_real(calculation, listed, blips) for listed in chosen]
    joined = [[one for block in of_set for one in block] for of_set in blocks]
    return [_bloch(calculation, listed, blips) for listed in joined]


def _alike(filled_at: list[Filled], fractions: list[np.ndarray]) -> list[list[Bloch]]:
    """Orbitals that both spins fill, then those that one fills, each at all k-points."""
    pairs = list(zip(filled_at, fractions, strict=True))
    both = [Bloch(f, one.coefficients[:, : one.both]) for one, f in pairs]
    up = [Bloch(f, one.coefficients[:, one.both :]) for one, f in pairs]
    return [both, up]


def _real(calculation: Calculation, listed: list[Parts], blips: Any) -> Orbitals:
    """Re ψ of orbitals that are real at their k, Re ψ and Im ψ of all others."""
    found = _bloch(calculation, listed, blips)
    if not found.is_complex:
        return found
    both = [one.both for one in listed for _ in range(one.coefficients.shape[1])]
    chosen = [(j, part) for j, two in enumerate(both) for part in (range(2) if two else (0,))]
    return RealParts(found, chosen)


def _bloch(calculation: Calculation, listed: Sequence[Bloch | Parts], blips: Any) -> Orbitals:
    vectors = np.asarray(calculation.vectors)
    reciprocal = 2 * np.pi * np.linalg.inv(vectors).T
    listed = [one for one in listed if one.coefficients.shape[1]]
    k = np.asarray([wrapped(one.fractions) @ reciprocal for one in listed])
    coefficients = [one.coefficients for one in listed]
    slab = calculation.slab
    found = BlochGaussians(calculation.basis, vectors[:2] if slab else vectors, k, coefficients)
    if blips is None:
        return found
    if slab:  # blips repeat along the third vector as well
        repeated = BlochGaussians(calculation.basis, vectors, k, coefficients)
        _require_vacuum(calculation, found, repeated)
        found = repeated
    if isinstance(blips, list | tuple):
        made = to_blips(found, vectors, found.k, grid=blips)
    elif isinstance(blips, int) or not float(checks.positive("blips", blips)) < WORST:
        raise checks.InputError(
            "blips",
            f"must be three numbers of points, or an error below {WORST:g}, but is {blips!r}",
        )
    else:
        made = to_blips(found, vectors, found.k, error=blips)
    if made.value_error > POOR:
        warnings.warn(f"the grid of blips is coarse: {made.summary()}", stacklevel=caller())
    return made.blips


def _require_vacuum(
    calculation: Calculation, slab: BlochGaussians, repeated: BlochGaussians
) -> None:
    """Half-way to its image a slab's orbitals must have vanished, since blips have both."""
    vectors, fractions = np.asarray(calculation.vectors), np.random.default_rng(0).random((200, 3))
    inverse = np.linalg.inv(vectors)
    middle = np.mean([np.asarray(n.position) @ inverse for n in calculation.nuclei], axis=0)[2]
    fractions[:, 2] += middle - 0.5
    r = jnp.asarray((fractions @ vectors).T)
    one, other = np.asarray(slab.values(r)), np.asarray(repeated.values(r))
    apart = np.max(np.abs(other - one)) / math.sqrt(np.mean(np.abs(one) ** 2))
    if apart > POOR:
        raise checks.InputError(
            "blips",
            "must not be asked for where orbitals of a slab reach its image along the third "
            f"vector, but there they change by {apart:.1g} of their mean size: take a longer third "
            "vector for the calculation, or do without blips",
        )


def _warn_of_open_shells(
    levels: np.ndarray, occupations: np.ndarray, fractions: np.ndarray
) -> None:
    """Say where degenerate orbitals are filled in part: which of them is an accident."""
    for least in (0.5, 1.5):
        full, empty = levels[occupations > least], levels[occupations <= least]
        if len(full) and len(empty) and np.min(empty) - np.max(full) < DEGENERATE:
            place = ", ".join(f"{x:g}" for x in np.round(wrapped(fractions), 6))
            warnings.warn(
                f"degenerate orbitals at k = ({place}) are filled in part: Ψ depends on which of "
                "them the file has; another twist would do",
                stacklevel=caller(),
            )
            return
