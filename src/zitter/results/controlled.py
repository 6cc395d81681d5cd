"""What control of a pulse has come to: the pulse, and the course of iterations."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from zitter import io, tables, units
from zitter.results.base import Result, decoded
from zitter.stored import Kept

SAMPLES = 4096  # of the fields in a file


@dataclasses.dataclass(frozen=True)
class Course:
    """One row for the pulse given, then one for each iteration."""

    values: tuple[float, ...] = ()
    fluences: tuple[float, ...] = ()
    gradients: tuple[float, ...] = ()  # norms, in the units of the search
    evaluations: tuple[int, ...] = ()

    def with_iteration(self, value: float, fluence: float, gradient: float, count: int) -> Course:
        return Course(
            (*self.values, value),
            (*self.fluences, fluence),
            (*self.gradients, gradient),
            (*self.evaluations, count),
        )


@dataclasses.dataclass(repr=False)
class Controlled(Result):
    """The result of `zt.control`: `pulse`, its `value`, and `course`, iteration by iteration.

    `start` is the pulse it began with, scaled down where the fluence allowed is less. `info` says
    why it ended, and for `zt.AtEnd` what the value is off by the step.
    """

    kind: ClassVar[str] = "control"

    course: Course
    info: dict[str, Any]
    input: str = ""
    kept: Kept = dataclasses.field(default_factory=Kept, compare=False)

    @property
    def pulse(self) -> Any:
        """The best that was found; None, with a reason in `missing`, where a file could not keep
        it."""
        return self.kept.get("pulse")

    @property
    def start(self) -> Any:
        return self.kept.get("start")

    @property
    def missing(self) -> dict[str, str]:
        return self.kept.missing(("pulse", "start"))

    @property
    def value(self) -> float:
        """Of the objective, for the pulse."""
        return self.info["value_again"]

    def numbers(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "value": self.value,
            "value_at_start": self.course.values[0],
            "step_error": self.info.get("step_error"),
            "fluence": self.info["fluence"],
            "info": self.info,
        }

    def summary(self) -> str:
        course = self.course
        grid = tables.columns("iteration", "objective", "fluence (J/cm²)", "gradient", "runs")
        rows = list(
            zip(course.values, course.fluences, course.gradients, course.evaluations, strict=True)
        )
        shown = range(len(rows)) if len(rows) <= 20 else [*range(10), *range(-10, 0)]
        for index in shown:
            value, fluence, gradient, runs = rows[index]
            cells = (
                f"{value:.8g}",
                f"{fluence * units.FLUENCE_J_PER_CM2:.4g}",
                f"{gradient:.1e}",
                str(runs),
            )
            grid.add_row(str(index % len(rows)), *cells)
        how = tables.columns("", "")
        how.add_row("value", f"{self.value:.8g}")
        for key, value in tables.facts(self.info, ("value_again",)).items():
            how.add_row(key.replace("_", " "), value)
        if self.pulse is not None:
            how.add_row("pulse", repr(self.pulse))
        return tables.rendered("a pulse under control", grid, how)

    def __repr__(self) -> str:
        return self.summary()

    def dataset(self) -> io.Dataset:
        course = self.course
        v = {
            "objective": io.Variable(np.asarray(course.values), ("iteration",), "1", "objective"),
            "fluence": io.Variable(np.asarray(course.fluences), ("iteration",), "a.u.", "∫E² dt"),
            "gradient": io.Variable(
                np.asarray(course.gradients), ("iteration",), "1", "norm of the gradient"
            ),
            "evaluations": io.Variable(
                np.asarray(course.evaluations), ("iteration",), "1", "runs so far"
            ),
        }
        # Others may read the field without knowing our classes.
        if self.pulse is not None:
            times = np.linspace(0.0, float(self.pulse.duration), SAMPLES)
            field = np.asarray(self.pulse.electric_field_xyz(times))
            v["time"] = io.Variable(times, ("time",), "a.u.", "time")
            v["electric_field"] = io.Variable(field, ("time", "component"), "a.u.", "E, as x, y, z")
        attributes = {"kind": self.kind, "info": self.info, "input": self.input}
        return io.Dataset(v, attributes, self.kept.packed())

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Controlled:
        v, info = data.variables, decoded(data.attributes["info"])
        rows = (v[name].data for name in ("objective", "fluence", "gradient", "evaluations"))
        course = Course(*(tuple(row.tolist()) for row in rows))
        return cls(course, info, str(data.attributes.get("input", "")), Kept.of_file(data, info))
