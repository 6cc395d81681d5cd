"""Whether box and lmax were large enough, judged from the numbers, said with the numbers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from zitter import checks, units
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning, LastL
from zitter.fields import Field
from zitter.linalg.base import Unsupported


def check_lmax(basis: Basis, psi: Any, limit: float = 1e-8) -> float:
    """The population of the highest l, with a warning where it exceeds `limit`."""
    last = LastL(basis)
    population = float(last.population(psi))
    last.warn(population, limit)
    return population


def check_box(basis: Basis, pulse: Field, energy: float | str, after: float = 0.0) -> float:
    """How far an electron of `energy` gets while the pulse lasts (and `after` it), with a warning
    where that is beyond the box.
    """
    try:
        rmax = basis.channels_of().radial.rmax
    except Unsupported:
        raise checks.InputError("basis", "must know its box, but was read without one") from None
    value = float(checks.positive("energy", energy, "energy"))
    distance = math.sqrt(2 * value) * (float(pulse.duration) + after)
    if distance > rmax:
        warnings.warn(
            f"rmax = {rmax:g} bohr is too small: an electron of {units.to_ev(value):.3g} eV "
            f"travels {distance:.4g} bohr during the run",
            ConvergenceWarning,
            stacklevel=2,
        )
    return distance
