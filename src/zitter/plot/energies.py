"""Stationary states with their energies: on a line |φ_n|² drawn at the height of E_n."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from zitter.hamiltonian import Hamiltonian
from zitter.initial import without_light
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import part_of_kind
from zitter.plot import states, style
from zitter.plot.diagrams import level_diagram, spread
from zitter.plot.planes import densities_in_planes, region
from zitter.plot.radial import radial_levels
from zitter.results import Eigenstates, Solution
from zitter.stored import Kept
from zitter.terms import discretize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def levels(H: Hamiltonian | None, eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """On a line: V(x), and each level with its density. Elsewhere: a level diagram beside them.

    The densities are drawn in planes on grids, against r in atomic and spinor bases. Where the
    basis has none, and on an `ax` that is given, the level diagram stands alone. Without `H` the
    potential is that of the model which the states belong to.
    """
    if eigenstates.basis is None and H is not None:
        eigenstates = dataclasses.replace(eigenstates, kept=Kept.of(H))
    match list(states.axes(eigenstates)):
        case []:
            return level_diagram(eigenstates, ax)
        case ["r"]:
            return _along_r(eigenstates) if ax is None else level_diagram(eigenstates, ax)
        case [_]:
            return _on_line(H, eigenstates, ax)
    return densities_in_planes(eigenstates) if ax is None else level_diagram(eigenstates, ax)


def hamiltonian(result: Solution | Eigenstates) -> Hamiltonian | None:
    """H as a result's own basis and model give it, None where it does not know them."""
    if result.basis is None or result.model is None:
        return None
    return discretize(result.model, result.basis)


def _along_r(eigenstates: Eigenstates) -> Figure:
    figure = style.new_figure(10.0, 4.0)
    left, right = figure.subplots(1, 2, width_ratios=(5, 2))
    radial_levels(eigenstates, left)
    level_diagram(eigenstates, right)
    return figure


def _on_line(H: Hamiltonian | None, eigenstates: Eigenstates, ax: Axes | None) -> Figure:
    shown = states.of_states(eigenstates, eigenstates.states)
    if H is None:
        whole = hamiltonian(eigenstates)
        H = None if whole is None else without_light(whole, 0.0)
    ax = style.axes_or_new(ax, 7.0, 5.0)
    x, densities = shown.points[0], shown.values
    energies = np.asarray(eigenstates.energies)
    values = None if H is None else potential(H)
    if values is not None and values.shape != x.shape:  # coefficients that are not values at x
        values = None
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
    ax.set_xlabel(f"{shown.names[0]} (bohr)")
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
