"""Ψ from TREXIO files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zitter import checks
from zitter.qmc.bridges import trexio_records
from zitter.qmc.bridges.potentials import agreed
from zitter.qmc.bridges.wavefunctions import Choices, wavefunction
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems.pseudopotentials import Pseudopotential


def from_trexio(
    file: Any,
    jastrow: Sequence[JastrowTerm] = (),
    cusp: bool = True,
    pseudopotentials: str | Mapping[str, str | Pseudopotential] | None = None,
    smallest: float = 1e-4,
    quadrature: int = 12,
    delay: int | None = None,
) -> SlaterJastrow:
    """Ψ with the orbitals of a TREXIO file and a Jastrow factor; `psi.system` goes with it.

    `file` is of the HDF5 back end and of a molecule, with a basis of Gaussian functions. Its
    determinants are taken where it has some, those with coefficients from `smallest` on; else its
    occupied orbitals make one, the first ones if it does not say which. The other options are those
    of `from_pyscf`.

        psi = zt.qmc.from_trexio("co.trexio.h5", jastrow=[zt.qmc.U(order=8)])
    """
    calculation = trexio_records.calculation(checks.path("file", file), smallest)
    choices = Choices(cusp, quadrature=quadrature, delay=delay)
    return wavefunction(agreed(calculation, pseudopotentials), jastrow, choices)
