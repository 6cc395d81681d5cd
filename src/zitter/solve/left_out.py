"""Levels that a basis leaves out since they have more angular momentum than it knows.

Where H keeps l (or κ), a basis up to lmax holds all levels of these l and none of the others. A
list of the lowest ones has gaps as soon as it reaches the lowest level of l = lmax + 1.
"""

from __future__ import annotations

import warnings

import numpy as np

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.results import Eigenstates
from zitter.terms import discretize

EQUAL = 1e-8  # of the energies: shells of hydrogen end together


def left_out(H: Hamiltonian, eig: Eigenstates) -> str:
    """A sentence about the levels that are not in the list, "" where none are known to be."""
    more = H.basis.one_more_channel(H.operator)
    if more is None or H.model is None or "near" in eig.info or np.iscomplexobj(eig.energies):
        return ""
    basis, l, key = more
    try:
        with warnings.catch_warnings():  # all has been said of the basis that was asked for
            warnings.simplefilter("ignore", UserWarning)
            operator = H.origin.remade(discretize(H.model, basis)).operator
        lowest = basis.named_state(operator, l, 0, None)[0]
    except (checks.InputError, checks.RunError, Unsupported):  # the states are found
        return ""
    above = np.asarray(eig.energies) > lowest + EQUAL * abs(lowest)
    if not above.any():
        return ""
    return (
        f"levels of l = {l} begin at {lowest:.6g} hartree, and this basis has none of them: state "
        f"{int(np.argmax(above))} and those after it are not the next ones of all; {key} = "
        f"{getattr(basis, key)} or more has them"
    )
