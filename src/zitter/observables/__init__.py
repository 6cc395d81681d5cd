"""What is measured along a run."""

from zitter.observables.base import Observable
from zitter.observables.basic import (
    Acceleration,
    Density,
    Dipole,
    Energy,
    Flux,
    Ionization,
    Momentum,
    Norm,
    Position,
)
from zitter.observables.populations import InstantaneousPopulations, Populations
from zitter.observables.spinor import KappaPopulations
from zitter.observables.surface import Surface

__all__ = [
    "Acceleration",
    "Density",
    "Dipole",
    "Energy",
    "Flux",
    "InstantaneousPopulations",
    "Ionization",
    "KappaPopulations",
    "Momentum",
    "Norm",
    "Observable",
    "Populations",
    "Position",
    "Surface",
]
