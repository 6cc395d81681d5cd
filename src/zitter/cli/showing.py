"""`zitter show`: the numbers of a result, each with what is known about its error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from zitter import io, units
from zitter.solution import Eigenstates, Solution, load

# Entries of `info` that say how good the numbers are.
ERRORS = {
    "step_error": "error of the final state by the step size (from a run with twice the step)",
    "norm_loss": "probability lost (absorbed, or the propagator's error)",
    "error_estimate": "error of the steps, summed (freezing H(t) in a step is not in it)",
    "tolerance_per_step": "tolerance per step",
    "initial_residual": "residual of the initial state (hartree)",
}
# Entries of `info` with one value for each stationary state.
LEVEL_ERRORS = {"error_bounds": "solver error", "box_errors": "error by the box"}
MOST_VALUES = 16  # longer arrays are not for a table or a line of JSON


def show(path: Path, as_json: bool) -> int:
    file = path / "result.h5" if path.is_dir() else path
    samples = monte_carlo(file)
    if samples is not None:
        print(samples.summary())
        if as_json:
            print_json({"file": str(file), **samples.numbers()})
        return 0
    result = load(path)
    print_result(result, file)
    if as_json:
        print_json(numbers(result, file))
    return 0


def monte_carlo(file: Path) -> Any:
    """The result in a file of a Monte Carlo run, or None for any other file."""
    kinds = ("monte carlo", "optimization")
    if not file.is_file() or io.read(file).attributes.get("kind") not in kinds:
        return None
    from zitter import qmc  # noqa: F401  (lets `load` know these kinds, and brings JAX along)

    return load(file)


def numbers(result: Solution | Eigenstates, path: Path) -> dict[str, Any]:
    """The key numbers, for `--json`."""
    if isinstance(result, Eigenstates):
        return {
            "kind": "eigenstates",
            "file": str(path),
            "energies": result.energies,
            "residuals": result.residuals,
            "info": result.info,
        }
    final = {n: d[-1] for n, d in result.observables.items() if np.size(d[-1]) <= MOST_VALUES}
    return {
        "kind": "evolution",
        "file": str(path),
        "time": result.times[-1],
        "records": len(result.times),
        "final": final,
        "errors": {key: result.info[key] for key in ERRORS if key in result.info},
        "info": result.info,
    }


def print_json(value: dict[str, Any]) -> None:
    print(json.dumps(_plain(value)))


def print_result(result: Solution | Eigenstates, path: Path) -> None:
    if isinstance(result, Eigenstates):
        print(rendered(f"{path}", _energies(result), _how(result)))
        return
    span = f"t = {result.times[0]:g} … {result.times[-1]:g} a.u."
    span += f" ({units.to_fs(result.times[-1] - result.times[0]):.4g} fs)"
    title = f"{path}\n{span}, {len(result.times)} records"
    print(rendered(title, _course(result), _errors(result), _how(result)))


def table(title: str, rows: dict[str, str]) -> str:
    """Two columns, as text."""
    grid = _new("", "")
    for key, value in rows.items():
        grid.add_row(key, value)
    return rendered(title, grid)


def _course(result: Solution) -> Table:
    grid = _new("observable", "first", "last")
    for column in ("smallest", "largest", "unit"):
        grid.add_column(column, justify="left" if column == "unit" else "right")
    for name, data in result.observables.items():
        unit = result.described[name][1]
        if data.ndim == 1:
            values = [data[0], data[-1], np.min(data), np.max(data)]
            grid.add_row(name, *(f"{v:.8g}" for v in values), unit)
        elif np.size(data[-1]) <= MOST_VALUES:
            for i, column in enumerate(data.reshape(len(data), -1).T):
                values = [column[0], column[-1], np.min(column), np.max(column)]
                grid.add_row(f"{name} {i}", *(f"{v:.8g}" for v in values), unit)
        else:
            grid.add_row(name, f"array {'×'.join(map(str, data.shape))}", "", "", "", unit)
    return grid


def _errors(result: Solution) -> Table:
    grid = _new("error", "value")
    for key, meaning in ERRORS.items():
        if key in result.info:
            grid.add_row(meaning, _short(result.info[key], 3))
    return grid


def _energies(result: Eigenstates) -> Table:
    grid = _new("state", "energy (hartree)", "energy (eV)", "residual")
    errors = {title: result.info[key] for key, title in LEVEL_ERRORS.items() if key in result.info}
    for title in errors:
        grid.add_column(title, justify="right")
    for n, (energy, residual) in enumerate(zip(result.energies, result.residuals, strict=True)):
        cells = [f"{energy:.12g}", f"{units.to_ev(energy):.8g}", f"{residual:.1e}"]
        grid.add_row(str(n), *cells, *(f"{column[n]:.1e}" for column in errors.values()))
    return grid


def _how(result: Solution | Eigenstates) -> Table:
    grid = _new("made with", "")
    for key, value in result.info.items():
        if key not in {*ERRORS, *LEVEL_ERRORS} and value not in ("", None):
            grid.add_row(key.replace("_", " "), _short(value))
    return grid


def _short(value: Any, digits: int = 6) -> str:
    if isinstance(value, list) and all(isinstance(item, float) for item in value):
        return ", ".join(f"{item:.3g}" for item in value)
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _new(first: str, *others: str) -> Table:
    grid = Table(box=box.SIMPLE_HEAD)
    grid.show_header = any((first, *others))
    grid.add_column(first)
    for name in others:
        grid.add_column(name, justify="right" if name else "left")
    return grid


def rendered(title: str, *parts: Table) -> str:
    """As text: styled on a terminal, plain in a log, never cut off."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    with console.capture() as captured:
        console.print(Text(title, style="bold"))
        console.print(Group(*(part for part in parts if part.row_count)), end="")
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _plain(value: Any) -> Any:
    """Plain numbers and lists; what JSON has no number for becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, complex | np.complexfloating):
        return [_plain(value.real), _plain(value.imag)]
    return value
