"""From a finished calculation to Ψ."""

from __future__ import annotations

from collections.abc import Sequence

from zitter import checks
from zitter.qmc.bridges.calculation import Calculation, electrons, filled
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.orbitals.gaussians import Gaussians
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems import Electrons


def wavefunction(
    calculation: Calculation,
    jastrow: Sequence[JastrowTerm] = (),
    delay: int | None = None,
) -> SlaterJastrow:
    """Ψ of a molecule."""
    if calculation.vectors is not None or calculation.expansion is not None:
        raise checks.InputError("file", "must be of a molecule with one determinant, but is not")
    spins = electrons(calculation)
    sets = [
        Gaussians(calculation.basis, filled(coefficients[0], occupations[0]).coefficients)
        for coefficients, occupations in zip(
            calculation.coefficients, calculation.occupations, strict=True
        )
    ]
    if spins[0] < spins[1]:  # a mean field may have its minority spin up
        spins, sets = spins[::-1], sets[::-1]
    system = Electrons(spins, calculation.nuclei)
    return SlaterJastrow(system, jastrow, sets, delay)
