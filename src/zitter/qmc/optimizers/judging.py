"""Which parameters are better, on samples that had no part in finding them.

Two sets of parameters are compared on the same samples by reweighting, which tells differences far
below the error bars of their energies. Errors come from leaving out groups of walkers, because
walkers are independent of each other and the draws of one walker are not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from zitter import runtime
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.tables import Draws, Table, averages, energies, limited
from zitter.qmc.wavefunction import Wavefunction

LEAST_OVERLAP = 0.5  # effective fraction of samples a trial must keep after reweighting
GROUPS = 16  # of walkers, each left out once
JUDGES = 4096  # samples of each half on which all proposals are judged
LEADERS = 2  # proposals that are then judged on all of them


class Gain(NamedTuple):
    """By how much an objective is smaller, with its error."""

    value: float
    error: float


class Sampled(NamedTuple):
    """Samples of one set of parameters: E_L and ln|Ψ| of each, and which walker it is of."""

    psi: Wavefunction
    draws: Draws
    energy: np.ndarray
    log: np.ndarray
    walker: np.ndarray


def gain_over(earlier: np.ndarray, now: Sampled, method: Method) -> Gain:
    """How much better the sampled parameters are than earlier ones, which made them."""
    energy, log = energies(now.psi, earlier, now.draws)

    def difference(chosen: Any) -> float:
        mean, variance, _ = averages(energy[chosen], (log - now.log)[chosen])
        here = now.energy[chosen]
        return method.objective(mean, variance) - method.objective(
            float(np.mean(here)), float(np.var(here))
        )

    groups = now.walker % GROUPS
    without = np.asarray([difference(groups != group) for group in range(GROUPS)])
    # The error of a mean from leaving out one of G groups.
    error = math.sqrt((GROUPS - 1) * float(np.var(without)))
    return Gain(*runtime.of_first([difference(slice(None)), error]).tolist())


def chosen_step(now: Sampled, method: Method, table: Table) -> np.ndarray:
    """The best of a method's proposals, the present parameters if none is better.

    What is proposed from one half of the walkers is judged on the other half. The kind of proposal
    that does best there is taken as all samples together make it.
    """
    half = (now.walker % 2).astype(bool)
    proposed = [
        (_proposals(now, method, now.draws.part(own), table.part(own)), np.flatnonzero(~own))
        for own in (half, ~half)
    ]

    def judged(which: Any, most: int) -> np.ndarray:
        scores: Any = 0.0
        for trials, rest in proposed:
            some = rest[:: -(-len(rest) // most)]
            scores = scores + _scores(now, method, [trials[index] for index in which], some)
        return scores

    everything = np.arange(len(now.energy))
    first = judged(range(len(proposed[0][0])), JUDGES)
    leading = np.argsort(first)[:LEADERS]
    # What is left to gain in the end is less than a few samples can tell.
    scores = first[leading] if len(everything) <= 2 * JUDGES else judged(leading, len(everything))
    final = _proposals(now, method, now.draws, table)
    for place in np.argsort(scores):
        index = leading[place]
        if scores[place] < 0 and _scores(now, method, [final[index]], everything)[0] < 0:
            return final[index]
    return np.asarray(now.psi.parameters)


def _proposals(now: Sampled, method: Method, draws: Draws, table: Table) -> list[np.ndarray]:
    """Those of a method, the same on all processes."""
    return list(runtime.of_first(method.candidates(now.psi, draws, table)))


def _scores(now: Sampled, method: Method, trials: list, chosen: np.ndarray) -> np.ndarray:
    """By how much each trial changes the objective; infinite where samples cannot tell."""
    draws, here, log = now.draws.part(chosen), limited(now.energy[chosen]), now.log[chosen]
    present = method.objective(float(np.mean(here)), float(np.var(here)))
    scores = np.full(len(trials), np.inf)
    for index, trial in enumerate(trials):
        if np.all(np.isfinite(trial)):
            found, moved = energies(now.psi, trial, draws)
            if np.all(np.isfinite(found)) and np.all(np.isfinite(moved)):
                mean, variance, overlap = averages(limited(found), moved - log)
                if overlap >= LEAST_OVERLAP:
                    scores[index] = method.objective(mean, variance) - present
    return runtime.of_first(scores)
