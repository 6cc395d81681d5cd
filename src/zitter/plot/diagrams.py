"""Level diagrams: a line at each energy, levels at the same height side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zitter.plot import style
from zitter.results import Eigenstates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LABELS = 16
SAME = 1e-6  # of the span of energies: closer levels are counted as one
BESIDE = 0.01  # of the span: closer lines would hide one another


def level_diagram(eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """The energies as lines, each with its value and how many states share it."""
    ax = style.axes_or_new(ax, 4.0, 4.5)
    energies = np.asarray(eigenstates.energies, float)
    groups = degenerate(energies, np.asarray(eigenstates.residuals, float))
    means = np.array([np.mean(energies[group]) for group in groups])
    span = float(np.ptp(energies)) or 0.1 * abs(float(energies[0])) or 1.0
    heights = spread(means[:MOST_LABELS], 0.06 * span)
    left, right = _places(_split(energies, BESIDE * span))
    for i, group in enumerate(groups):
        color = style.COLORS[i % len(style.COLORS)]
        ax.hlines(energies[group], left[group], right[group], colors=color, lw=1.6)
        if i < MOST_LABELS:
            ax.text(
                1.02, heights[i], _label(group, means[i]), transform=ax.get_yaxis_transform(),
                fontsize=8, color=color, va="center",
            )  # fmt: skip
    low, high = min(energies[0], heights[0]), max(energies[-1], heights[-1])
    ax.set_ylim(low - 0.05 * span, high + 0.05 * span)
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([])
    ax.set_ylabel("energy (hartree)")
    worst = float(np.max(eigenstates.residuals))
    style.title(ax, f"Levels (largest residual {worst:.1e})", small=True)
    return style.figure_of(ax)


def degenerate(energies: np.ndarray, residuals: np.ndarray) -> list[np.ndarray]:
    """The numbers of the states in groups that share an energy.

    An eigenvalue lies within the residual of each energy: what is closer cannot be told apart.
    """
    bounds = residuals[1:] + residuals[:-1]
    return _split(energies, np.maximum(bounds, SAME * np.ptp(energies)))


def _split(energies: np.ndarray, distance: np.ndarray | float) -> list[np.ndarray]:
    """The numbers of the states, cut where neighbors are more than `distance` apart."""
    return np.split(np.arange(len(energies)), np.nonzero(np.diff(energies) > distance)[0] + 1)


def _places(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where each line begins and ends, those of a row side by side between 0 and 1."""
    edges = [np.linspace(0.0, 1.0, len(row) + 1) for row in rows]
    gaps = np.concatenate([np.full(len(row), 0.1 / len(row)) for row in rows])
    left = np.concatenate([e[:-1] for e in edges])
    right = np.concatenate([e[1:] for e in edges])
    return left + gaps, right - gaps


def spread(energies: np.ndarray, distance: float) -> np.ndarray:
    """Heights for labels beside the levels: in order, none closer than `distance`."""
    heights = np.array(energies, dtype=float)
    for _ in range(100):
        gaps = np.diff(heights)
        close = gaps < distance * 0.999
        if not np.any(close):
            break
        push = np.where(close, (distance - gaps) / 2, 0.0)
        heights[1:] += push
        heights[:-1] -= push
    return heights


def _label(group: np.ndarray, energy: float) -> str:
    if len(group) == 1:
        return f"$E_{{{group[0]}}}$ = {energy:.6g}"
    between = "," if len(group) == 2 else " …"
    return f"$E_{{{group[0]}}}${between} $E_{{{group[-1]}}}$ = {energy:.6g} (×{len(group)})"
