"""What a state is expanded in."""

from zitter.bases.base import Basis
from zitter.bases.bsplines import ExteriorScaling, RadialBSplines
from zitter.bases.eigen import EigenBasis, read_eigenbasis
from zitter.bases.grid import Grid
from zitter.bases.levels import Levels
from zitter.bases.prolate import ProlateSpheroidal
from zitter.bases.spherical import SphericalBasis
from zitter.bases.spinor import SpinorBasis

__all__ = [
    "Basis",
    "EigenBasis",
    "ExteriorScaling",
    "Grid",
    "Levels",
    "ProlateSpheroidal",
    "RadialBSplines",
    "SphericalBasis",
    "SpinorBasis",
    "read_eigenbasis",
]
