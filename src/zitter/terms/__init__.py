"""Physics that discretizes itself."""

from zitter.terms.absorbers import ComplexAbsorber, MaskAbsorber
from zitter.terms.atoms import FieldFree, GarveyJackmanGreen, Marinescu, TongLin
from zitter.terms.base import Model, Term, discretize
from zitter.terms.dirac import Dirac
from zitter.terms.dirac_light import DiracLight
from zitter.terms.kinetic import Kinetic
from zitter.terms.levels import DrivenMatrix, Matrix
from zitter.terms.light import LengthGauge, VelocityGauge
from zitter.terms.nuclei import FermiNucleus, UniformNucleus
from zitter.terms.potentials import Coulomb, Harmonic, Repulsion, SoftCoulomb
from zitter.terms.quarkonium import AnisotropicCornell, Cornell, ScreenedCornell
from zitter.terms.trajectories import (
    Breathing,
    ConstantVelocity,
    Path,
    Rigid,
    TabulatedPath,
    Trajectory,
)
from zitter.terms.user_potential import Potential

__all__ = [
    "AnisotropicCornell",
    "Breathing",
    "ComplexAbsorber",
    "ConstantVelocity",
    "Cornell",
    "Coulomb",
    "Dirac",
    "DiracLight",
    "DrivenMatrix",
    "FermiNucleus",
    "FieldFree",
    "GarveyJackmanGreen",
    "Harmonic",
    "Kinetic",
    "LengthGauge",
    "Marinescu",
    "MaskAbsorber",
    "Matrix",
    "Model",
    "Path",
    "Potential",
    "Repulsion",
    "Rigid",
    "ScreenedCornell",
    "SoftCoulomb",
    "TabulatedPath",
    "Term",
    "TongLin",
    "Trajectory",
    "UniformNucleus",
    "VelocityGauge",
    "discretize",
]
