"""Pulses shaped by gradients: what is to become as large as possible, and the verb `control`."""

from zitter.controls.at_end import AtEnd
from zitter.controls.optimizing import control

__all__ = ["AtEnd", "control"]
