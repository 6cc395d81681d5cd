"""One result from several runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zitter import checks
from zitter.qmc.samples import Samples
from zitter.qmc.statistics import with_error
from zitter.qmc.twists import mean_over_twists


def average_runs(runs: Sequence[Samples], weights: Sequence[float] = ()) -> Samples:
    """One result from runs that differ in their twist alone, as of orbitals from several files.

    Energies, their parts and estimators are averages with `weights`, equal ones unless given; the
    scatter of blocks is kept, so that the error is that of the average. Runs must have as many
    blocks; the first ones are dropped where a run had not settled. What was noted about a run is
    kept with its number, counted from 1.
    """
    checks.listed("runs", runs, Samples)
    if not runs:
        raise checks.InputError("runs", "must hold one, but is empty")
    first = runs[0]
    share = checks.array("weights", weights if len(weights) else np.ones(len(runs)), (len(runs),))
    if np.any(share < 0) or np.sum(share) <= 0:
        raise checks.InputError("weights", f"must be positive, but are {share.tolist()}")
    share = share / np.sum(share)
    for position, run in enumerate(runs):
        for what in ("units", "divisor"):
            mine, theirs = getattr(first, what), getattr(run, what)
            if mine != theirs:
                raise checks.InputError(
                    f"runs.{position}", f"must have the {what} {mine!r}, but has {theirs!r}"
                )
        if len(run.weights) != len(first.weights) or run.traces.keys() != first.traces.keys():
            raise checks.InputError(
                f"runs.{position}", "must have the blocks and parts of the first, but has not"
            )
    start = max(run.start for run in runs)
    block_weights = np.stack([run.weights for run in runs], axis=1)
    traces = {
        name: mean_over_twists(
            np.stack([run.traces[name] for run in runs], axis=1), block_weights, start, share
        )
        for name in first.traces
    }
    estimators = {name: _combined(name, runs, share) for name in first.estimators}
    shown = ", ".join(with_error(run.energy, run.energy_error) for run in runs)
    told = f"average of {len(runs)} runs with the energies {shown}"
    info = first.info | {"notes": [told, *_notes(runs)]}
    info.pop("twists", None)
    blocks = np.ones(len(first.weights))
    scatter = _scatter(runs, share, start)
    return Samples(
        traces, blocks, start, first.units, info, estimators, None, "", first.divisor, scatter
    )


def _notes(runs: Sequence[Samples]) -> list[str]:
    """What was noted about each run but its error bar, since the average has one of its own."""
    owners: dict[str, list[str]] = {}
    for number, run in enumerate(runs, 1):
        own = run.note_on_errors
        for note in run.notes:
            if note != own:
                owners.setdefault(note, []).append(str(number))
    return [
        f"run{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {note}"
        for note, numbers in owners.items()
    ]


def _scatter(runs: Sequence[Samples], share: np.ndarray, start: int) -> dict[str, np.ndarray]:
    """What groups of walkers add to the deviation of the average, where runs have as many."""
    found = {}
    for name in runs[0].scatter:
        each = [run.scatter.get(name, np.zeros(0)) for run in runs]
        if len({len(residuals) for residuals in each}) == 1:
            # A run that was settled earlier had more blocks than the average takes of it.
            shorter = [(len(run.weights) - run.start) / (len(run.weights) - start) for run in runs]
            found[name] = (share * np.sqrt(shorter)) @ np.stack(each)
    return found


def _combined(name: str, runs: Sequence[Samples], share: np.ndarray) -> dict[str, np.ndarray]:
    found = [run.estimators.get(name) for run in runs]
    kept = [one for one in found if one is not None]
    if len(kept) < len(runs) or any(one["mean"].shape != kept[0]["mean"].shape for one in kept):
        raise checks.InputError("runs", f"must have measured the same {name}, but have not")
    combined = dict(kept[0])
    for value, noise in (("mean", "error"), ("outside", "outside_error")):
        if value in combined:
            # What does not count may have no error bar, and 0·∞ is no number.
            pairs = [(w, one) for w, one in zip(share, kept, strict=True) if w > 0]
            combined[value] = np.asarray(sum(w * one[value] for w, one in pairs))
            combined[noise] = np.sqrt(sum((w * one[noise]) ** 2 for w, one in pairs))
    return combined
