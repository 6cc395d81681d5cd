"""What estimators found, as tables, programs and files have it.

Each estimator gives arrays by name: mean and error over x, or on a grid, and where that lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from zitter import io
from zitter.qmc.statistics import with_error

Found = Mapping[str, Mapping[str, np.ndarray]]

# Abscissas of the estimators; momenta are in units of the Fermi wave vector.
ABSCISSAS = {
    "pair_correlation": ("bohr", "distance"),
    "structure_factor": ("1/bohr", "wave vector"),
    "momentum_density": ("1", "wave vector / Fermi wave vector"),
    "radial_density": ("bohr", "distance"),
    "dipole_moment": ("1", "component"),
    "forces": ("1", "nucleus"),
}
# What the estimators measure, where it is not a pure number.
MEASURED = {
    "radial_density": "1/bohr^3",
    "density": "1/bohr^3",
    "dipole_moment": "bohr",
    "forces": "hartree/bohr",
}
# What goes with values: where those on a grid are, and of what kind. Their dimensions.
GRID = {
    "origin": ("component",),
    "steps": ("axis", "component"),
    "nuclei": ("nucleus", "charge_and_position"),
    "subtract_mean": (),
    "outside": (),
    "outside_error": (),
}


def numbers(estimators: Found) -> dict[str, Any]:
    """What is short enough for programs: vectors, and what a grid has missed."""
    found: dict[str, Any] = {}
    if "dipole_moment" in estimators:
        dipole = estimators["dipole_moment"]
        found["dipole_moment"] = dipole["mean"].tolist()
        found["dipole_moment_error"] = dipole["error"].tolist()
    if "forces" in estimators:
        forces = estimators["forces"]
        found["forces"] = forces["mean"].T.tolist()  # a row for each nucleus
        found["forces_error"] = forces["error"].T.tolist()
    density = estimators.get("density", {})
    if "outside" in density:
        found["density_outside"] = float(density["outside"])
        found["density_outside_error"] = float(density["outside_error"])
    return found


def told(estimators: Found) -> dict[str, str]:
    """The same for people."""
    lines = {}
    if "dipole_moment" in estimators:
        dipole = estimators["dipole_moment"]
        shown = map(with_error, dipole["mean"].tolist(), dipole["error"].tolist())
        lines["dipole moment"] = f"({', '.join(shown)}) e·bohr"
    if "forces" in estimators:
        forces = estimators["forces"]
        for i, (mean, error) in enumerate(zip(forces["mean"].T, forces["error"].T, strict=True)):
            shown = ", ".join(map(with_error, mean.tolist(), error.tolist()))
            lines[f"force on nucleus {i + 1}"] = f"({shown}) hartree/bohr"
    density = estimators.get("density", {})
    if "outside" in density:
        missed = with_error(float(density["outside"]), float(density["outside_error"]))
        lines["outside the density"] = f"{missed} electrons: beyond the box of its grid"
    return lines


def variables(estimators: Found) -> dict[str, io.Variable]:
    """All of it, for files."""
    found = {}
    for name, parts in estimators.items():
        for part, values in parts.items():
            dims = tuple(f"{name}__{dim}" for dim in _dims(part, np.ndim(values)))
            unit, about = MEASURED.get(name, "1"), part
            if part == "x":
                unit, about = ABSCISSAS.get(name, ("a.u.", "x"))
            elif part in GRID:
                unit = "1" if part.startswith("outside") else "a.u."
            label = f"{name.replace('_', ' ')}: {about.replace('_', ' ')}"
            found[f"{name}__{part}"] = io.Variable(values, dims, unit, label)
    return found


def _dims(part: str, axes: int) -> tuple[str, ...]:
    """Names of the dimensions of an estimator's array: over x, rows over x, or rows of a grid."""
    if part in GRID:
        return GRID[part]
    return ("x",) if axes == 1 else ("row", "x") if axes == 2 else ("row", "a", "b", "c")[:axes]
