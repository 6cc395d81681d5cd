"""Laser pulses: A(t) and E(t) = −dA/dt in atomic units."""

from zitter.fields.base import Field
from zitter.fields.free_form import FreeForm
from zitter.fields.gaussian import Gaussian
from zitter.fields.half_cycle import HalfCycle
from zitter.fields.sine_squared import SineSquared
from zitter.fields.sine_squared_field import SineSquaredField
from zitter.fields.static import Static
from zitter.fields.sum import FieldSum
from zitter.fields.tabulated import Tabulated
from zitter.fields.trapezoid import Trapezoid
from zitter.fields.waveform import Waveform

__all__ = [
    "Field",
    "FieldSum",
    "FreeForm",
    "Gaussian",
    "HalfCycle",
    "SineSquared",
    "SineSquaredField",
    "Static",
    "Tabulated",
    "Trapezoid",
    "Waveform",
]
