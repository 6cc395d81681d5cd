"""States of an atom without light one angular momentum at a time, and the basis made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported


def channel_states(H: Hamiltonian, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The lowest `count` (default: all) energies (channels, count) and states
    (channels, n, count) of each channel, with cᵀSc = 1 and P(r) > 0 near the origin.
    """
    return _channels(H).states(None if count is None else checks.integer("count", count, 1))


def eigenbasis(
    H: Hamiltonian, states: int | None = None, energy_max: float | str | None = None
) -> Any:
    """The lowest `states` eigenstates of each l, or all up to `energy_max`, with both dipole forms:
    an `EigenBasis`.

    H is the atom without light on a `SphericalBasis` with one m:
    `zt.eigenbasis(zt.discretize(atom, basis), states=640)`.
    """
    checks.instance("H", H, Hamiltonian)
    valence = None if H.model is None else H.model.valence
    return _channels(H).eigenbasis(states, energy_max, valence)


def spinor_states(H: Hamiltonian, kappa: int) -> tuple[np.ndarray, np.ndarray]:
    """All energies of one κ, positrons first, and the states as columns (2n, states); cᵀSc = 1.

    The unknowns that this κ does not use are zero, so there may be fewer than 2n states. P is
    positive near the nucleus.
    """
    checks.instance("H", H, Hamiltonian)
    return H.basis.kappa_states(H.operator, kappa)


def _channels(H: Hamiltonian) -> Any:
    operator = checks.instance("H", H, Hamiltonian).operator
    try:
        return H.basis.channels_of(operator)
    except Unsupported:
        raise Unsupported(
            "eigenstates channel by channel need a SphericalBasis and a Hamiltonian without light; "
            "use H.static"
        ) from None
