"""Observables over time, one panel each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zitter import checks
from zitter.plot import style
from zitter.results import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 8


def observables(solution: Solution, names: Sequence[str] | None = None) -> Figure:
    """Every observable that is a number or a few numbers, or only those named."""
    names = list(drawable(solution)) if names is None else list(names)
    for name in names:
        if name not in solution.observables:
            have = ", ".join(solution.observables) or "none"
            raise checks.InputError("names", f'must be of {have}, but has "{name}"')
    if not names:
        raise checks.InputError("observables", "must have been recorded to be drawn, but were not")
    figure = style.new_figure(7.0, 1.1 + 1.5 * len(names))
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for i, (name, ax) in enumerate(zip(names, axes, strict=True)):
        one(solution, name, ax, color=style.COLORS[i % len(style.COLORS)])
        ax.label_outer()
    style.atomic_time_on_top(axes[0])
    return figure


def one(
    solution: Solution, name: str, ax: Axes | None = None, color: str = style.COLORS[0]
) -> Figure:
    """One observable over time; vectors and populations as several lines."""
    ax = style.axes_or_new(ax, 7.0, 3.0)
    times, data = solution.times_of(name), np.asarray(solution.observables[name])
    _, unit, long_name = solution.described[name]
    columns = data.reshape(len(data), -1)
    if columns.shape[1] == 1:
        ax.plot(times, columns[:, 0], color=color, lw=1.2)
    else:
        labels = _labels(solution, name, columns.shape[1])
        for i, column in enumerate(columns.T[:MOST_LINES]):
            ax.plot(
                times, column, lw=1.1, color=style.COLORS[i % len(style.COLORS)], label=labels[i]
            )
        if _spans_decades(columns):  # weights of channels, of which most are tiny
            ax.set_yscale("log")
            ax.set_ylim(bottom=max(1e-12, float(columns[columns > 0].min())))
        ax.legend(fontsize=7, frameon=False, ncols=min(4, columns.shape[1]), loc="best")
    plain = "" if unit == "1" else f" ({unit})"
    ax.set_ylabel(f"{name.replace('_', ' ')}{plain}")
    style.title(ax, long_name[:1].upper() + long_name[1:])
    ax.set_xlim(times[0], times[-1] if len(times) > 1 else times[0] + 1)
    style.time_axis(ax)
    # A constant with rounding noise is drawn as a constant.
    spread, size = float(np.ptp(columns)), float(np.max(np.abs(columns)))
    if spread < 1e-9 * max(size, 1e-12):
        middle = float(np.mean(columns))
        ax.set_ylim(middle - 0.05 * max(size, 1e-6), middle + 0.05 * max(size, 1e-6))
    if ax.get_yscale() == "linear":
        ax.ticklabel_format(axis="y", useOffset=False)
    return style.figure_of(ax)


def _labels(solution: Solution, name: str, count: int) -> list[str]:
    """What the lines stand for: values of their coordinate, as "kappa = −1", or numbers."""
    dims = solution.described[name][0]
    if dims == ("component",) and count <= 3:
        return list("xyz"[:count])
    values = solution.coordinates.get(dims[0]) if len(dims) == 1 else None
    if values is None or len(values) != count:
        return [str(i) for i in range(count)]
    return [f"{dims[0]} = {value:g}".replace("-", "−") for value in values]


def _spans_decades(columns: np.ndarray) -> bool:
    """Probabilities of which some stay far below the others."""
    largest = np.max(np.abs(columns), axis=0)
    return bool(
        np.all(columns >= 0)
        and np.min(largest) < 1e-3 * np.max(largest)
        and np.max(largest) <= 1 + 1e-6
    )


def drawable(solution: Solution) -> list[str]:
    """Names of the observables that are a number or a few numbers."""
    return [
        name
        for name, data in solution.observables.items()
        if np.size(data[-1]) <= MOST_LINES and len(data) > 1
    ]
