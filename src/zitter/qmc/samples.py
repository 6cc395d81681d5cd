"""What a Monte Carlo run returns: energies with error bars, traces, and how they were made."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, ClassVar

import numpy as np

from zitter import checks, cube, io, tables
from zitter.qmc import measured
from zitter.qmc.statistics import (
    MANY_BLOCKS,
    Estimate,
    judged,
    note_on,
    reblock,
    stands_still,
    unknown,
    with_error,
    with_groups,
)
from zitter.results.base import Result

# Traces that are not energies in the system's units: (unit, label).
OTHERS = {
    "variance": ("hartree^2", "variance of the local energy of all electrons"),
    "acceptance": ("1", "accepted fraction of moves"),
    "population": ("1", "effective number of walkers"),
    "effective_timestep": ("a.u.", "effective time step"),
}
WITHOUT_ERRORS = ("acceptance", "population")  # of which means alone are told
SCATTER = "scatter"  # ends the names of stored `scatter`


@dataclasses.dataclass(repr=False)
class Samples(Result):
    """The course of a Monte Carlo run.

    `traces[name]` holds one number per block for each part of the energy (in `units`), `weights`
    the weight of each block, `start` the first block that counts. `estimators[name]` are arrays
    (mean, error) over the coordinate x, or on a grid (rows of charge and spin); rows of forces are
    components. `divisor` is what
    energies of the whole system were divided by; files of earlier versions do not tell it (None).
    `scatter[name]` is what each of some groups of walkers adds to the deviation of a mean; where
    they are not known, or the run is long, error bars come from the series alone.
    """

    kind: ClassVar[str] = "monte carlo"

    traces: dict[str, np.ndarray]
    weights: np.ndarray
    start: int
    units: str
    info: dict[str, Any]
    estimators: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    positions: np.ndarray | None = None
    input: str = ""
    divisor: int | None = None
    scatter: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def estimate(self, name: str = "energy") -> Estimate:
        """Mean and error of one trace, over the blocks after equilibration."""
        kept = slice(self.start, None)
        found = reblock(self.traces[name][kept], self.weights[kept])
        residuals = self.scatter.get(name, np.zeros(0))
        if found.blocks < MANY_BLOCKS and len(residuals) >= 2:
            found = with_groups(found, residuals)
        # Walkers that stand still scatter as well, since they stand at different places.
        traces = {name: trace[kept] for name, trace in self.traces.items()}
        return unknown(found) if stands_still(traces, self.divisor) else judged(found)

    @property
    def energy(self) -> float:
        return self.estimate().mean

    @property
    def energy_error(self) -> float:
        return self.estimate().error

    @property
    def total_energy(self) -> float:
        """The energy of the whole system, in hartree."""
        return self.energy * self._all()

    @property
    def total_energy_error(self) -> float:
        return self.energy_error * self._all()

    def _all(self) -> float:
        if self.divisor is None:
            raise checks.InputError(
                "total_energy",
                f"must be in the file, but it holds the energy in {self.units} alone",
            )
        return self.divisor

    @property
    def variance(self) -> float:
        """Variance of the local energy of the whole system, in hartree²."""
        return self.estimate("variance").mean

    @property
    def acceptance(self) -> float:
        return self.estimate("acceptance").mean

    @property
    def parts(self) -> dict[str, Estimate]:
        """The parts of the energy by name, each with its error, in `units`."""
        others = {"energy", "growth_energy", *OTHERS}
        return {name: self.estimate(name) for name in self.traces if name not in others}

    @property
    def notes(self) -> list[str]:
        """What is to be known beside the numbers, as that an error bar is itself uncertain."""
        said = [*self.info.get("notes", []), self.note_on_errors]
        return [note for note in dict.fromkeys(said) if note]

    @property
    def note_on_errors(self) -> str:
        """What is said of error bars of traces: of the energy's, else of those that have no groups
        of walkers and rest on little."""
        own = self.estimate()
        if own.note:
            return own.note
        others = {name: self.estimate(name) for name in self.traces if name not in WITHOUT_ERRORS}
        few = {name: one.effective_samples for name, one in others.items() if one.note}
        return note_on(few, own.samples)

    def write_cube(self, path: str | os.PathLike[str], spin: bool = False) -> None:
        """The density that `Density` measured, or that of spin, as a Gaussian cube file."""
        if "density" not in self.estimators:
            raise checks.InputError("estimators", "must hold a Density to write a cube file")
        found = self.estimators["density"]
        values = found["mean"][1 if spin else 0]
        if values.ndim != 3:
            raise checks.InputError("density", f"must be in space, but has {values.ndim} axes")
        atoms = [(row[0], row[1:].tolist()) for row in found["nuclei"]]
        middle = found["origin"] + 0.5 * (np.array(values.shape) - 1) @ found["steps"]
        comment = f"{self.info['method']}: {'spin density' if spin else 'density'} of electrons"
        shown = atoms or [(0.0, middle.tolist())]
        cube.write_tilted_cube(path, values, found["origin"], found["steps"], shown, comment)

    def numbers(self) -> dict[str, Any]:
        found = {
            "kind": self.kind,
            "energy": self.energy,
            "energy_error": self.energy_error,
            "units": self.units,
            "parts": {
                name: {"energy": part.mean, "error": part.error}
                for name, part in self.parts.items()
            },
            "variance": self.variance,
            "variance_error": self.estimate("variance").error,
            "acceptance": self.acceptance,
            "blocks": len(self.weights) - self.start,
            "notes": self.notes,
            "info": self.info,
        }
        if self.divisor is not None:
            found |= {
                "total_energy": self.total_energy,
                "total_energy_error": self.total_energy_error,
            }
        if "population" in self.traces:
            found["population"] = self.estimate("population").mean
        for name in ("growth_energy", "effective_timestep"):
            if name in self.traces:
                part = self.estimate(name)
                found |= {name: part.mean, f"{name}_error": part.error}
        return found | measured.numbers(self.estimators)

    def summary(self) -> str:
        """A table for people: every energy with its error bar."""
        energy = self.estimate()
        lines = [
            f"{self.info['method']}: {self.info['system']}",
            f"  {'energy':<22} {with_error(energy.mean, energy.error)} {self.units}",
        ]
        if self.divisor not in (None, 1):
            shown = with_error(self.total_energy, self.total_energy_error)
            lines.append(f"  {'total energy':<22} {shown} hartree")
        for name in self.traces:
            if name in ("energy", "variance", "acceptance", "population"):
                continue
            part = self.estimate(name)
            unit = OTHERS[name][0] if name in OTHERS else self.units
            shown = with_error(part.mean, part.error)
            lines.append(f"  {name.replace('_', ' '):<22} {shown} {unit}".rstrip())
        lines += [f"  {what:<22} {told}" for what, told in measured.told(self.estimators).items()]
        variance = self.estimate("variance")
        shown = with_error(variance.mean, variance.error)
        lines += [
            f"  {'variance':<22} {shown} hartree² for all electrons",
            f"  {'acceptance':<22} {100 * self.acceptance:.1f} %",
        ]
        if "population" in self.traces:
            population = self.estimate("population")
            walkers = self.info["walkers"]
            lines.append(f"  {'population':<22} {population.mean:.1f} effective of {walkers}")
        how = f"about {max(1, round(energy.effective_samples))} independent"
        if energy.groups:
            how = f"errors by the scatter of {energy.groups} groups of walkers"
        lines += [
            f"  {'autocorrelation time':<22} {energy.autocorrelation_time:.2f} blocks",
            f"  {'blocks':<22} {len(self.weights) - self.start} kept of {len(self.weights)}, {how}",
        ]
        told = tables.facts(self.info, ("method", "system", "notes", "twists"))
        lines += [f"  {key.replace('_', ' '):<22} {text}" for key, text in told.items()]
        for row in self.info.get("twists", []):
            shown = ", ".join(f"{x:g}" for x in row["twist"])
            found = row["energy"]
            text = "left out" if found is None else with_error(found, row["error"])
            lines.append(f"  {f'twist ({shown})':<22} {text}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def dataset(self) -> io.Dataset:
        v = {"block": io.Variable(np.arange(len(self.weights)), ("block",), "1", "block")}
        for name, trace in self.traces.items():
            unit, label = OTHERS.get(name, (self.units, name.replace("_", " ")))
            v[name] = io.Variable(trace, ("block",), unit, label)
        v["weight"] = io.Variable(self.weights, ("block",), "1", "weight of the block")
        v |= measured.variables(self.estimators)
        for name, residuals in self.scatter.items():
            label = f"{name.replace('_', ' ')}: what groups of walkers add to its deviation"
            v[f"{name}__{SCATTER}"] = io.Variable(residuals, ("group",), self.units, label)
        if self.positions is not None:
            dims = ("walker", "component", "electron")
            v["positions"] = io.Variable(self.positions, dims, "bohr", "last positions")
        attributes = {
            "kind": self.kind,
            "info": self.info | ({"notes": self.notes} if self.notes else {}),
            "input": self.input,
            "units": self.units,
            "start": str(self.start),
        }
        if self.divisor is not None:
            attributes |= {
                "divisor": str(self.divisor),
                "total_energy": repr(float(self.total_energy)),
                "total_energy_error": repr(float(self.total_energy_error)),
            }
        return io.Dataset(v, attributes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Samples:
        return cls.from_dataset(io.read(path))

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Samples:
        v = dict(data.variables)
        weights = v.pop("weight").data
        v.pop("block")
        positions = v.pop("positions").data if "positions" in v else None
        estimators: dict[str, dict[str, np.ndarray]] = {}
        traces, scatter = {}, {}
        for name, item in v.items():
            owner, _, part = name.partition("__")
            if part == SCATTER:
                scatter[owner] = item.data
            elif part:
                estimators.setdefault(owner, {})[part] = item.data
            else:
                traces[name] = item.data
        if any(np.shape(trace)[:1] != np.shape(weights)[:1] for trace in traces.values()):
            raise ValueError  # a file that somebody has changed
        return cls(
            traces,
            weights,
            int(data.attributes["start"]),
            str(data.attributes["units"]),
            json.loads(data.attributes["info"]),
            estimators,
            positions,
            str(data.attributes.get("input", "")),
            int(data.attributes["divisor"]) if "divisor" in data.attributes else None,
            scatter,
        )
