"""The parts of the local energy HΨ/Ψ, one term per file."""

from zitter.qmc.energies.base import EnergyTerm, Transitions
from zitter.qmc.energies.coulomb import CoulombEnergy
from zitter.qmc.energies.crystal import CrystalEnergy
from zitter.qmc.energies.ewald import Ewald, EwaldEnergy, madelung
from zitter.qmc.energies.external import ExternalPotential
from zitter.qmc.energies.kinetic import KineticEnergy
from zitter.qmc.energies.local import local_energies, local_energy
from zitter.qmc.energies.pseudopotential import (
    LocalPseudopotential,
    NonlocalPseudopotential,
    pseudopotential_energies,
)

__all__ = [
    "CoulombEnergy",
    "CrystalEnergy",
    "EnergyTerm",
    "Ewald",
    "EwaldEnergy",
    "ExternalPotential",
    "KineticEnergy",
    "LocalPseudopotential",
    "NonlocalPseudopotential",
    "Transitions",
    "local_energies",
    "local_energy",
    "madelung",
    "pseudopotential_energies",
]
