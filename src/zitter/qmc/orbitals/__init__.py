"""Single-particle orbitals, one kind per file."""

from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis, GaussianShell
from zitter.qmc.orbitals.gaussians import Gaussians
from zitter.qmc.orbitals.nodeless import Nodeless
from zitter.qmc.orbitals.plane_waves import PlaneWaves

__all__ = ["GaussianBasis", "GaussianShell", "Gaussians", "Nodeless", "Orbitals", "PlaneWaves"]
from zitter.qmc.orbitals.blip_conversion import BlipConversion, blips_from_plane_waves, to_blips
from zitter.qmc.orbitals.blip_filters import (
    BlipFilter,
    InterpolatingFilter,
    LeastSquaresFilter,
    MatchedFilter,
)
from zitter.qmc.orbitals.blips import Blips

__all__ = [
    "BlipConversion",
    "BlipFilter",
    "Blips",
    "InterpolatingFilter",
    "LeastSquaresFilter",
    "MatchedFilter",
    "Nodeless",
    "Orbitals",
    "PlaneWaves",
    "blips_from_plane_waves",
    "to_blips",
]
