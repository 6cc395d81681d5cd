"""The spectrum of emitted light, from the dipole acceleration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, units
from zitter.fields import Field
from zitter.plot import style
from zitter.plot.pulses import axes_in_words, carrier_frequency, roundness, turning_plane
from zitter.results import Solution
from zitter.spectra.harmonics import HarmonicSpectrum, cutoff_energy, harmonic_spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RETURNS = 0.3  # the ellipticity beyond which electrons miss the atom they left


def emission(solution: Solution, field: Field | None = None) -> HarmonicSpectrum:
    """S(ω) of a = −⟨∇V⟩ − N E(t) for N electrons, in orders of the field's frequency, or of 1 eV
    without one. Of a vector the strongest component is taken, all of them where the light turns.

    Without `field` the laser's own force −E(t) is left out, which changes the fundamental only.
    """
    if "acceleration" not in solution.observables:
        raise checks.InputError("observables", "must have held Acceleration for a spectrum")
    times = solution.times_of("acceleration")
    vectors = np.asarray(solution.observables["acceleration"])
    vectors = vectors[:, None] if vectors.ndim == 1 else vectors
    axis = int(np.argmax(np.ptp(vectors, axis=0)))
    acceleration = vectors[:, axis]
    base = None if field is None else carrier_frequency(field)
    electrons = max(1, sum(name.startswith("x") for name in solution.axes))
    if field is not None and not field.is_linear and vectors.shape[1] > 1:
        pulled = np.asarray(field.electric_field_xyz(times))[:, : vectors.shape[1]]
        whole = vectors - electrons * pulled
        return harmonic_spectrum(times, whole, 1 / units.HARTREE_EV if base is None else base)
    if field is not None:
        acceleration = acceleration - electrons * _along(field, times, axis, vectors.shape[1])
    return harmonic_spectrum(times, acceleration, 1 / units.HARTREE_EV if base is None else base)


def _along(field: Field, times: np.ndarray, axis: int, axes: int) -> np.ndarray:
    """E(t) along one of the model's axes, as the light terms apply it."""
    direction = np.eye(axes)[-1]  # that of a pulse without polarization
    if axes > 1 and field.polarization is not None:
        direction = np.pad(field.polarization, (0, 3))
    return direction[axis] * np.asarray(field.electric_field(times))


def spectrum(
    solution: Solution,
    field: Field | None = None,
    ax: Axes | None = None,
    ionization_energy: float | None = None,
) -> Figure:
    """The harmonic spectrum, over the harmonic order where the laser is known, else over eV.

    The cutoff I_p + 3.17 U_p is marked where both energies are known and the light is nearly along
    a line: an electron in light that turns does not come back to its atom.
    """
    ax = style.axes_or_new(ax, 7.0, 3.5)
    emitted = emission(solution, field)
    frequencies, power = emitted.frequencies, emitted.intensity
    base = carrier_frequency(field) if field is not None else None
    unit = emitted.fundamental
    if ionization_energy is None and "initial_energy" in solution.info:
        ionization_energy = -float(solution.info["initial_energy"])
    cutoff = None
    if field is not None and base is not None and ionization_energy is not None:
        drive: Any = field
        cutoff = cutoff_energy(ionization_energy, float(drive.ponderomotive_energy)) / unit
    last = frequencies[-1] / unit
    shown = min(last, 2.0 * cutoff if cutoff else last)
    keep = (frequencies > 0) & (frequencies / unit <= shown)
    least = float(np.min(power[keep]))
    if emitted.amplitudes is None:
        ax.semilogy(frequencies[keep] / unit, power[keep], color=style.COLORS[2], lw=0.9)
    else:
        turning = None if field is None else turning_plane(field)
        plane = "xy" if turning is None else turning
        first, second = axes_in_words(plane)
        for sign, way, color in (("+", (first, second), 1), ("-", (second, first), 0)):
            part = emitted.part(sign, plane).intensity[keep]
            least = min(least, float(np.min(part)))
            label = f"turns {way[0]} → {way[1]}"
            ax.semilogy(
                frequencies[keep] / unit, part, color=style.COLORS[color], lw=0.9, label=label
            )
        ax.legend(fontsize=8, frameon=False)
    if cutoff and field is not None and roundness(field) < RETURNS:
        ax.axvline(cutoff, color=style.INK, lw=0.8, ls=":")
        ax.text(
            cutoff, 0.96, " $I_p + 3.17\\,U_p$", transform=ax.get_xaxis_transform(),
            fontsize=8, color=style.INK, va="top",
        )  # fmt: skip
    ax.set_xlim(0, shown)
    top = float(np.max(power[keep]))
    ax.set_ylim(max(least, 1e-16 * top), 5 * top)
    ax.set_ylabel("|a(ω)|² (a.u.)")
    style.title(ax, "Emitted light")
    if base is None:
        ax.set_xlabel("photon energy (eV)")
    else:
        ax.set_xlabel(f"harmonic order (one is {units.to_ev(base):.3g} eV)")
        odd = np.arange(1, shown, 2 * max(1, round(shown / 24)))
        ax.set_xticks(odd)
        ax.grid(axis="x", color=style.FAINT, alpha=0.25, lw=0.5)
    return style.figure_of(ax)
