"""A potential with its levels: |φ_n|² drawn at the height of E_n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zitter import checks
from zitter.operators.diagonal import Diagonal
from zitter.operators.hamiltonian import Hamiltonian
from zitter.operators.sums import part_of_kind
from zitter.plot import radial, style
from zitter.plot.densities import on_grid
from zitter.solution import Eigenstates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def levels(H: Hamiltonian | None, eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """On a line: V(x), and each level with its density. In a plane: the densities alone.

    In atomic and spinor bases, which `H` brings along: the radial densities.
    """
    if not on_grid(eigenstates.axes):
        if H is None or not radial.can_draw(H.basis):
            raise checks.InputError("eigenstates", "must live on a grid to be drawn, but do not")
        return radial.radial_levels(H.basis, eigenstates, ax)
    points = [np.asarray(x) for x in eigenstates.axes.values()]
    if len(points) != 1:
        return _plane(eigenstates)
    ax = style.axes_or_new(ax, 7.0, 5.0)
    x, energies = points[0], np.asarray(eigenstates.energies)
    densities = np.abs(np.asarray(eigenstates.states)) ** 2
    values = None if H is None else potential(H)
    bottom = float(energies[0])
    if values is not None:
        ax.plot(x, values, color=style.INK, lw=1.3, label="V(x)", zorder=1)
        bottom = float(np.min(values))
    gaps = np.diff(np.unique(np.round(energies, 10)))
    span = float(energies[-1]) - bottom
    height = float(np.min(gaps)) if len(gaps) else 0.3 * abs(span)
    height = max(height, 0.06 * abs(span), 1e-6)
    heights = _spread(energies, 0.045 * (abs(span) + 1.6 * height))
    for n, (energy, density) in enumerate(zip(energies, densities, strict=True)):
        color = style.COLORS[n % len(style.COLORS)]
        curve = energy + 0.85 * height * density / np.max(densities)
        there = density > 1e-4 * np.max(density)
        ax.fill_between(x, energy, curve, where=there, color=color, alpha=0.30, lw=0, zorder=2)
        ax.plot(x[there], curve[there], color=color, lw=1.0, zorder=3)
        ax.axhline(energy, color=color, lw=0.5, alpha=0.4, zorder=0)
        ax.text(
            1.01, heights[n], f"$E_{{{n}}}$ = {energy:.6g}", transform=ax.get_yaxis_transform(),
            fontsize=8, color=color, va="center",
        )  # fmt: skip
    low, high = _region(x, densities)
    ax.set_xlim(low, high)
    ax.set_ylim(bottom - 0.05 * abs(span), float(energies[-1]) + 1.6 * height)
    ax.set_xlabel(f"{next(iter(eigenstates.axes))} (bohr)")
    ax.set_ylabel("energy (hartree)")
    worst = float(np.max(eigenstates.residuals))
    style.title(ax, f"Levels and densities (largest residual {worst:.1e} hartree)")
    return style.figure_of(ax)


def potential(H: Hamiltonian) -> np.ndarray | None:
    """V on the grid: the part of H that is diagonal there."""
    part = part_of_kind(H.operator, Diagonal)
    if part is None:
        return None
    return np.broadcast_to(np.real(np.asarray(part.values)), H.shape)


def _plane(eigenstates: Eigenstates) -> Figure:
    points = [np.asarray(x) for x in eigenstates.axes.values()]
    if len(points) not in (2, 3):
        raise checks.InputError("eigenstates", "must live on a grid to be drawn, but do not")
    names = list(eigenstates.axes)
    states = np.asarray(eigenstates.states)[:6]
    densities = np.abs(states) ** 2
    if len(points) == 3:
        densities = densities[..., densities.shape[-1] // 2]
    columns = min(3, len(states))
    rows = -(-len(states) // columns)
    figure = style.new_figure(3.2 * columns + 0.5, 3.2 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for n, ax in enumerate(axes):
        if n >= len(states):
            ax.set_visible(False)
            continue
        style.dress(ax)
        ax.pcolormesh(
            points[0], points[1], densities[n].T, shading="nearest", cmap=style.DENSITY_MAP,
            rasterized=True,
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.set_xlim(*_region(points[0], np.sum(densities, axis=2)))
        ax.set_ylim(*_region(points[1], np.sum(densities, axis=1)))
        style.title(ax, f"$E_{{{n}}}$ = {float(eigenstates.energies[n]):.8g} hartree", small=True)
        ax.set_xlabel(f"{names[0]} (bohr)")
        ax.set_ylabel(f"{names[1]} (bohr)")
        ax.label_outer()
    return figure


def _spread(energies: np.ndarray, distance: float) -> np.ndarray:
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


def _region(x: np.ndarray, densities: np.ndarray) -> tuple[float, float]:
    """Where the states live, with room around."""
    inside = x[np.max(densities / np.max(densities, axis=1, keepdims=True), axis=0) > 1e-3]
    margin = 0.15 * (inside[-1] - inside[0]) + 1e-9
    return max(x[0], inside[0] - margin), min(x[-1], inside[-1] + margin)
