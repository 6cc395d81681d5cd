"""Single-particle orbitals, one kind per file."""

from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis, GaussianShell
from zitter.qmc.orbitals.gaussians import Gaussians
from zitter.qmc.orbitals.nodeless import Nodeless
from zitter.qmc.orbitals.plane_waves import PlaneWaves

__all__ = ["GaussianBasis", "GaussianShell", "Gaussians", "Nodeless", "Orbitals", "PlaneWaves"]
