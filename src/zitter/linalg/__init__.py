"""Linear maps on coefficient arrays, and how they are inverted."""

from zitter.linalg.banded import Banded
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.dense import Dense
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.spectral import Fourier, PaddedMomentum, Sine, Spectral
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import Sum, add, part_of_kind

__all__ = [
    "Banded",
    "Dense",
    "Diagonal",
    "Fourier",
    "Operator",
    "PaddedMomentum",
    "Sine",
    "Spectral",
    "Stencil",
    "Sum",
    "Unsupported",
    "add",
    "part_of_kind",
]
