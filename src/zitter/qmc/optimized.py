"""What optimization found, as files keep it: the parameters and the course of every stage."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, ClassVar

import numpy as np

from zitter import io, tables
from zitter.qmc.statistics import with_error
from zitter.results.base import Result


@dataclasses.dataclass(frozen=True)
class Stage:
    """Energies and variances of the parameters that one method went through; `best` was taken."""

    method: str
    units: str
    best: int
    energies: np.ndarray
    errors: np.ndarray
    variances: np.ndarray
    variance_errors: np.ndarray
    verdict: str = ""

    def summary(self) -> str:
        lines = [f"{self.method}", f"  iteration  energy ({self.units})    variance (hartree²)"]
        rows = zip(self.energies, self.errors, self.variances, self.variance_errors, strict=True)
        for index, (energy, error, variance, spread) in enumerate(rows):
            mark = "  ← taken" if index == self.best else ""
            shown = with_error(energy, error)
            lines.append(f"  {index:<10} {shown:<26} {with_error(variance, spread)}{mark}")
        return "\n".join([*lines, f"  {self.verdict}"] if self.verdict else lines)


# The arrays of a stage, with their units; energies are in the system's.
_COURSES = {
    "energies": "",
    "errors": "",
    "variances": "hartree^2",
    "variance_errors": "hartree^2",
}


@dataclasses.dataclass(repr=False)
class Optimized(Result):
    """The result of a run that only optimizes. Its file serves as a file of parameters, too."""

    kind: ClassVar[str] = "optimization"

    parameters: dict[str, io.Variable]
    stages: list[Stage]
    info: dict[str, Any]
    input: str = ""

    @property
    def notes(self) -> list[str]:
        return [f"{stage.method}: {stage.verdict}" for stage in self.stages if stage.verdict]

    def numbers(self) -> dict[str, Any]:
        last = self.stages[-1]
        return {
            "kind": self.kind,
            "energy": last.energies[last.best],
            "energy_error": last.errors[last.best],
            "units": last.units,
            "variance": last.variances[last.best],
            "variance_error": last.variance_errors[last.best],
            "verdict": last.verdict,
            "parameters": {name: v.data.tolist() for name, v in self.parameters.items()},
            "info": self.info,
        }

    def summary(self) -> str:
        lines = [stage.summary() for stage in self.stages]
        for name, variable in self.parameters.items():
            shown = " ".join(f"{x:.6g}" for x in np.ravel(variable.data))
            lines.append(f"  {name:<22} {shown}")
        told = tables.facts(self.info)
        lines += [f"  {key.replace('_', ' '):<22} {text}" for key, text in told.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def dataset(self) -> io.Dataset:
        variables, told = dict(self.parameters), []
        for index, stage in enumerate(self.stages):
            for name, unit in _COURSES.items():
                label = f"stage_{index}_{name}"
                dims = (f"stage_{index}_iteration",)
                variables[label] = io.Variable(getattr(stage, name), dims, unit or stage.units)
            names = ("method", "units", "best", "verdict")
            told.append({name: getattr(stage, name) for name in names})
        attributes = {"kind": self.kind, "info": self.info, "input": self.input}
        return io.Dataset(variables, attributes | {"stages": json.dumps(told)})

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Optimized:
        stages = []
        for index, told in enumerate(json.loads(data.attributes["stages"])):
            courses = [data.variables[f"stage_{index}_{name}"].data for name in _COURSES]
            # Older files have no verdict.
            verdict = told.get("verdict", "")
            told = told["method"], told["units"], told["best"]
            stages.append(Stage(*told, *courses, verdict=verdict))
        parameters = {k: v for k, v in data.variables.items() if not k.startswith("stage_")}
        info = json.loads(data.attributes["info"])
        return cls(parameters, stages, info, str(data.attributes.get("input", "")))
