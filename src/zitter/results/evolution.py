"""The course of a state through time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zitter import checks, io, tables, units
from zitter.results.base import Result, coordinate, decoded
from zitter.stored import Kept

if TYPE_CHECKING:
    from rich.table import Table

# Entries of `info` that say how good the numbers are.
ERRORS = {
    "step_error": "error of the final state by the step size (from a run with twice the step)",
    "step_check": "error of the final state by the step size",
    "unseen": "error by what comes and goes within steps, in that of the final state",
    "norm_loss": "probability lost (absorbed, or the propagator's error)",
    "absorbed": "probability that absorbers account for",
    "error_estimate": "error of the steps, summed (freezing H(t) in a step is not in it)",
    "tolerance_per_step": "tolerance per step",
    "initial_residual": "residual of the initial state (hartree)",
    "wall_population": "probability at the wall of the basis",
    "last_l_population": "probability in the highest l of the basis",
    "last_kappa_population": "probability in the highest |κ| of the basis",
    "last_eta_population": "probability in the last functions of η",
}


UNCHECKED = "not checked (step_check=True)"

# Richardson's estimate is the leading term alone, and too small where steps are long.
STEP_MARGIN = 2.0
# Of the relative error of the state, times the range of a number: less is not believed, since what
# two runs say of a number may agree by chance.
LEAST_SHARE = 0.1
ROUNDING = 100  # eps: what two runs have alike to so many is conserved, and not by chance


def step_error(change: Any, course: Any, share: float, part: float) -> np.ndarray:
    """The error of a number by the step size, from its change by twice the step.

    An error ε of the state changes a number of range R by 2εR at most, as a rule by much less, and
    one of size S to second order by ε²S: max(share·|change|, 0.1εR + ε²S). `course` holds what the
    number has been, along its first axis.
    """
    change, course = np.abs(np.asarray(change)), np.asarray(course)
    span = np.max(np.abs(course - course[-1]), axis=0)  # amplitudes are complex
    size = np.max(np.abs(course), axis=0)
    conserved = change <= ROUNDING * np.finfo(np.result_type(course, np.float32)).eps * size
    least = np.where(conserved, 0.0, LEAST_SHARE * part * span + part**2 * size)
    return np.maximum(share * change, least)


TWICE, STEP_ERROR = "final_twice_the_step", "step_error_"  # names in files


@dataclasses.dataclass(repr=False)
class Solution(Result):
    """The course of a run: `times`, `observables[name]`, `final`, and `states` if saved.

    `info` holds what the numbers are worth and how they were made: method, steps, norm loss, error
    estimate, wall time, device, precision. `basis` and `model` are what the run was about, also
    after loading. Where the step was checked, `step_errors[name]` is the error by the step size of
    an observable at the end, and `twice` the final state of the run with twice the step.
    """

    kind: ClassVar[str] = "evolution"

    times: np.ndarray
    observables: dict[str, np.ndarray]
    final: Any
    states: np.ndarray | None
    info: dict[str, Any]
    axes: dict[str, np.ndarray]
    sparse_times: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    described: dict[str, tuple[tuple[str, ...], str, str]] = dataclasses.field(default_factory=dict)
    coordinates: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    input: str = ""
    kept: Kept = dataclasses.field(default_factory=Kept, compare=False)
    step_errors: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    twice: Any = None

    def step_error_of(self, function: Callable[[Any], Any]) -> np.ndarray:
        """The error by the step size of anything made of the final state:

        sol.step_error_of(lambda psi: zt.spectra.ionization_yield(basis, psi))
        """
        if self.twice is None:
            raise checks.InputError(
                "step_check", "must have been on to know the error of a step, but was not"
            )
        course = np.stack([np.asarray(function(psi)) for psi in (self.final, self.twice)])
        share, part = self.info["step_error_share"], self.info.get("step_error_part", 0.0)
        found = step_error(course[0] - course[1], course, share, part)
        # Both runs are off by what neither has seen, and that in which direction is not kept.
        return np.full_like(found, np.inf) if self.info.get("unseen") else found

    @property
    def basis(self) -> Any:
        return self.kept.get("basis")

    @property
    def model(self) -> Any:
        return self.kept.get("model")

    @property
    def missing(self) -> dict[str, str]:
        """Why `basis` or `model` is None."""
        return self.kept.missing(("basis", "model"))

    def times_of(self, name: str) -> np.ndarray:
        """The times at which one observable was recorded."""
        known = list(self.observables)
        if name not in known:
            raise checks.InputError(
                "name",
                f"must be an observable of this run ({', '.join(known) or 'it has none'}), but is "
                f"{checks.shown(name)}{checks.did_you_mean(name, known)}",
            )
        return self.sparse_times.get(name, self.times)

    def dataset(self) -> io.Dataset:
        v = {"time": io.Variable(self.times, ("time",), "a.u. time", "time")}
        for name, points in {**self.axes, **self.coordinates}.items():
            v[name] = coordinate(name, points)
        for name, data in self.observables.items():
            dims, units, long_name = self.described[name]
            clock = "time"
            if name in self.sparse_times:
                clock = f"time_{name}"
                v[clock] = io.Variable(self.sparse_times[name], (clock,), "a.u. time", "time")
            v[name] = io.Variable(data, (clock, *dims), units, long_name)
        state_dims = tuple(self.axes)
        v["final"] = io.Variable(np.asarray(self.final), state_dims, "a.u.", "final state")
        if self.twice is not None:
            about = "final state of the run with twice the step"
            v[TWICE] = io.Variable(np.asarray(self.twice), state_dims, "a.u.", about)
        for name, error in self.step_errors.items():
            dims, units, long_name = self.described[name]
            about = f"error by the step size of the last {long_name}"
            v[STEP_ERROR + name] = io.Variable(np.asarray(error), dims, units, about)
        if self.states is not None:
            v["states"] = io.Variable(self.states, ("time", *state_dims), "a.u.", "saved states")
        attributes = {"kind": self.kind, "info": self.info, "input": self.input}
        return io.Dataset(v, attributes, self.kept.packed())

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Solution:
        v = data.variables
        axes = {d: v[d].data for d in v["final"].dims if d in v}
        errors = {name for name in v if name.startswith(STEP_ERROR)}
        known = {"time", "final", "states", TWICE, *axes, *errors}
        observables, described, sparse, coordinates = {}, {}, {}, {}
        for name, item in v.items():
            if name in known or item.dims[:1] == (name,):
                if item.dims == (name,) and name not in known and not name.startswith("time_"):
                    coordinates[name] = item.data
                continue
            observables[name] = item.data
            described[name] = (item.dims[1:], item.units, item.long_name)
            if item.dims[0] != "time":
                sparse[name] = v[item.dims[0]].data
        states = v["states"].data if "states" in v else None
        info = decoded(data.attributes.get("info", "{}"))
        return cls(
            v["time"].data,
            observables,
            v["final"].data,
            states,
            info,
            axes,
            sparse,
            described,
            coordinates,
            str(data.attributes.get("input", "")),
            Kept.of_file(data, info),
            {name.removeprefix(STEP_ERROR): v[name].data for name in errors},
            v[TWICE].data if TWICE in v else None,
        )

    @property
    def notes(self) -> list[str]:
        told = self.info.get("step_check")
        return [f"error of the final state by the step size: {told}"] if told else []

    def numbers(self) -> dict[str, Any]:
        known = self.step_errors
        few = {n: d for n, d in self.observables.items() if np.size(d[-1]) <= tables.MOST_VALUES}
        return {
            "kind": self.kind,
            "time": self.times[-1],
            "records": len(self.times),
            "final": {name: data[-1] for name, data in few.items()},
            "errors": {key: self.info[key] for key in ERRORS if key in self.info}
            | {f"{name}_step_error": self.step_errors[name] for name in few if name in known},
            "info": self.info,
        }

    def summary(self) -> str:
        span = f"t = {self.times[0]:g} … {self.times[-1]:g} a.u."
        span += f" ({units.to_fs(self.times[-1] - self.times[0]):.4g} fs)"
        errors = tables.columns("error", "value")
        for key, meaning in ERRORS.items():
            if key in self.info:
                errors.add_row(meaning, tables.short(self.info[key], 3))
        if self._unchecked:
            errors.add_row(ERRORS["step_check"], UNCHECKED)
        how = tables.columns("made with", "")
        for key, value in tables.facts(self.info, ERRORS).items():
            how.add_row(key.replace("_", " "), value)
        title = f"{span}, {len(self.times)} records"
        return tables.rendered(title, self._course(), errors, how)

    @property
    def _unchecked(self) -> bool:
        """Whether nobody asked for the error by the step size."""
        return not {"step_error", "step_check"} & self.info.keys()

    def _course(self) -> Table:
        grid = tables.columns("observable", "first", "last")
        if self.step_errors:
            grid.add_column("error by the step", justify="right")
        for column in ("smallest", "largest", "unit"):
            grid.add_column(column, justify="left" if column == "unit" else "right")
        for name, data in self.observables.items():
            unit = self.described[name][1]
            if np.size(data[-1]) > tables.MOST_VALUES:
                empty = [""] * (4 if self.step_errors else 3)
                grid.add_row(name, f"array {'×'.join(map(str, data.shape))}", *empty, unit)
                continue
            errors = np.ravel(self.step_errors.get(name, []))
            for i, column in enumerate(data.reshape(len(data), -1).T):
                values = [
                    f"{v:.8g}" for v in (column[0], column[-1], np.min(column), np.max(column))
                ]
                if self.step_errors:
                    values.insert(2, f"{errors[i]:.1e}" if i < len(errors) else "")
                label = name if data.ndim == 1 else f"{name} {i}"
                grid.add_row(label, *values, unit)
        return grid

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} … {self.times[-1]:g} a.u." if len(self.times) else "empty"
        lines = [f"Solution: {len(self.times)} records, t = {span}"]
        for name, data in self.observables.items():
            last = np.ravel(data[-1])
            shown = ", ".join(f"{x:.8g}" for x in last[:4]) + (", …" if last.size > 4 else "")
            lines.append(f"  {name:<26} {'×'.join(map(str, data.shape)):<12} last {shown}")
        lines += [f"  {key:<26} {value}" for key, value in tables.facts(self.info).items()]
        if self._unchecked:
            lines.append(f"  {'error by the step':<26} {UNCHECKED}")
        return "\n".join(lines)
