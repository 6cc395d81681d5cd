"""The Jastrow factor: one term per file."""

from zitter.qmc.jastrow.base import Change, Couplings, JastrowTerm, Move, Moves, PreparedTerm
from zitter.qmc.jastrow.chi import Chi
from zitter.qmc.jastrow.f import F
from zitter.qmc.jastrow.factor import Jastrow
from zitter.qmc.jastrow.h import H
from zitter.qmc.jastrow.p import P
from zitter.qmc.jastrow.q import Q
from zitter.qmc.jastrow.u import U

__all__ = [
    "Change",
    "Chi",
    "Couplings",
    "F",
    "H",
    "Jastrow",
    "JastrowTerm",
    "Move",
    "Moves",
    "P",
    "PreparedTerm",
    "Q",
    "U",
]
