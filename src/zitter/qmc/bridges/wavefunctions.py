"""From a finished calculation to Ψ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zitter import checks
from zitter.qmc.bridges.calculation import Calculation, Expansion, electrons, filled
from zitter.qmc.determinants import Determinants
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.orbitals import Gaussians
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems import Electrons


def wavefunction(
    calculation: Calculation, jastrow: Sequence[JastrowTerm] = (), delay: int | None = None
) -> SlaterJastrow:
    """Ψ of a molecule."""
    if calculation.vectors is not None:
        raise checks.InputError("file", "must be of a molecule, but is of a cell")
    spins = electrons(calculation)
    expansion = calculation.expansion
    sets = [
        Gaussians(
            calculation.basis,
            filled(coefficients[0], occupations[0]).coefficients
            if expansion is None
            else coefficients[0],
        )
        for coefficients, occupations in zip(
            calculation.coefficients, calculation.occupations, strict=True
        )
    ]
    if spins[0] < spins[1]:  # a mean field may have its minority spin up
        spins, sets = spins[::-1], sets[::-1]
        expansion = None if expansion is None else expansion.turned
    system = Electrons(spins, calculation.nuclei)
    return SlaterJastrow(system, jastrow, sets, delay, _determinants(expansion))


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
