"""What else is measured on the way, one estimator per file."""

from zitter.qmc.estimators.base import Estimator, Prepared
from zitter.qmc.estimators.density import Density
from zitter.qmc.estimators.dipole_moment import DipoleMoment
from zitter.qmc.estimators.forces import Forces
from zitter.qmc.estimators.momentum_density import MomentumDensity
from zitter.qmc.estimators.pair_correlation import PairCorrelation
from zitter.qmc.estimators.radial_density import RadialDensity
from zitter.qmc.estimators.structure_factor import StructureFactor

__all__ = [
    "Density",
    "DipoleMoment",
    "Estimator",
    "Forces",
    "MomentumDensity",
    "PairCorrelation",
    "Prepared",
    "RadialDensity",
    "StructureFactor",
]
