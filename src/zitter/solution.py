"""What a run returns: arrays with names, their errors, and how they were made."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from zitter import checks, io


@dataclasses.dataclass
class Solution:
    """The course of a run: `times`, `observables[name]`, `final`, and `states` if saved.

    `info` holds what the numbers are worth and how they were made: method, steps, norm loss, error
    estimate, wall time, device, precision.
    """

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

    def times_of(self, name: str) -> np.ndarray:
        """The times at which one observable was recorded."""
        return self.sparse_times.get(name, self.times)

    def dataset(self) -> io.Dataset:
        v = {"time": io.Variable(self.times, ("time",), "a.u. time", "time")}
        for name, points in {**self.axes, **self.coordinates}.items():
            v[name] = _coordinate(name, points)
        for name, data in self.observables.items():
            dims, units, long_name = self.described[name]
            clock = "time"
            if name in self.sparse_times:
                clock = f"time_{name}"
                v[clock] = io.Variable(self.sparse_times[name], (clock,), "a.u. time", "time")
            v[name] = io.Variable(data, (clock, *dims), units, long_name)
        state_dims = tuple(self.axes)
        v["final"] = io.Variable(np.asarray(self.final), state_dims, "a.u.", "final state")
        if self.states is not None:
            v["states"] = io.Variable(self.states, ("time", *state_dims), "a.u.", "saved states")
        return io.Dataset(v, {"kind": "evolution", "info": self.info, "input": self.input})

    def save(self, path: str | os.PathLike[str]) -> None:
        io.write(path, self.dataset())

    def to_xarray(self) -> Any:
        return io.to_xarray(self.dataset())

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Solution:
        v = data.variables
        axes = {d: v[d].data for d in v["final"].dims if d in v}
        known = {"time", "final", "states", *axes}
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
        return cls(
            v["time"].data,
            observables,
            v["final"].data,
            states,
            _decoded(data.attributes.get("info", "{}")),
            axes,
            sparse,
            described,
            coordinates,
            str(data.attributes.get("input", "")),
        )

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} … {self.times[-1]:g} a.u." if len(self.times) else "empty"
        lines = [f"Solution: {len(self.times)} records, t = {span}"]
        for name, data in self.observables.items():
            last = np.ravel(data[-1])
            shown = ", ".join(f"{x:.8g}" for x in last[:4]) + (", …" if last.size > 4 else "")
            lines.append(f"  {name:<26} {'×'.join(map(str, data.shape)):<12} last {shown}")
        lines += [f"  {key:<26} {_shown(value)}" for key, value in self.info.items()]
        return "\n".join(lines)


@dataclasses.dataclass
class Eigenstates:
    """Stationary states: `energies`, `states`, and how far each is from exact.

    `residuals` are ‖Hφ − Eφ‖; some eigenvalue of the discrete H lies within that of each energy.
    """

    energies: np.ndarray
    states: Any
    residuals: np.ndarray
    info: dict[str, Any]
    axes: dict[str, np.ndarray]
    input: str = ""

    def dataset(self) -> io.Dataset:
        dims = ("state", *self.axes)
        v = {name: _coordinate(name, points) for name, points in self.axes.items()}
        v["energies"] = io.Variable(np.asarray(self.energies), ("state",), "hartree", "energies")
        v["residuals"] = io.Variable(
            np.asarray(self.residuals), ("state",), "hartree", "residual norms, bounds on the error"
        )
        v["states"] = io.Variable(np.asarray(self.states), dims, "a.u.", "eigenstates")
        return io.Dataset(v, {"kind": "eigenstates", "info": self.info, "input": self.input})

    def save(self, path: str | os.PathLike[str]) -> None:
        io.write(path, self.dataset())

    def to_xarray(self) -> Any:
        return io.to_xarray(self.dataset())

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Eigenstates:
        v = data.variables
        axes = {d: v[d].data for d in v["states"].dims[1:] if d in v}
        return cls(
            v["energies"].data,
            v["states"].data,
            v["residuals"].data,
            _decoded(data.attributes.get("info", "{}")),
            axes,
            str(data.attributes.get("input", "")),
        )

    def __repr__(self) -> str:
        lines = [f"Eigenstates: {len(self.energies)} states", "  n   energy (hartree)     residual"]
        for n, (e, r) in enumerate(zip(self.energies, self.residuals, strict=True)):
            lines.append(f"  {n:<3} {e:<20.12g} {r:.1e}")
        lines += [f"  {key:<18} {_shown(value)}" for key, value in self.info.items()]
        return "\n".join(lines)


# What a file's attribute "kind" stands for; Monte Carlo adds its own.
KINDS: dict[str, Any] = {"evolution": Solution, "eigenstates": Eigenstates}


def load(path: str | os.PathLike[str]) -> Solution | Eigenstates:
    """What `save` wrote: a file, or the output directory of `zitter run`."""
    if os.path.isdir(path):
        path = os.path.join(path, "result.h5")
    if not os.path.exists(path):
        raise checks.InputError("file", f'must exist, but there is no "{path}"')
    data = io.read(path)
    kind = data.attributes.get("kind")
    if kind not in KINDS:
        raise checks.InputError("file", f'must be a zitter result, but "{path}" is not one')
    try:
        return KINDS[kind].from_dataset(data)
    except KeyError as error:
        raise checks.InputError(
            "file", f'must be a whole zitter result, but "{path}" lacks {error.args[0]}'
        ) from None


def _coordinate(name: str, points: Any) -> io.Variable:
    """Places are in bohr; whole numbers count levels, states or channels."""
    points = np.asarray(points)
    return io.Variable(points, (name,), "1" if points.dtype.kind in "iu" else "bohr")


def _decoded(text: Any) -> dict[str, Any]:
    import json

    return json.loads(text) if isinstance(text, str) else dict(text)


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) > 6:
        return f"{len(value)} values, the last {_shown(value[-1])}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
