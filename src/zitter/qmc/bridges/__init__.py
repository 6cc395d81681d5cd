"""Orbitals that other programs have calculated."""

from zitter.qmc.bridges.pyscf_source import from_pyscf
from zitter.qmc.bridges.trexio_source import from_trexio

__all__ = ["from_pyscf", "from_trexio"]
