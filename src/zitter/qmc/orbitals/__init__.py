"""Single-particle orbitals, one kind per file."""

from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.blip_conversion import BlipConversion, blips_from_plane_waves, to_blips
from zitter.qmc.orbitals.blip_filters import (
    BlipFilter,
    InterpolatingFilter,
    LeastSquaresFilter,
    MatchedFilter,
)
from zitter.qmc.orbitals.blips import Blips
from zitter.qmc.orbitals.bloch_gaussians import BlochGaussians
from zitter.qmc.orbitals.cusp_corrected import CuspCorrected, cusp_corrected
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis, GaussianShell
from zitter.qmc.orbitals.gaussians import Gaussians
from zitter.qmc.orbitals.nodeless import Nodeless
from zitter.qmc.orbitals.plane_waves import PlaneWaves
from zitter.qmc.orbitals.real_parts import RealParts
from zitter.qmc.orbitals.slater_types import SlaterShell, SlaterTypes

__all__ = [
    "BlipConversion",
    "BlipFilter",
    "Blips",
    "BlochGaussians",
    "CuspCorrected",
    "GaussianBasis",
    "GaussianShell",
    "Gaussians",
    "InterpolatingFilter",
    "LeastSquaresFilter",
    "MatchedFilter",
    "Nodeless",
    "Orbitals",
    "PlaneWaves",
    "RealParts",
    "SlaterShell",
    "SlaterTypes",
    "blips_from_plane_waves",
    "cusp_corrected",
    "to_blips",
]
