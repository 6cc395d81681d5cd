"""Stationary states of atomic and spinor bases against r, where coefficients are no density."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zitter.plot import states, style
from zitter.results import Eigenstates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STATES = 6


def radial_levels(eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """dP/dr of the first stationary states, with their energies."""
    ax = style.axes_or_new(ax, 7.0, 4.0)
    shown = states.of_states(eigenstates, eigenstates.states[:MOST_STATES])
    r, reach = shown.points[0], 0.0
    for n, (energy, density) in enumerate(zip(eigenstates.energies, shown.values, strict=False)):
        color = style.COLORS[n % len(style.COLORS)]
        label = f"$E_{{{n}}}$ = {float(energy):.8g}"
        ax.plot(r, density, color=color, lw=1.2, ls=("-", "--")[n % 2], label=label)
        reach = max(reach, float(r[np.nonzero(density > 1e-4 * density.max())[0][-1]]))
    ax.set_xlim(0.0, reach)
    ax.set_xlabel("r (bohr)")
    ax.set_ylabel("dP/dr (1/bohr)")
    ax.legend(fontsize=8, frameon=False)
    worst = float(np.max(eigenstates.residuals))
    style.title(ax, f"Levels in hartree (largest residual {worst:.1e})")
    return style.figure_of(ax)
