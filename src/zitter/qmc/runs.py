"""What VMC and DMC runs share: their options, walkers at one or many twists, files, results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, files, loop, runtime, same_run, segments
from zitter.qmc import spread
from zitter.qmc import twists as twisted
from zitter.qmc.estimators import Estimator, Prepared
from zitter.qmc.samples import OTHERS, Samples
from zitter.qmc.statistics import (
    GROUPS,
    equilibration,
    group_residuals,
    independent_samples,
    note_on,
    stands_still,
)
from zitter.qmc.wavefunction import Walker, Wavefunction


def bytes_of_walker(psi: Wavefunction, dtype: Any) -> int:
    """What one walker takes, and once more while it moves; from shapes."""
    place = jax.ShapeDtypeStruct((psi.system.dimension, psi.system.electrons), jnp.float64)
    found = eqx.filter_eval_shape(psi.start, place, dtype)
    return 2 * segments.bytes_of(found)


@dataclasses.dataclass(frozen=True)
class Run:
    """The options of a run, checked, and its way through files."""

    psi: Wavefunction
    walkers: int
    blocks: int
    estimators: tuple[Prepared, ...]
    seed: int
    dtype: Any  # of pair terms and orbitals
    start: Any
    twists: twisted.Twists | None
    checkpoint: Path | None
    every: float
    resume: bool
    progress: bool

    @classmethod
    def checked(
        cls,
        psi: Wavefunction,
        walkers: int,
        blocks: int,
        estimators: Sequence[Estimator],
        seed: int,
        precision: str | None,
        start: Any,
        twists: Any,
        checkpoint: str | Path | None,
        checkpoint_every: float,
        resume: bool,
        progress: bool,
    ) -> Run:
        checks.instance("psi", psi, Wavefunction)
        count = checks.integer("walkers", walkers, 2)
        dtype = pair_dtype(precision)
        runtime.require_memory("walkers", count * bytes_of_walker(psi, dtype))
        runtime.require_memory("blocks", 8 * checks.integer("blocks", blocks, 4))
        if start is not None:
            shape = (None, psi.system.dimension, psi.system.electrons)
            given = checks.array("start", start, shape)
            start = jnp.asarray(given[np.arange(count) % len(given)])
        shifts = None
        twists = twists.tolist() if hasattr(twists, "tolist") else twists
        if twists not in ([], ()):
            psi, shifts = twisted.prepare(psi, twists)
        spread.check_count(count, None if shifts is None else shifts.count)
        checks.listed("estimators", estimators, Estimator)
        for estimator in estimators:
            if psi.is_complex and not estimator.at_twists:
                name = type(estimator).__name__
                raise checks.InputError("estimators", f"must not hold {name} at a twist")
        prepared = tuple(estimator.prepare(psi.system) for estimator in estimators)
        for estimator in estimators:
            estimator.check(psi)
        names = [e.name for e in prepared]
        for position, name in enumerate(names):
            if name in names[:position]:
                kind = type(estimators[position]).__name__
                raise checks.InputError(f"estimators.{position}", f"must not be a second {kind}")
        return cls(
            psi,
            count,
            checks.integer("blocks", blocks, 4),
            prepared,
            checks.seed(seed),
            dtype,
            start,
            shifts,
            None if checkpoint is None else checks.path("checkpoint", checkpoint),
            float(checks.non_negative("checkpoint_every", checkpoint_every)),
            checks.resume(resume, checkpoint),
            checks.boolean("progress", progress),
        )

    @property
    def precision(self) -> str:
        return "double" if self.dtype == jnp.float64 else "single"

    def at_twists(self, make: Callable[[Wavefunction, int], Any]) -> list[Any]:
        """make(Ψ, seed) at every twist."""
        assert self.twists is not None
        # Far apart, so that the seeds of neighbouring runs do not meet.
        return [
            make(self.twists.at(self.psi, index), self.seed + 1_000_003 * index)
            for index in range(self.twists.count)
        ]

    def shares(self) -> dict[str, list[int]]:
        """Walkers of one twist, and twists, on each device."""
        return spread.shares(self.walkers, 0 if self.twists is None else self.twists.count)

    def over_twists(self, step: Callable[..., Any], shared: Any) -> Callable[..., Any]:
        """step(context, state) with `context.psi` at each twist; itself without twists."""
        return step if self.twists is None else twisted.AllTwists(self.twists.varying, step, shared)

    def guard(self, finite: Callable[[Any], Any], sentence: str) -> Callable[[Any, int], Any]:
        """Ends a run whose `finite(state)` is false somewhere; of many twists, at all of them."""

        def judge(state: Any, done: int) -> str | None:
            good = runtime.to_host(finite(state))
            axes = tuple(range(good.ndim)) if self.twists is None else tuple(range(1, good.ndim))
            return None if np.all(good, axis=axes).any() else f"{sentence} by block {done}."

        return judge

    def settled(self, like: Callable[[], Any], equilibrate: Callable[[], Any], *about: Any) -> Any:
        """What equilibration gives (arrays as `like` has), or the checkpoint of a resumed run."""
        if self.checkpoint is None:
            return equilibrate()
        whole, kept = self._keeper("", *about), self._keeper("settled", *about)
        with whole.held():  # where another run is at work, its walkers stay
            files.clear_temporary(kept.folder)
            found = kept.load(like()) if self.resume else None
            if found is not None:
                return found[1]
            ready = equilibrate()
            if not self.resume:
                whole.empty()  # blocks of another run do not follow from these walkers
            kept.save(0, ready, 0, loop.Piece({}, {}))
            return ready

    def drive(
        self, step: Any, context: Any, state: Any, label: str, guard: Any, steps: int, *about: Any
    ):
        """The blocks that are measured, each of so many `steps`, with checkpoints."""
        saved = None if self.checkpoint is None else self._keeper("", *about)
        return loop.drive(
            step, context, state, self.blocks, label=label, guard=guard, checkpoint=saved,
            resume=self.resume, progress=self.progress, counted=steps, axis=loop.Axis("block"),
        )  # fmt: skip

    def _keeper(self, name: str, *about: Any) -> loop.Checkpoint:
        assert self.checkpoint is not None
        found = same_run.fingerprint(
            *(self.psi, self.estimators, self.start, self.twists, self.walkers, self.seed),
            *(str(self.dtype), *about),
        )
        return loop.Checkpoint(self.checkpoint / name, self.every, found)

    def finish(
        self, records: dict[str, Any], weights: Any, walkers: Walker, info: dict[str, Any]
    ) -> Samples:
        """Samples in the system's units; averaged over the twists that did not fail."""
        divisor, units = self.psi.system.units
        records = {name: np.asarray(values) for name, values in records.items()}
        for name in records:
            other = name in OTHERS or name == GROUPS + "weight"
            if not other and not any(name == e.name for e in self.estimators):
                records[name] = records[name] / divisor
        r = runtime.to_host(walkers.r)
        info = {
            "method": info.pop("method"),
            "system": repr(self.psi),
            "walkers": self.walkers,
            **info,
            "seed": self.seed,
            **runtime.describe(),
            **runtime.describe_shares(self.shares()),
            "precision": self.precision,
        }
        groups = {
            name.removeprefix(GROUPS): records.pop(name)
            for name in list(records)
            if name.startswith(GROUPS)
        }
        if self.twists is None:
            start = equilibration(records["energy"])
            scatter = _scatter(groups, np.asarray(weights), start)
        else:
            every = np.asarray(weights).reshape(len(weights), -1)
            every = np.broadcast_to(every, records["energy"].shape)
            records, start, told = self.twists.average(records, np.asarray(weights))
            parts = [
                _scatter({name: v[:, t] for name, v in groups.items()}, every[:, t], start)
                for t, row in enumerate(told["twists"][: every.shape[1]])
                if row["energy"] is not None
            ]
            scatter = {name: np.mean([part[name] for part in parts], axis=0) for name in parts[0]}
            weights = np.ones(self.blocks)
            notes = [*info.pop("notes", []), *told.pop("notes")]
            info |= {**told, "notes": notes}
            r = r.reshape(-1, *r.shape[2:])
        # All that is measured drops the same transient.
        blocks = {e.name: records.pop(e.name)[start:] for e in self.estimators}
        kept = np.asarray(weights)[start:]
        measured = {e.name: e.finalize(blocks[e.name], kept) for e in self.estimators}
        effective = {name: independent_samples(table, kept) for name, table in blocks.items()}
        if stands_still({name: trace[start:] for name, trace in records.items()}, divisor):
            measured = {name: _without_errors(found) for name, found in measured.items()}
            effective = dict.fromkeys(effective, 1.0)
        note = note_on(effective, len(kept))
        if note:
            info["notes"] = [*info.get("notes", []), note]
        return Samples(records, weights, start, units, info, measured, r, "", divisor, scatter)


def _without_errors(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What an estimator found, with infinite errors."""
    errors = {name for name in found if name.endswith("error")}
    return {name: np.full_like(x, np.inf) if name in errors else x for name, x in found.items()}


def _scatter(groups: dict[str, np.ndarray], weights: np.ndarray, start: int) -> dict[str, Any]:
    """What each group of walkers adds to the deviation of a mean, for each part of the energy."""
    if not groups:
        return {}
    shares = groups["weight"][start:]
    return {
        name: group_residuals(table[start:], shares, weights[start:])
        for name, table in groups.items()
        if name != "weight"
    }


def pair_dtype(precision: str | None) -> Any:
    """The type of pair terms and orbitals: float32 in "single", where determinants stay double."""
    now = runtime.settings()
    if precision is None:
        precision = "double" if now.precision == "double" else "single"
    checks.choice("precision", precision, ("double", "single"))
    return jnp.float64 if precision == "double" else jnp.float32
