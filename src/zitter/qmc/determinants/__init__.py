"""Determinants of orbitals, and their inverses under one-electron moves."""

from zitter.qmc.determinants.slater import Slater

__all__ = ["Slater"]
