"""What a sweep gave against what was varied: curves with error bars over one key, maps over two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, tables
from zitter.plot import style
from zitter.results import evolution, stationary
from zitter.results.sweep import COURSE, Sweep, require_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 6
_MOST_TICKS = 8  # values that are told one by one
_NOT_DRAWN = ("final_time", "blocks", "residuals", *evolution.ERRORS, *stationary.ERRORS)


def overview(sweep: Sweep, **options: Any) -> Figure:
    """One panel for each quantity; items that are missing leave a gap."""
    require_axes(sweep, 2)
    panels = _panels(sweep)
    if not panels:
        raise checks.InputError(
            "sweep", "must hold numbers to be drawn, but has none: no item is done"
        )
    columns = 1 if len(panels) == 1 else 2
    rows = max(1, -(-len(panels) // columns))
    figure = style.new_figure(5.2 * columns, 3.0 * rows)
    grid = figure.add_gridspec(rows, columns)
    for i, (name, data, errors) in enumerate(panels):
        ax = style.dress(figure.add_subplot(grid[i // columns, i % columns]))
        (_curves if len(sweep.axes) == 1 else _map)(ax, sweep, name, data, errors)
    title = sweep.info.get("title", "")
    if title:
        figure.suptitle(title, fontsize=12, color=style.INK, fontweight="bold")
    return figure


Panel = tuple[str, np.ndarray, np.ndarray | None]  # of a quantity, with its errors


def _panels(sweep: Sweep) -> list[Panel]:
    """Quantities that change, errors where there is nothing else; on maps each component has its
    own panel."""
    every = {n: d for n, d in sweep.values.items() if not n.endswith(COURSE)}
    shown = {n: d.reshape(*sweep.shape, -1)[..., : tables.MOST_VALUES] for n, d in every.items()}
    errors = {name: _errors_of(name, shown) for name in shown}
    bars = {error for error in errors.values() if error}
    names = [n for n in shown if n not in _NOT_DRAWN and n not in bars] or list(shown)
    found: list[Panel] = []
    for name in names:
        lines, error = shown[name], errors[name]
        spread = shown[error] if error and shown[error].shape == lines.shape else None
        if len(sweep.axes) == 1:
            found.append((name, lines, spread))
            continue
        for i in range(lines.shape[-1]):
            title = f"{name} {i}" if lines.shape[-1] > 1 else name
            found.append((title, lines[..., i], None if spread is None else spread[..., i]))
    there = [panel for panel in found if np.isfinite(panel[1]).any()]
    return ([panel for panel in there if _changes(panel[1])] or there)[:_MOST_PANELS]


def _errors_of(name: str, names: Any) -> str | None:
    """What a sweep calls the errors of a quantity."""
    likely = [f"{name}_error", f"{name}_step_error"]
    if name == "energies":
        likely = ["energy_errors", "error_bounds"]
    elif name.endswith("_energy"):  # of a part of the energy
        likely.append(f"{name.removesuffix('_energy')}_error")
    return next((error for error in likely if error in names), None)


def _changes(data: np.ndarray) -> bool:
    there = np.abs(data[np.isfinite(data)])
    return there.size > 0 and float(np.ptp(data[np.isfinite(data)])) > 1e-9 * float(there.max())


def _curves(
    ax: Axes, sweep: Sweep, name: str, lines: np.ndarray, errors: np.ndarray | None
) -> None:
    ((key, x),) = sweep.axes.items()
    several = lines.shape[-1] > 1
    drawn = [i for i in range(lines.shape[-1]) if np.isfinite(lines[:, i]).any()]
    drawn = [i for i in drawn if _changes(lines[:, i])] or drawn
    for i in drawn:
        bars = None if errors is None else np.nan_to_num(np.abs(errors[:, i]))
        color = style.COLORS[i % len(style.COLORS)]
        ax.errorbar(
            x, np.real(lines[:, i]), bars, fmt="o-", ms=3, lw=1.2, capsize=2, color=color,
            label=str(i),
        )  # fmt: skip
    if several:
        ax.legend(fontsize=7, frameon=False)
    _scale(ax, sweep, key, "x")
    ax.set_ylabel(_label(sweep, name))


def _map(ax: Axes, sweep: Sweep, name: str, data: np.ndarray, errors: np.ndarray | None) -> None:
    (down, y), (across, x) = sweep.axes.items()
    edges = (_edges(values, _logarithmic(sweep, key)) for key, values in ((across, x), (down, y)))
    image = ax.pcolormesh(*edges, np.real(data), cmap=style.DENSITY_MAP)
    bar = style.figure_of(ax).colorbar(image, ax=ax)
    bar.set_label(_label(sweep, name), fontsize=9)
    bar.ax.tick_params(labelsize=8)
    if errors is not None and np.isfinite(errors).any():
        ax.set_title(f"errors up to {np.nanmax(np.abs(errors)):.1e}", fontsize=8)
    _scale(ax, sweep, across, "x")
    _scale(ax, sweep, down, "y")


def _edges(values: np.ndarray, logarithmic: bool) -> np.ndarray:
    """Where the fields of a map end: half-way between values, as far beyond the outer ones."""
    x = np.log(values) if logarithmic else np.asarray(values, float)
    middle = (x[1:] + x[:-1]) / 2
    ends = (2 * x[0] - middle[0], 2 * x[-1] - middle[-1]) if len(x) > 1 else (x[0] - 1, x[0] + 1)
    found = np.concatenate([[ends[0]], middle, [ends[1]]])
    return np.exp(found) if logarithmic else found


def _scale(ax: Axes, sweep: Sweep, key: str, side: str) -> None:
    values = sweep.axes[key]
    ax.set(**{f"{side}label": sweep.title(key)})
    if key in sweep.labels:
        ax.set(**{f"{side}ticks": values, f"{side}ticklabels": sweep.labels[key]})
        return
    if _logarithmic(sweep, key):
        ax.set(**{f"{side}scale": "log"})
    if _few_whole_numbers(values, _logarithmic(sweep, key)):
        ax.set(**{f"{side}ticks": values, f"{side}ticklabels": [f"{x:g}" for x in values]})
        ax.tick_params(
            axis="x" if side == "x" else "y",
            which="minor",
            length=0,
            labelbottom=False,
            labelleft=False,
        )


def _few_whole_numbers(values: np.ndarray, logarithmic: bool) -> bool:
    """Between lmax = 2 and lmax = 3 there is nothing; ticks need room for their labels."""
    if (
        not 1 < len(values) <= _MOST_TICKS
        or np.any(values % 1 != 0)
        or np.any(np.abs(values) > 1e6)
    ):
        return False
    places = np.sort(np.log(values) if logarithmic else values)
    return bool(np.min(np.diff(places)) > np.ptp(places) / 12)


def _logarithmic(sweep: Sweep, key: str) -> bool:
    """Whether ratios of the values are more alike than their differences."""
    values = sweep.axes[key]
    if key in sweep.labels or len(values) < 3 or not np.all(values > 0):
        return False
    ratios, steps = np.diff(np.log(values)), np.diff(values)
    return bool(np.ptp(ratios) * abs(np.mean(steps)) < np.ptp(steps) * abs(np.mean(ratios)))


def _label(sweep: Sweep, name: str) -> str:
    known = sweep.described.get(name) or sweep.described.get(name.rpartition(" ")[0])
    unit = known[1] if known else ""
    return name.replace("_", " ") + (f" ({unit})" if unit not in ("", "1") else "")
