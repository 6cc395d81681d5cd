"""Stationary states with their energies: on a line |φ_n|² drawn at the height of E_n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import part_of_kind
from zitter.plot import radial, style
from zitter.plot.densities import on_grid
from zitter.plot.diagrams import level_diagram, spread
from zitter.plot.planes import densities_in_planes, region
from zitter.solution import Eigenstates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def levels(H: Hamiltonian | None, eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """On a line: V(x), and each level with its density. Elsewhere: a level diagram beside them.

    The densities are drawn in planes on grids, against r in atomic and spinor bases, which `H`
    brings along. In other bases, and on an `ax` that is given, the level diagram stands alone.
    """
    dimension = len(eigenstates.axes) if on_grid(eigenstates.axes) else 0
    if dimension == 1:
        return _on_line(H, eigenstates, ax)
    if dimension and ax is None:
        return densities_in_planes(eigenstates)
    if H is not None and radial.can_draw(H.basis) and ax is None:
        return _along_r(H.basis, eigenstates)
    return level_diagram(eigenstates, ax)


def _along_r(basis: Basis, eigenstates: Eigenstates) -> Figure:
    figure = style.new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(5, 2))
    radial.radial_levels(basis, eigenstates, left)
    level_diagram(eigenstates, right)
    return figure


def _on_line(H: Hamiltonian | None, eigenstates: Eigenstates, ax: Axes | None) -> Figure:
    ax = style.axes_or_new(ax, 7.0, 5.0)
    name, points = next(iter(eigenstates.axes.items()))
    x, energies = np.asarray(points), np.asarray(eigenstates.energies)
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
    heights = spread(energies, 0.045 * (abs(span) + 1.6 * height))
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
    low, high = region(x, densities)
    ax.set_xlim(low, high)
    ax.set_ylim(bottom - 0.05 * abs(span), float(energies[-1]) + 1.6 * height)
    ax.set_xlabel(f"{name} (bohr)")
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
