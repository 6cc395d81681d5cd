"""Eigensolvers: one method per file."""

from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.channels import channel_states, eigenbasis
from zitter.eigensolvers.chebyshev_filter import ChebyshevFilter
from zitter.eigensolvers.direct import Direct
from zitter.eigensolvers.lobpcg import LOBPCG
from zitter.eigensolvers.recommended import recommended
from zitter.eigensolvers.resonances import Resonances

__all__ = [
    "ChebyshevFilter",
    "Direct",
    "Eigensolver",
    "LOBPCG",
    "Resonances",
    "channel_states",
    "eigenbasis",
    "recommended",
]
