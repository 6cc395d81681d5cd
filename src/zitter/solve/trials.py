"""Steps that are tried to tell how long a run takes: few, however far apart its records are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx

from zitter.segments import Program, Trial
from zitter.solve import guards
from zitter.solve.course import Context

TRIED = 2_000_000  # unknowns times steps of an interval that is made to be tried
FEWEST = 1_000  # unknowns: with less a step takes as long
WORTH = 4  # times shorter it must be, since it is compiled for the trial alone


def interval(context: Context, items: int = 1) -> int:
    """Steps of a part while the time is told: as in the run, or fewer."""
    every = context.part
    most = max(1, min(TRIED // max(items * context.H.basis.size, FEWEST), 2 * guards.LOOKED))
    if every <= WORTH * most:
        return every
    # What is lost at absorbers is counted as often as in the run.
    alike = guards.stride(every)
    return next((k for k in range(most, 0, -1) if guards.stride(k) == alike), most)


def shortened(context: Context, every: int) -> Context:
    """The same with other intervals, in which nothing is measured: beside the steps of the long
    intervals of a run that is little, and with each short one it would be much."""
    if every == context.part:
        return context
    return dataclasses.replace(context, observables=(), save_every=every, save_states=False)


def tried(
    program: Program, context: Any, state: Any, parts: float, looks: float, at: Sequence[int] = (0,)
) -> Trial:
    """What so many parts take, at the mean of some moments, given by their steps; where not each of
    them looks at the state, the few `looks` there are are timed apart."""

    def after(steps: int, parts: float) -> Trial:
        later = eqx.tree_at(lambda s: s.steps, state, state.steps + steps)
        return program.tried(context, later, parts)

    aside = 0 if looks >= parts else 1  # from where no part ends at a record
    found = [after(moment + aside, parts) for moment in at]
    seconds = sum(trial.seconds for trial in found) / len(found)
    if aside:
        looking, going = after(0, 1), after(aside, 1)
        seconds += looks * max(0.0, looking.seconds - going.seconds)
        found.append(looking)
    return Trial(seconds, max(trial.scratch for trial in found))
