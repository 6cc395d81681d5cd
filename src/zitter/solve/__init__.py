"""The verbs: `evolve` carries a state through time, `eigenstates` finds stationary ones."""

from zitter.solve.evolution import Plan, evolve, prepare
from zitter.solve.stationary import eigenstates

__all__ = ["Plan", "eigenstates", "evolve", "prepare"]
