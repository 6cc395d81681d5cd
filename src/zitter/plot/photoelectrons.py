"""Photoelectrons: energy spectra, momentum distributions; and what stays bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zitter import checks, units
from zitter.plot import style
from zitter.plot.pulses import axes_in_words
from zitter.spectra import AngularSpectrum
from zitter.spectra.photoelectron import EnergySpectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADES = 12
MAP_DECADES = 6  # of a momentum distribution


def photoelectrons(
    spectra: EnergySpectrum | Mapping[str, EnergySpectrum],
    ax: Axes | None = None,
    *,
    photon: float | None = None,
    ionization: float | None = None,
    channels: bool = False,
) -> Figure:
    """dP/dE of one or several runs; with `channels` the share of each l, or κ, as well.

    Where `photon` and `ionization` energies are known, nω − Ip is marked.
    """
    ax = style.axes_or_new(ax, 7.0, 3.8)
    if isinstance(spectra, EnergySpectrum):
        spectra = {"": spectra}
    top = max(float(s.total.max()) for s in spectra.values()) / units.HARTREE_EV
    last = 0.0
    for i, (name, s) in enumerate(spectra.items()):
        energies, density = units.HARTREE_EV * s.energies, s.total / units.HARTREE_EV
        shown = density > top * 10.0**-DECADES
        last = max(last, float(energies[shown].max()))
        line = ("-", "--", ":")[i % 3]
        color = style.COLORS[i % len(style.COLORS)]
        ax.semilogy(energies, density, line, color=color, lw=1.2, label=name or "total")
        if channels:
            for label, part in zip(s.labels, s.channels, strict=True):
                if part.max() / units.HARTREE_EV > top * 10.0**-DECADES:
                    ax.semilogy(energies, part / units.HARTREE_EV, lw=0.7, label=label)
    if photon is not None and ionization is not None:
        for n in range(1, int((last / units.HARTREE_EV + ionization) / photon) + 1):
            ax.axvline(units.to_ev(n * photon - ionization), color=style.FAINT, lw=0.6, ls=":")
    ax.set_xlim(0, last)
    ax.set_ylim(top * 10.0**-DECADES, 3 * top)
    ax.set_xlabel("electron energy (eV)")
    ax.set_ylabel("dP/dE (1/eV)")
    if len(spectra) > 1 or channels:
        ax.legend(fontsize=8, frameon=False)
    style.title(ax, "Photoelectrons")
    return style.figure_of(ax)


def bound_states(
    l: np.ndarray, energies: np.ndarray, populations: np.ndarray, ax: Axes | None = None
) -> Figure:
    """What `spectra.bound_populations` gives: the population of each bound state, by l."""
    ax = style.axes_or_new(ax, 7.0, 3.8)
    low = max(1e-16, float(np.max(populations)) * 10.0**-DECADES)
    for i, value in enumerate(np.unique(l)):
        here = (l == value) & (populations > low)
        color = style.COLORS[i % len(style.COLORS)]
        x = units.HARTREE_EV * energies[here]
        ax.vlines(x, low, populations[here], color=color, lw=0.8)
        ax.plot(x, populations[here], "o", color=color, ms=4, label=f"l = {value}")
    ax.set_yscale("log")
    ax.set_ylim(low, 3.0)
    ax.set_xlabel("energy (eV)")
    ax.set_ylabel("population")
    ax.legend(fontsize=8, frameon=False)
    style.title(ax, "Bound states")
    return style.figure_of(ax)


def momentum_map(
    spectrum: AngularSpectrum, ax: Axes | None = None, decades: int = MAP_DECADES
) -> Figure:
    """d³P/dk³ in the plane of the spectrum, logarithmic; of polar angles k_z lies to the right."""
    if spectrum.density.ndim != 2:
        raise checks.InputError(
            "spectrum", "must lie in a plane, or at one azimuth, to be drawn, but is on a sphere"
        )
    around = spectrum.plane is not None
    ax = style.axes_or_new(ax, 5.2 if around else 6.0, 4.4 if around else 3.6)
    angles, density = spectrum.angles, spectrum.momentum_density
    if around and np.isclose(len(angles) * (angles[1] - angles[0]), 2 * np.pi):
        angles = np.append(angles, angles[0] + 2 * np.pi)  # the circle closes
        density = np.concatenate([density, density[:, :1]], axis=1)
    k, angle = np.meshgrid(spectrum.momenta, angles, indexing="ij")
    level = np.log10(np.maximum(density, 1e-300))
    image = ax.pcolormesh(
        k * np.cos(angle), k * np.sin(angle), level, cmap=style.DENSITY_MAP,
        vmin=level.max() - decades, vmax=level.max(), shading="gouraud", rasterized=True,
    )  # fmt: skip
    ax.set_aspect("equal")
    first, second = _axes_of(spectrum)
    ax.set_xlabel(f"{first} (a.u.)")
    ax.set_ylabel(f"{second} (a.u.)")
    figure = style.figure_of(ax)
    figure.colorbar(image, ax=ax, label="log₁₀ d³P/dk³")
    style.title(ax, "Momentum distribution")
    return figure


def _axes_of(spectrum: AngularSpectrum) -> tuple[str, str]:
    if spectrum.plane is None:
        return _momentum_along("z"), _momentum_along(r"\perp")
    first, second = axes_in_words(spectrum.plane)
    return _momentum_along(first), _momentum_along(second)


def _momentum_along(name: str) -> str:
    return f"k along {name}" if name.startswith("(") else f"$k_{{{name}}}$"
