"""Eigensolvers: one method per file."""

from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.channels import channel_states, eigenbasis, spinor_states
from zitter.eigensolvers.chebyshev_filter import ChebyshevFilter
from zitter.eigensolvers.direct import Direct
from zitter.eigensolvers.imaginary_time import ImaginaryTime
from zitter.eigensolvers.lobpcg import LOBPCG
from zitter.eigensolvers.recommended import recommended
from zitter.eigensolvers.resonances import Resonances

__all__ = [
    "LOBPCG",
    "ChebyshevFilter",
    "Direct",
    "Eigensolver",
    "ImaginaryTime",
    "Resonances",
    "channel_states",
    "eigenbasis",
    "recommended",
    "spinor_states",
]
