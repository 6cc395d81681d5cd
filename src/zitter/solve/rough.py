"""Errors of numbers that are made of a state which is itself far off.

Where ψ is off by a part ε, a number A may be off by as much as

    |A(ψ + εδ) − A(ψ)|    for δ of the same norm,

to be tried with what is known of the way it went wrong, in every phase, and ψ + εδ with the norm of
ψ where H keeps it: what an absorber has taken is as uncertain as the rest. A part p = ‖Pψ‖² of the
probability, P a projection, may be off by 2ε√p + ε², but by no more than all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

PHASES = (1, 1j, -1, -1j)
Numbers = dict[str, Any]


def changes(
    measured: Callable[[Any], Numbers],
    psi: Any,
    part: float,
    directions: Iterable[Any],
    norm: Callable[[Any], Any],
    kept: bool = True,
) -> Numbers:
    """The largest change of each number over all directions, which have the norm of ψ."""
    here, whole = _plain(measured(psi)), float(norm(psi))
    found = {name: np.zeros(np.shape(value)) for name, value in here.items()}
    for direction in directions:
        for phase in PHASES:
            other = psi + part * phase * direction
            there = _plain(measured(other * (whole / norm(other) if kept else 1.0)))
            for name, value in there.items():
                found[name] = np.maximum(found[name], np.abs(value - here[name]))
    return found


def of_probability(p: Any, part: float, norm: float) -> np.ndarray:
    """Of parts of the probability ‖ψ‖²."""
    epsilon = part * norm
    return np.minimum(2 * epsilon * np.sqrt(np.maximum(p, 0.0)) + epsilon**2, norm**2)


def _plain(numbers: Numbers) -> Numbers:
    return {name: np.asarray(value) for name, value in numbers.items()}
