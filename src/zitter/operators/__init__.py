"""Linear maps on coefficient arrays, and the Hamiltonian made of them."""

from zitter.operators.banded import Banded
from zitter.operators.base import Operator, Unsupported
from zitter.operators.dense import Dense
from zitter.operators.diagonal import Diagonal
from zitter.operators.hamiltonian import Absorbing, Driven, Hamiltonian, Mask, Moving
from zitter.operators.spectral import Fourier, PaddedMomentum, Sine, Spectral
from zitter.operators.stencil import Stencil
from zitter.operators.sums import Sum, add, part_of_kind

__all__ = [
    "Absorbing",
    "Banded",
    "Dense",
    "Diagonal",
    "Driven",
    "Fourier",
    "Hamiltonian",
    "Mask",
    "Moving",
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
