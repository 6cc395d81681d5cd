"""A laser pulse: E(t), A(t) and the envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import units
from zitter.fields import Field
from zitter.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pulse(
    field: Field, t: tuple[float, float] | None = None, ax: Axes | None = None, title: str = ""
) -> Figure:
    """E(t) with its envelope, and A(t) on the right axis.

    The envelope √(E² + ω²A²) is drawn for pulses that have a carrier frequency ω.
    """
    ax = style.axes_or_new(ax, 7.0, 3.5)
    start, end = (0.0, finite_end(field)) if t is None else t
    times = np.linspace(start, end, 2000)
    electric = np.asarray(field.electric_field(times))
    potential = np.asarray(field.vector_potential(times))
    frequency = carrier_frequency(field)
    if frequency is not None:
        envelope = np.sqrt(electric**2 + (frequency * potential) ** 2)
        ax.fill_between(times, -envelope, envelope, color=style.COLORS[1], alpha=0.10, lw=0)
    (line,) = ax.plot(times, electric, color=style.COLORS[1], lw=1.2, label="E(t)")
    right = ax.twinx()
    (other,) = right.plot(times, potential, color=style.COLORS[0], lw=1.0, ls="--", label="A(t)")
    style.dress(right)
    right.spines["right"].set_visible(True)
    right.spines["right"].set_color(style.FAINT)
    for axis, values in ((ax, electric), (right, potential)):
        top = 1.15 * float(np.max(np.abs(values))) or 1.0
        axis.set_ylim(-top, top)
    ax.set_xlim(start, end)
    ax.set_ylabel("E (a.u.)", color=line.get_color())
    right.set_ylabel("A (a.u.)", color=other.get_color())
    style.time_axis(ax)
    style.title(ax, title or quoted(field))
    return style.figure_of(ax)


def quoted(field: Field) -> str:
    """The numbers people quote, with the photon energy."""
    frequency = carrier_frequency(field)
    intensity: Any = getattr(field, "peak_intensity", None)
    if frequency is None or intensity is None:
        return field.describe().split("\n")[0]
    nanometres = 2 * np.pi * units.SPEED_OF_LIGHT / frequency * units.BOHR_M * 1e9
    mantissa, exponent = f"{units.to_w_per_cm2(float(intensity)):.2e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{int(exponent)}}}"
    amount = power if mantissa == "1" else f"{mantissa}\\times {power}"
    return f"${amount}$ W/cm², {nanometres:.4g} nm ({units.to_ev(frequency):.3g} eV)"


def carrier_frequency(field: Field) -> float | None:
    frequency: Any = getattr(field, "frequency", None)
    return None if frequency is None else float(frequency)


def finite_end(field: Field) -> float:
    end = float(field.duration)
    return end if np.isfinite(end) else 1000.0
