"""Probability against r of states in atomic and spinor bases, where coefficients are no density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, units
from zitter.bases.base import Basis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.plot import style
from zitter.solution import Eigenstates, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS, MOST_STATES = 600, 6


def radial_density(basis: Basis, psi: Any, r: np.ndarray) -> np.ndarray:
    """dP/dr = Σ |P(r)|² over the channels, for spinors Σ |P|² + |Q|²."""
    if isinstance(basis, SpinorBasis):
        upper, lower = basis.radial_values(psi, r)
        return np.sum(np.abs(upper) ** 2 + np.abs(lower) ** 2, axis=0)
    if isinstance(basis, SphericalBasis):
        values = np.asarray(psi) @ basis.radial.evaluate(r).T
        return np.sum(np.abs(values) ** 2, axis=0)
    raise checks.InputError(
        "basis", f"must be a SphericalBasis or SpinorBasis, but is a {type(basis).__name__}"
    )


def can_draw(basis: Any) -> bool:
    """Whether `radial_density` knows the basis and r is the electron's own everywhere."""
    known = isinstance(basis, SphericalBasis | SpinorBasis)
    return known and basis.radial.scaling is None


def final_radial(basis: Basis, solution: Solution, ax: Axes | None = None) -> Figure:
    """dP/dr at the end of a run."""
    ax = style.axes_or_new(ax, 6.0, 3.2)
    r = _radii(basis)
    density = radial_density(basis, solution.final, r)
    ax.semilogy(r, np.maximum(density, 1e-300), color=style.COLORS[0], lw=1.2)
    top = float(np.max(density))
    ax.set_ylim(1e-9 * top, 3 * top)
    ax.set_xlabel("r (bohr)")
    ax.set_ylabel("dP/dr (1/bohr)")
    style.title(ax, f"Radial density at t = {units.to_fs(float(solution.times[-1])):.3g} fs")
    return style.figure_of(ax)


def radial_levels(basis: Basis, eigenstates: Eigenstates, ax: Axes | None = None) -> Figure:
    """dP/dr of the first stationary states, with their energies."""
    ax = style.axes_or_new(ax, 7.0, 4.0)
    r, reach = _radii(basis), 0.0
    for n, (energy, psi) in enumerate(zip(eigenstates.energies, eigenstates.states, strict=True)):
        if n == MOST_STATES:
            break
        density = radial_density(basis, psi, r)
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


def _radii(basis: Any) -> np.ndarray:
    """Points as dense as the knots are."""
    knots = np.unique(np.asarray(basis.radial.knots, float))
    place = np.linspace(0.0, len(knots) - 1.0, POINTS)
    return np.interp(place, np.arange(len(knots)), knots)[1:-1]
