"""The verbs: `evolve` carries a state through time, `eigenstates` finds stationary ones."""

from zitter.solve.accuracy import EnergyErrors
from zitter.solve.evolution import Plan, Unchecked, evolve, prepare
from zitter.solve.stationary import eigenstates, energy_errors

__all__ = [
    "EnergyErrors", "Plan", "Unchecked", "eigenstates", "energy_errors", "evolve", "prepare"
]  # fmt: skip
