"""Systems whose solutions are known exactly, shared by the tests of all methods."""

from systems.base import System, propagate
from systems.free_gaussian import free_gaussian
from systems.levels import detuned_coupling, rotating_drive
from systems.moving_well import moving_well
from systems.oscillator import driven_oscillator, oscillator_ground_state

__all__ = [
    "System",
    "detuned_coupling",
    "driven_oscillator",
    "free_gaussian",
    "moving_well",
    "oscillator_ground_state",
    "propagate",
    "rotating_drive",
]
