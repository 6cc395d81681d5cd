"""What walkers live in, one kind of system per file."""

from zitter.qmc.systems.base import System
from zitter.qmc.systems.crystal import Crystal
from zitter.qmc.systems.electron_gas import ElectronGas
from zitter.qmc.systems.electrons import Electrons
from zitter.qmc.systems.nuclei import Nucleus
from zitter.qmc.systems.pseudopotentials import (
    GaussianSum,
    Pseudopotential,
    Radial,
    RadialTable,
)
from zitter.qmc.systems.trap import Trap

__all__ = [
    "Crystal",
    "ElectronGas",
    "Electrons",
    "GaussianSum",
    "Nucleus",
    "Pseudopotential",
    "Radial",
    "RadialTable",
    "System",
    "Trap",
]
