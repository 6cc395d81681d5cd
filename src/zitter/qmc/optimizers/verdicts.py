"""Which parameters an optimization ends with, and how sure that is."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from zitter import runtime
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.judging import Gain, Sampled
from zitter.qmc.statistics import with_error

IDLE_STEPS = 3  # in a row without a gain that samples can tell: the end


@dataclasses.dataclass(frozen=True)
class Iteration:
    """One set of parameters with the energy sampled from it, in the system's units.

    The variance is that of the whole system, as results have it.
    """

    parameters: np.ndarray
    energy: float
    error: float
    variance: float
    variance_error: float


def iteration(now: Sampled, divisor: int) -> Iteration:
    """Means over all samples, with errors from the means of walkers, which are independent."""
    walkers = int(np.max(now.walker)) + 1

    def estimate(values: np.ndarray) -> tuple[float, float]:
        means = values.reshape(-1, walkers).mean(axis=0)
        return float(np.mean(means)), float(np.std(means, ddof=1) / math.sqrt(walkers))

    energy, error = estimate(now.energy)
    variance = estimate((now.energy - energy) ** 2)
    numbers = runtime.of_first([energy / divisor, error / divisor, *variance])
    return Iteration(np.asarray(now.psi.parameters), *numbers.tolist())


def gained(method: Method, first: Iteration, last: Iteration, divisor: int) -> Gain:
    """By how much the last parameters are better for the whole system, from samples of each."""
    ends = first, last
    score = [method.objective(divisor * h.energy, h.variance) for h in ends]
    least = [
        method.objective(divisor * (h.energy - h.error), h.variance - h.variance_error)
        for h in ends
    ]
    return Gain(score[0] - score[1], float(np.hypot(*np.subtract(score, least))))


def decided(
    method: Method,
    first: Iteration,
    last: Iteration,
    best: int,
    idle: int,
    gain: Gain,
    units: tuple[int, str],
) -> tuple[int, str]:
    """Which parameters are taken, and how it ended; energies are told in the system's `units`."""
    divisor, unit = units
    if not gained(method, first, last, divisor).value >= 0:
        return 0, "failed: no step was better than the start; more walkers or draws might be"
    rise, doubt = last.energy - first.energy, math.hypot(first.error, last.error)
    if rise > 3 * doubt:  # where something else was minimized
        told = f"{with_error(rise, doubt)} {unit}"
        return best, f"doubtful: the energy rose by {told}; begin elsewhere, or with LinearMethod"
    if not method.objective(1.0, 0.0):
        divisor, unit = 1, "hartree²"
    told = f"{with_error(gain.value / divisor, gain.error / divisor)} {unit}"
    if idle >= IDLE_STEPS:
        return best, f"converged: samples see no gain in the last {idle} steps ({told} in the last)"
    if idle:
        steps = "the last step" if idle == 1 else f"the last {idle} steps"
        return best, (
            f"nearly converged: samples see no gain in {steps} ({told}); take {IDLE_STEPS - idle} "
            "or more further iterations to settle it"
        )
    if gain.value <= gain.error:
        return best, f"undecided: the last step gained {told}; take more walkers or draws to tell"
    return best, f"still improving: the last step gained {told}; more iterations would gain more"
