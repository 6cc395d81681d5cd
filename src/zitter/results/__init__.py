"""What runs return: arrays with names, their errors, how they were made, what they belong to."""

from zitter.results.base import Result
from zitter.results.controlled import Controlled
from zitter.results.evolution import STEP_MARGIN, Solution, step_error
from zitter.results.stationary import Eigenstates
from zitter.results.sweep import Sweep

__all__ = [
    "STEP_MARGIN",
    "Controlled",
    "Eigenstates",
    "Result",
    "Solution",
    "Sweep",
    "step_error",
]
