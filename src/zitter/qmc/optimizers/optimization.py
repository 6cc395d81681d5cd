"""Optimization of the parameters of Ψ on samples of |Ψ|²."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np

from zitter import checks, loop, runtime, same_run
from zitter.qmc import spread
from zitter.qmc.optimized import Stage
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.judging import Gain, Sampled, chosen_step, gain_over
from zitter.qmc.optimizers.linear_method import LinearMethod
from zitter.qmc.optimizers.source import Source
from zitter.qmc.optimizers.tables import tabulate
from zitter.qmc.optimizers.verdicts import IDLE_STEPS, Iteration, decided, gained, iteration
from zitter.qmc.walk import variational
from zitter.qmc.wavefunction import Wavefunction
from zitter.rounds import Rounds

Psi = TypeVar("Psi", bound=Wavefunction)
MOST_TIMES = 8  # how many times the draws of an iteration may grow
CLEARLY = 5.0  # errors by which the best must be better than the start to need no other judge
LEAST_GAIN = 5e-4  # of the spread (the variance) of E_L: less is none


@dataclasses.dataclass(frozen=True)
class Optimization(Generic[Psi]):
    """The best wave function found, how it was found, and whether it would go on."""

    wavefunction: Psi
    history: list[Iteration]
    best: int
    method: str
    units: str
    converged: bool
    verdict: str

    @property
    def stage(self) -> Stage:
        """The course alone, for files and pictures."""
        columns = ("energy", "error", "variance", "variance_error")
        courses = (np.asarray([getattr(item, name) for item in self.history]) for name in columns)
        return Stage(self.method, self.units, self.best, *courses, verdict=self.verdict)

    def summary(self) -> str:
        return self.stage.summary()

    def __repr__(self) -> str:
        return self.summary()


def optimize(
    psi: Psi,
    method: Method | None = None,
    walkers: int = 256,
    *,
    draws: int = 16,
    stride: int = 4,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = False,
    progress: bool = False,
) -> Optimization[Psi]:
    """Optimize the parameters of Ψ; what comes back is never worse than what went in.

    Each iteration draws `draws` × `walkers` samples from the present Ψ, and up to eight times as
    many once steps gain too little to be told from noise. Every step is judged on samples drawn
    after it, beside the parameters before it, and taken back where it made things worse. It ends
    when three steps in a row gained nothing that samples can tell, or with the iterations of the
    method; `converged` and `verdict` say which. Where the course cannot tell that the best is
    better than the start, both are sampled anew, and the better one is taken. Between iterations
    its state is kept in the folder `checkpoint`, every so many seconds; `resume` goes on from it.
    """
    method = LinearMethod() if method is None else method
    check_options(psi, method, walkers, draws, stride, seed, checkpoint_every)
    rounds, goes_on = Rounds(), checks.resume(resume, checkpoint)
    if checkpoint is not None:
        unlimited = same_run.regardless(method, "iterations")
        same = same_run.fingerprint(psi, unlimited, walkers, draws, stride, seed)
        folder = checks.path("checkpoint", checkpoint)
        kept = loop.Checkpoint(folder, float(checkpoint_every), same)
        rounds = Rounds(kept, goes_on)
    source = Source(psi, walkers, draws, stride, seed, progress)
    with rounds.running():
        return _optimized(psi, method, source, rounds)


class _Standing(NamedTuple):
    """Where an optimization stands between two iterations."""

    parameters: Any
    walk: variational.State
    times: Any
    idle: Any
    best: Any
    gain: Any


def _optimized(psi: Psi, method: Method, source: Source, rounds: Rounds) -> Optimization[Psi]:
    divisor, units = psi.system.units
    history: list[Iteration] = []
    times, idle, best, gain = 1, 0, 0, Gain(0.0, 0.0)
    standing = _Standing(psi.parameters, source.state, times, idle, best, np.asarray(gain))
    done, standing = rounds.begin(standing)
    if done:
        history = [Iteration(*row) for row in _rows(rounds)]
        times, idle, best = int(standing.times), int(standing.idle), int(standing.best)
        gain = Gain(*(float(x) for x in standing.gain))
        source.state, source.settled = standing.walk, True
        psi = psi.with_parameters(standing.parameters)
    for index in range(done, method.iterations + 1):
        now = source.sampled(psi, times, f"optimizing, step {index} of at most {method.iterations}")
        history.append(iteration(now, divisor))
        kept = history[best].parameters
        if not np.array_equal(kept, history[index].parameters):
            gain = gain_over(kept, now, method)
            if math.isfinite(gain.value) and gain.value >= -2 * gain.error:
                best = index
            gained = gain.value > max(2 * gain.error, _least_gain(method, now))
        else:
            gained = False  # no proposal was better
        if gained:
            idle = 0
        elif index > 0:
            # Few samples make poor steps and cannot tell what is gained: more, before it counts.
            idle, times = idle + (times == MOST_TIMES), min(2 * times, MOST_TIMES)
        if idle >= IDLE_STEPS or index == method.iterations:
            break
        if best == index or np.array_equal(kept, history[index].parameters):
            step = chosen_step(now, method, tabulate(psi, now.draws))
        else:
            step = kept  # a step back, to be sampled anew
        psi = psi.with_parameters(jnp.asarray(step))
        del now  # its samples are many, and the next ones come before they would be let go
        standing = _Standing(psi.parameters, source.state, times, idle, best, np.asarray(gain))
        rounds.keep(index + 1, standing, **dataclasses.asdict(history[index]))
    rounds.save()  # a stage that follows may be stopped: this one is not to be repeated then
    ends = _ends(psi, method, source, history, best)
    best, verdict = decided(method, *ends, best, idle, gain, psi.system.units)
    final = psi.with_parameters(jnp.asarray(history[best].parameters))
    told = type(method).__name__, units
    return Optimization(final, history, best, *told, idle >= IDLE_STEPS, verdict)


def check_options(
    psi: Any, method: Any, walkers: Any, draws: Any, stride: Any, seed: Any, checkpoint_every: Any
) -> None:
    """Refuse what `optimize` cannot use; no method is its own choice."""
    checks.instance("psi", psi, Wavefunction)
    if method is not None:
        checks.instance("method", method, Method)
    spread.check_share(checks.integer("walkers", walkers, 2))
    checks.integer("draws", draws, 4)
    each = 8 * psi.system.dimension * psi.system.electrons  # of positions alone
    runtime.require_memory("walkers", walkers * each)
    runtime.require_memory("draws", walkers * draws * each)
    checks.integer("stride", stride, 1, checks.MOST_ROUNDS)
    checks.seed(seed)
    checks.non_negative("checkpoint_every", checkpoint_every)
    if np.size(psi.parameters) == 0:
        raise checks.InputError(
            "psi", "must have parameters, such as those of Jastrow terms, but has none"
        )


def _rows(rounds: Rounds) -> Iterator[tuple[Any, ...]]:
    """The iterations that a checkpoint holds."""
    names = [field.name for field in dataclasses.fields(Iteration)]
    for parameters, *numbers in zip(*(rounds.records(name) for name in names), strict=True):
        yield parameters, *(float(x) for x in numbers)


def _ends(
    psi: Wavefunction, method: Method, source: Source, history: list[Iteration], best: int
) -> tuple[Iteration, Iteration]:
    """The start and the best, sampled anew where the course cannot tell which is better.

    A step is taken unless samples tell that it is worse: many of them may have led astray, and
    chance chose among them. Samples that had no part in that can tell.
    """
    ends = history[0], history[best]
    divisor, _ = psi.system.units
    gain = gained(method, *ends, divisor)
    if best == 0 or gain.value > CLEARLY * gain.error:
        return ends
    first, last = (
        iteration(
            source.sampled(
                psi.with_parameters(jnp.asarray(end.parameters)), MOST_TIMES, f"judging the {name}"
            ),
            divisor,
        )
        for name, end in zip(("start", "best"), ends, strict=True)
    )
    return first, last


def _least_gain(method: Method, now: Sampled) -> float:
    variance = float(runtime.of_first(np.var(now.energy)))
    return LEAST_GAIN * method.objective(math.sqrt(variance), variance)
