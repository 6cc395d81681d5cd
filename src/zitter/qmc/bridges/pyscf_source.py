"""Ψ from PySCF."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from zitter import data_files
from zitter.qmc.bridges import chkfiles, pyscf_records
from zitter.qmc.bridges.potentials import agreed
from zitter.qmc.bridges.wavefunctions import Choices, wavefunction
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems.pseudopotentials import Pseudopotential


def from_pyscf(
    file: Any,
    jastrow: Sequence[JastrowTerm] = (),
    cusp: bool = True,
    pseudopotentials: str | Mapping[str, str | Pseudopotential] | None = None,
    smallest: float = 1e-4,
    supercell: Sequence[Any] | None = None,
    twist: Sequence[float] | None = None,
    blips: Sequence[int] | float | None = None,
    quadrature: int = 12,
    delay: int | None = None,
) -> SlaterJastrow:
    """Ψ with the orbitals of a PySCF calculation and a Jastrow factor; `psi.system` goes with it.

    `file` is a chkfile, which is read without PySCF, or an object that has run: RHF, ROHF, UHF, or
    a density functional's RKS, ROKS, UKS, whose occupied orbitals make the determinants, or CASSCF
    with its CI vector (`mc.chk_ci = True` puts it into chkfiles), of which determinants with
    coefficients from `smallest` on are kept.

    Orbitals of molecules get the right `cusp` at nuclei without a pseudopotential.

    Of a cell KRHF, KROHF, KUHF and density functionals at a mesh of k-points make orbitals of the
    supercell n1 × n2 × n3, at the mesh's offset; energies are per primitive cell. `supercell`,
    three numbers or 3 × 3 of them, and `twist`, in its reciprocal vectors, choose among more
    k-points. Orbitals are real where −k comes with each k. `blips` replaces them by splines, on a
    grid of the primitive cell or with an error of values up to a number.

    Pseudopotentials are those that the orbitals were made with; `pseudopotentials` says what they
    must be, a name for all elements or `{"C": "ccecp", "H": "none"}`, or puts a `Pseudopotential`
    of the same charge in place of one. They integrate over angles with `quadrature` points.

        psi = zt.qmc.from_pyscf("h2.chk", jastrow=[zt.qmc.U(order=8)])
    """
    tables = chkfiles.tables(file)
    blamed: Any = contextlib.nullcontext()
    if isinstance(file, str | os.PathLike):
        blamed = data_files.reading(file, "a chkfile of PySCF")
    with blamed:
        calculation = pyscf_records.calculation(tables, smallest)
    choices = Choices(cusp, supercell, twist, blips, quadrature, delay)
    return wavefunction(agreed(calculation, pseudopotentials), jastrow, choices)
