"""What is measured along a run."""

from zitter.observables.base import Observable
from zitter.observables.basic import Acceleration, Dipole, Energy, Momentum, Norm, Position
from zitter.observables.populations import (
    InstantaneousPopulations,
    KappaPopulations,
    Populations,
)
from zitter.observables.space import Density, Flux, Ionization
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
