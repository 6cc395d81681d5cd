"""Steps that are tried to tell how long a run takes: few, however far apart its records are."""

from __future__ import annotations

import dataclasses

from zitter.solve import guards
from zitter.solve.course import Context

TRIED = 2_000_000  # unknowns times steps of an interval that is made to be tried
FEWEST = 1_000  # unknowns: with less a step takes as long
WORTH = 4  # times shorter it must be, since it is compiled for the trial alone


def interval(context: Context, items: int = 1) -> int:
    """Steps between records while the time is told: as in the run, or fewer."""
    every = context.save_every
    most = max(1, TRIED // max(items * context.H.basis.size, FEWEST))
    if every <= WORTH * most:
        return every
    # What is lost at absorbers is counted as often as in the run.
    alike = guards.stride(every)
    return next((k for k in range(most, 0, -1) if guards.stride(k) == alike), most)


def shortened(context: Context, every: int) -> Context:
    """The same with other intervals, in which nothing is measured: beside the steps of the long
    intervals of a run that is little, and with each short one it would be much."""
    if every == context.save_every:
        return context
    return dataclasses.replace(context, observables=(), save_every=every, save_states=False)
