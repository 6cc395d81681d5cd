"""Orbitals that other programs have calculated, and published pseudopotentials."""

from zitter.qmc.bridges.potential_sets import pseudopotential
from zitter.qmc.bridges.pwscf_source import from_pwscf
from zitter.qmc.bridges.pyscf_source import from_pyscf
from zitter.qmc.bridges.trexio_source import from_trexio

__all__ = ["from_pwscf", "from_pyscf", "from_trexio", "pseudopotential"]
