"""Functions of space on any basis: V at its places, made an operator by the basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.places import Places
from zitter.linalg.base import Operator

SAME = 1e-10  # of the largest value, where a function must not depend on the azimuth


def multiplication(
    basis: Basis,
    sample: Callable[[Places], Any],
    key: str = "potential",
    places: Places | None = None,
) -> Operator:
    """Multiplication by V, from its values at the basis's places."""
    if places is None:
        places = basis.places()
        places = places._replace(values=tuple(map(basis.cut_evenly, places.values)))
    values, other = sample(places), places.elsewhere()
    if other is not None:
        _require_same(key, values, sample(other))
    return basis.multiply(values)


def _require_same(key: str, values: Any, there: Any) -> None:
    if checks.is_traced((values, there)):
        return
    values, there = np.asarray(values), np.asarray(there)
    if np.max(np.abs(values - there)) > SAME * np.max(np.abs(values)):
        raise checks.InputError(key, "must be symmetric about the z axis on this basis, but is not")
