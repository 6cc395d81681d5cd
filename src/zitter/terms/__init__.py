"""Physics that discretizes itself."""

from zitter.terms.absorbers import ComplexAbsorber, MaskAbsorber
from zitter.terms.base import Model, Term, discretize
from zitter.terms.kinetic import Kinetic
from zitter.terms.light import LengthGauge, VelocityGauge
from zitter.terms.potentials import Coulomb, Harmonic, Potential, Repulsion, SoftCoulomb
from zitter.terms.trajectories import (
    Breathing,
    ConstantVelocity,
    Path,
    Rigid,
    TabulatedPath,
    Trajectory,
)

__all__ = [
    "Breathing",
    "ComplexAbsorber",
    "ConstantVelocity",
    "Coulomb",
    "Harmonic",
    "Kinetic",
    "LengthGauge",
    "MaskAbsorber",
    "Model",
    "Path",
    "Potential",
    "Repulsion",
    "Rigid",
    "SoftCoulomb",
    "TabulatedPath",
    "Term",
    "Trajectory",
    "VelocityGauge",
    "discretize",
]
