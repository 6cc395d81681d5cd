"""Stationary states."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from zitter import io, tables, units
from zitter.results.base import Result, coordinate, decoded
from zitter.stored import Kept

# Entries of `info` with one value for each state.
ERRORS = {
    "error_bounds": "solver error",
    "box_errors": "error by the box",
    "basis_errors": "error by the basis",
    "energy_errors": "in all",
}

UNCHECKED = "not checked (basis_check=True)"


@dataclasses.dataclass(repr=False)
class Eigenstates(Result):
    """Stationary states: `energies`, `states`, and how far each is from exact.

    `residuals` are ‖Hφ − Eφ‖; some eigenvalue of the discrete H lies within that of each energy.
    `basis` and `model` are what the states belong to, also after loading.
    """

    kind: ClassVar[str] = "eigenstates"

    energies: np.ndarray
    states: Any
    residuals: np.ndarray
    info: dict[str, Any]
    axes: dict[str, np.ndarray]
    input: str = ""
    kept: Kept = dataclasses.field(default_factory=Kept, compare=False)

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

    def dataset(self) -> io.Dataset:
        dims = ("state", *self.axes)
        v = {name: coordinate(name, points) for name, points in self.axes.items()}
        v["energies"] = io.Variable(np.asarray(self.energies), ("state",), "hartree", "energies")
        v["residuals"] = io.Variable(
            np.asarray(self.residuals), ("state",), "hartree", "residual norms, bounds on the error"
        )
        v["states"] = io.Variable(np.asarray(self.states), dims, "a.u.", "eigenstates")
        attributes = {"kind": self.kind, "info": self.info, "input": self.input}
        return io.Dataset(v, attributes, self.kept.packed())

    @classmethod
    def from_dataset(cls, data: io.Dataset) -> Eigenstates:
        v = data.variables
        axes = {d: v[d].data for d in v["states"].dims[1:] if d in v}
        info = decoded(data.attributes.get("info", "{}"))
        return cls(
            v["energies"].data,
            v["states"].data,
            v["residuals"].data,
            info,
            axes,
            str(data.attributes.get("input", "")),
            Kept.of_file(data, info),
        )

    @property
    def notes(self) -> list[str]:
        named = {"basis_check": "error by the basis", "box_check": "error by the box"}
        told = {name: str(self.info.get(key, "")) for key, name in named.items()}
        notes = [f"{name}: {text}" for name, text in told.items() if text.startswith("none: ")]
        return [*notes, *filter(None, [self.info.get("left_out")])]

    def numbers(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "energies": self.energies,
            "residuals": self.residuals,
            **{key: self.info[key] for key in ERRORS if key in self.info},
            "info": self.info,
        }

    def summary(self) -> str:
        grid = tables.columns("state", "energy (hartree)", "energy (eV)", "residual")
        errors = self._errors()
        for title in errors:
            grid.add_column(title, justify="right")
        for n, (energy, residual) in enumerate(zip(self.energies, self.residuals, strict=True)):
            cells = [f"{energy:.12g}", f"{units.to_ev(energy):.8g}", f"{residual:.1e}"]
            grid.add_row(str(n), *cells, *(f"{column[n]:.1e}" for column in errors.values()))
        how = tables.columns("made with", "")
        for key, value in tables.facts(self.info, ERRORS).items():
            how.add_row(key.replace("_", " "), value)
        if self._unchecked:
            how.add_row("error by the basis", UNCHECKED)
        return tables.rendered(f"{len(self.energies)} stationary states", grid, how)

    @property
    def _unchecked(self) -> bool:
        """Whether nobody asked for the error by the basis, beside which the others may be small."""
        return "error_bounds" in self.info and "basis_check" not in self.info

    def _errors(self) -> dict[str, list[float]]:
        """Columns with one error for each state, by their titles."""
        titles = dict(ERRORS)
        if "basis_errors" in self.info:  # named after what was varied: the spacing, the splines
            titles["basis_errors"] = f"error by the {self.info['basis_check']}"
        return {title: self.info[key] for key, title in titles.items() if key in self.info}

    def __repr__(self) -> str:
        lines = [f"Eigenstates: {len(self.energies)} states", "  n   energy (hartree)     residual"]
        known = self.info.get("energy_errors")
        lines[1] += "    error in all" if known else ""
        for n, (e, r) in enumerate(zip(self.energies, self.residuals, strict=True)):
            lines.append(
                f"  {n:<3} {e:<20.12g} {r:.1e}" + (f"     {known[n]:.1e}" if known else "")
            )
        lines += [f"  {key:<18} {value}" for key, value in tables.facts(self.info).items()]
        if self._unchecked:
            lines.append(f"  {'error by the basis':<18} {UNCHECKED}")
        return "\n".join(lines)
