"""Antisymmetric factors: determinants of orbitals, and what one-electron moves do to them."""

from zitter.qmc.determinants.base import Antisymmetric, Derivatives
from zitter.qmc.determinants.expansion import Determinants
from zitter.qmc.determinants.multi import MultiSlater
from zitter.qmc.determinants.slater import Slater

__all__ = ["Antisymmetric", "Derivatives", "Determinants", "MultiSlater", "Slater"]
