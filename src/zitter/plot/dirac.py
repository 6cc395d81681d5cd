"""Relativistic photoelectrons: spectra, their convergence, momenta along the light, and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def spinor_spectra(spectra: Mapping[str, Any], ax: Axes | None = None, decades: int = 8) -> Figure:
    """dP/dE of one or several spectra of `spinor_spectrum`, in atomic units, logarithmic."""
    ax = style.axes_or_new(ax, 7.0, 3.8)
    top = max(float(s.total.max()) for s in spectra.values())
    for i, (name, s) in enumerate(spectra.items()):
        ax.semilogy(s.energies, np.maximum(s.total, 1e-300), color=_color(i), lw=1.1, label=name)
    ax.set_ylim(top * 10.0**-decades, 3 * top)
    ax.set_xlabel("electron energy (hartree)")
    ax.set_ylabel("dP/dE (1/hartree)")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Photoelectrons")
    return style.figure_of(ax)


def along_axis(pz: np.ndarray, curves: Mapping[str, np.ndarray], ax: Axes | None = None) -> Figure:
    """dP/dp_z along the propagation axis; every second curve dashed."""
    ax = style.axes_or_new(ax, 6.0, 3.6)
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(pz, values, ("-", "--")[i % 2], color=_color(i // 2), lw=1.2, label=name)
    ax.axvline(0.0, color=style.FAINT, lw=0.6, ls=":")
    ax.set_xlabel("$p_z$ along the light (a.u.)")
    ax.set_ylabel("dP/d$p_z$")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Momentum along the propagation axis")
    return style.figure_of(ax)


def dirac_overview(curves: Mapping[str, Any]) -> Figure:
    """What `zitter reproduce dirac-laser` shows, with the panels its curves are there for."""
    names = [name for name in ("spectra", "errors", "along", "memory") if name in curves]
    figure = style.new_figure(10.0, 3.3 * ((len(names) + 1) // 2))
    for i, name in enumerate(names):
        ax = style.dress(figure.add_subplot((len(names) + 1) // 2, 2, i + 1))
        _PANELS[name](curves[name], ax)
    return figure


def _errors(errors: Mapping[str, list[tuple[float, float]]], ax: Axes) -> None:
    for i, (name, points) in enumerate(errors.items()):
        x, y = np.asarray(points, float).T
        ax.loglog(x, y, "o-", color=_color(i), lw=1.0, ms=4, label=name)
    ax.set_xlabel("κ_max, splines, or steps of Crank–Nicolson")
    ax.set_ylabel("Err (Eq. 34)")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Error of dP/dE")


def _along(curves: Mapping[str, Any], ax: Axes) -> None:
    runs = {"": curves} if "pz" in curves else curves
    drawn = {}
    for name, run in runs.items():
        drawn[f"Dirac equation {name}".strip()] = run["simulation"]
        drawn[f"strong-field approximation {name}".strip()] = run["rsfa"]
    along_axis(next(iter(runs.values()))["pz"], drawn, ax)


def _memory(curves: tuple[Any, Any, Any], ax: Axes) -> None:
    kappas, entries, stored = (np.asarray(x, float) for x in curves)
    ax.semilogy(kappas, 20 * entries / 2**30, "o-", color=_color(1), label="assembled (CSR)")
    ax.semilogy(kappas, stored / 2**30, "o-", color=_color(0), label="zitter")
    ax.set_xlabel("κ_max (223 splines, l_max = 10)")
    ax.set_ylabel("memory of a run, or of H alone if assembled (GiB)")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Memory")


def _color(i: int) -> str:
    return style.COLORS[i % len(style.COLORS)]


_PANELS: dict[str, Any] = {
    "spectra": lambda spectra, ax: spinor_spectra(spectra, ax),
    "errors": _errors,
    "along": _along,
    "memory": _memory,
}
