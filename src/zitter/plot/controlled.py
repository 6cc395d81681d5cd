"""What control of a pulse has come to: its course, the field, and its spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import units
from zitter.plot import style
from zitter.results.controlled import Controlled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overview(found: Controlled) -> Figure:
    """The objective over iterations, E(t) and |E(ω)|² before and after."""
    pulses = [(found.start, style.FAINT, "given"), (found.pulse, style.COLORS[1], "found")]
    pulses = [row for row in pulses if row[0] is not None]
    figure = style.new_figure(6.5, 7.5 if pulses else 3.0)
    axes = figure.subplots(3 if pulses else 1, 1, squeeze=False).ravel()
    values = np.asarray(found.course.values)
    style.dress(axes[0])
    # A population that nears one is told by what it lacks.
    lacking = np.max(values) <= 1 and np.max(values) > 0.9 and np.min(values) >= 0
    shown = 1 - values if lacking else values
    axes[0].plot(np.arange(len(values)), shown, color=style.COLORS[0], marker="o", ms=3, lw=1.0)
    if lacking:
        axes[0].set_yscale("log")
    axes[0].set_xlabel("iteration")
    axes[0].set_ylabel("1 − objective" if lacking else "objective")
    style.title(axes[0], f"{values[0]:.4g} → {found.value:.6g}: {found.info['verdict']}")
    if pulses:
        _fields(axes[1], pulses)
        _spectra(axes[2], pulses)
    return figure


def _fields(ax: Any, pulses: list[Any]) -> None:
    style.dress(ax)
    for pulse, color, label in pulses:
        times, field = _sampled(pulse)
        for component in _there(field):
            name = label if pulse.is_linear else f"{label}, {'xyz'[component]}"
            ax.plot(times, field[:, component], color=color, lw=0.8, label=name)
    ax.set_xlim(0.0, max(float(pulse.duration) for pulse, _, _ in pulses))
    ax.set_ylabel("E (a.u.)")
    ax.legend(fontsize=7, frameon=False)
    style.time_axis(ax)


def _spectra(ax: Any, pulses: list[Any]) -> None:
    style.dress(ax)
    last = 0.0
    for pulse, color, label in pulses:
        times, field = _sampled(pulse)
        padded = 8 * len(times)
        power = np.sum(np.abs(np.fft.rfft(field, padded, axis=0)) ** 2, axis=1)
        energies = units.HARTREE_EV * 2 * np.pi * np.fft.rfftfreq(padded, times[1])
        ax.plot(energies, power / (power.max() or 1.0), color=color, lw=1.0, label=label)
        last = max(last, float(energies[np.nonzero(power > 1e-4 * power.max())[0][-1]]))
    ax.set_xlim(0.0, 1.2 * last)
    ax.set_xlabel("photon energy (eV)")
    ax.set_ylabel("spectrum (of its peak)")


def _sampled(pulse: Any) -> tuple[np.ndarray, np.ndarray]:
    times = np.linspace(0.0, float(pulse.duration), 4096)
    return times, np.asarray(pulse.electric_field_xyz(times))


def _there(field: np.ndarray) -> list[int]:
    return [a for a in range(3) if np.any(field[:, a])] or [2]
