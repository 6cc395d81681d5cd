"""What systems with nuclei share, with a cell or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zitter import checks
from zitter.qmc.energies import EnergyTerm, KineticEnergy
from zitter.qmc.systems.nuclei import Nuclei


def matter_energies(
    coulomb: EnergyTerm, pseudopotentials: Sequence[EnergyTerm]
) -> tuple[EnergyTerm, ...]:
    """The terms of electrons and nuclei, whose charges meet in the term `coulomb`."""
    return KineticEnergy(), coulomb, *pseudopotentials


def around(nuclei: Nuclei, electrons: int) -> np.ndarray:
    """(d, electrons): a nucleus for each electron to start at.

    Each spin finds as many places as pairs neutralize a nucleus; spin down goes on where spin up
    has ended, so that an odd electron of each spin finds a nucleus of its own.
    """
    charges = np.ceil(nuclei.charges / 2).astype(int)
    places = np.repeat(np.arange(nuclei.count), charges)
    return nuclei.positions[places[np.arange(electrons) % len(places)]].T


def both_spins(spins: Any) -> tuple[int, int]:
    if not isinstance(spins, list | tuple) or len(spins) != 2:
        raise checks.InputError("spins", f"must be two numbers, up and down, but is {spins!r}")
    up, down = (checks.integer(f"spins.{i}", n, 0) for i, n in enumerate(spins))
    if up < down or up == 0:
        raise checks.InputError(
            "spins", f"must hold electrons, at least as many up as down, but is {(up, down)}"
        )
    return up, down
