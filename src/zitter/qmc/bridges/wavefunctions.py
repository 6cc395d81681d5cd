"""From a finished calculation to Ψ."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from zitter import checks
from zitter.qmc.bridges import periodic
from zitter.qmc.bridges.calculation import Calculation, Expansion, electrons, filled
from zitter.qmc.bridges.folding import Folding
from zitter.qmc.determinants import Determinants
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.orbitals import Gaussians, cusp_corrected
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems import Electrons


@dataclasses.dataclass(frozen=True)
class Choices:
    """What a user may choose, as `from_pyscf` describes it."""

    cusp: bool = True
    supercell: Any = None
    twist: Any = None
    blips: Any = None
    quadrature: int = 12
    delay: int | None = None


def wavefunction(
    calculation: Calculation, jastrow: Sequence[JastrowTerm], choices: Choices
) -> SlaterJastrow:
    """Ψ of a molecule or a crystal."""
    if calculation.vectors is not None:
        return _of_crystal(calculation, jastrow, choices)
    for name in ("supercell", "twist", "blips"):
        if getattr(choices, name) is not None:
            raise checks.InputError(name, "must not be given for a molecule")
    return _of_molecule(calculation, jastrow, choices)


def _of_molecule(
    calculation: Calculation, jastrow: Sequence[JastrowTerm], choices: Choices
) -> SlaterJastrow:
    expansion = calculation.expansion
    pairs = zip(calculation.coefficients, calculation.occupations, strict=True)
    sets = [
        Gaussians(calculation.basis, c[0] if expansion else filled(c[0], n[0]).coefficients)
        for c, n in pairs
    ]
    spins, sets, is_turned = _most_up(electrons(calculation), sets)
    if expansion and is_turned:
        expansion = expansion.turned
    system = Electrons(spins, calculation.nuclei, quadrature=choices.quadrature)
    if checks.boolean("cusp", choices.cusp) and np.any(system.nuclei.bare):
        sets = [cusp_corrected(one, system.nuclei) for one in sets]
    return SlaterJastrow(system, jastrow, sets, choices.delay, _determinants(expansion))


def _of_crystal(
    calculation: Calculation, jastrow: Sequence[JastrowTerm], choices: Choices
) -> SlaterJastrow:
    folding = periodic.folding_of(calculation, choices.supercell, choices.twist)
    at_k = periodic.occupied(calculation, folding)
    counts = [(sum(one.up for one in listed), sum(one.both for one in listed)) for listed in at_k]
    here = counts[0] if len(counts) == 1 else (counts[0][0], counts[1][0])
    _require_filled(calculation, folding, sum(here))
    some = [
        listed for listed, (up, _) in zip(at_k, counts, strict=True) if up
    ]  # one spin may be all
    sets = periodic.orbitals(calculation, folding, some, choices.blips)
    spins, sets, _ = _most_up(here, sets)
    system = periodic.crystal(calculation, folding, spins, choices.quadrature)
    return SlaterJastrow(system, jastrow, sets, choices.delay)


def _require_filled(calculation: Calculation, folding: Folding, here: int) -> None:
    """A mean field fills the lowest states of all its k-points together: not the same at each."""
    per_cell = sum(electrons(calculation)) / len(np.asarray(calculation.fractions))
    expected = round(per_cell * folding.cells)
    if here != expected:
        raise checks.InputError(
            "twist",
            f"must choose k-points whose orbitals hold the {expected} electrons of the supercell, "
            f"but those of {calculation.name} hold {here}: its k-points are filled unequally, as "
            "those of metals are; another twist, or all of its k-points, would do",
        )


def _most_up(spins: tuple[int, int], sets: list[Any]) -> tuple[tuple[int, int], list[Any], bool]:
    """Spin up is the one with most electrons; a mean field may have it down."""
    if spins[0] < spins[1]:
        return (spins[1], spins[0]), sets[::-1], True
    return spins, sets, False


def _determinants(expansion: Expansion | None) -> Determinants | None:
    """One determinant is left to the faster way that such have."""
    if expansion is None or _is_lowest(expansion):
        return None
    coefficients, up, down = expansion.coefficients, expansion.up, expansion.down
    return Determinants(coefficients.tolist(), up.tolist(), down.tolist() if down.size else ())


def _is_lowest(expansion: Expansion) -> bool:
    """Whether all there is is one determinant of the first orbitals."""
    rows = (expansion.up, expansion.down)
    lowest = all(np.array_equal(row, [np.arange(row.shape[1])]) for row in rows)
    return len(expansion.coefficients) == 1 and lowest
