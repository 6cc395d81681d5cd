"""A laser pulse: E(t), A(t) and the envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import units
from zitter.fields import Field, FieldSum
from zitter.fields.polarization import named, plane_of
from zitter.plot import style
from zitter.spectra.directions import Plane, plane_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pulse(
    field: Field, t: tuple[float, float] | None = None, ax: Axes | None = None, title: str = ""
) -> Figure:
    """E(t) with its envelope, and A(t) on the right axis; x, y and z of a field that turns.

    The envelope √(E² + ω²A²) is drawn for linear pulses that have a carrier frequency ω.
    """
    ax = style.axes_or_new(ax, 7.0, 3.5)
    start, end = (0.0, finite_end(field)) if t is None else t
    times = np.linspace(start, end, 2000)
    names, electric, potential = _components(field, times)
    frequency = carrier_frequency(field)
    if frequency is not None and field.is_linear:
        envelope = np.sqrt(electric[0] ** 2 + (frequency * potential[0]) ** 2)
        ax.fill_between(times, -envelope, envelope, color=style.COLORS[1], alpha=0.10, lw=0)
    right = ax.twinx()
    for i, name in enumerate(names):
        faded = 1.0 - 0.3 * i
        ax.plot(times, electric[i], color=style.COLORS[1], lw=1.2, alpha=faded, label=f"E{name}(t)")
        right.plot(times, potential[i], color=style.COLORS[0], lw=1.0, ls="--", alpha=faded)
    if len(names) > 1:
        ax.legend(fontsize=7, frameon=False, loc="upper left")
    style.dress(right)
    right.spines["right"].set_visible(True)
    right.spines["right"].set_color(style.FAINT)
    for axis, values in ((ax, electric), (right, potential)):
        top = 1.15 * float(np.max(np.abs(values))) or 1.0
        axis.set_ylim(-top, top)
    ax.set_xlim(start, end)
    ax.set_ylabel("E (a.u.)", color=style.COLORS[1])
    right.set_ylabel("A (a.u.)", color=style.COLORS[0])
    style.time_axis(ax)
    style.title(ax, title or quoted(field))
    return style.figure_of(ax)


def _components(field: Field, times: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """(names, E, A), one row for each Cartesian component with a field; one for linear light."""
    if field.is_linear:
        electric, potential = field.electric_field(times), field.vector_potential(times)
        return [""], np.asarray(electric)[None], np.asarray(potential)[None]
    electric = np.asarray(field.electric_field_xyz(times)).T
    potential = np.asarray(field.vector_potential_xyz(times)).T
    there = [a for a in range(3) if np.any(electric[a])] or [2]
    return [f"$_{'xyz'[a]}$" for a in there], electric[there], potential[there]


def quoted(field: Field) -> str:
    """The numbers people quote, with the photon energy."""
    if isinstance(field, FieldSum):
        return f"Sum of {len(field.fields)} pulses"
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


def turning_plane(field: Field) -> Plane | None:
    """That in which light turns, by two letters or, where it is oblique, by two vectors. Of light
    that keeps to no plane the two axes along which it is strongest; None for light along a line.
    """
    if field.is_linear:
        return None
    A = np.asarray(field.vector_potential_xyz(np.linspace(0.0, finite_end(field), 501)))
    plane = plane_of(A)
    if plane is not None and np.all(np.any(plane, axis=0)):
        return plane
    strongest = np.argsort(-np.sum(A**2, axis=0), kind="stable")[:2]
    return "".join("xyz"[i] for i in sorted(strongest))


def axes_in_words(plane: Plane) -> tuple[str, str]:
    """ "x" and "y", or the vectors."""
    if isinstance(plane, str):
        return plane[0], plane[1]
    first, second = plane_axes(plane)
    return named(first), named(second)


def roundness(field: Field) -> float:
    """The ratio of the axes of the figure that A(t) draws, from its mean squares: |ε| of a long
    elliptic pulse, zero for light along a line."""
    if field.is_linear:
        return 0.0
    A = np.asarray(field.vector_potential_xyz(np.linspace(0.0, finite_end(field), 501)))
    squares = np.linalg.eigvalsh(A.T @ A)
    return float(np.sqrt(max(squares[1], 0.0) / squares[2])) if squares[2] > 0 else 0.0


def finite_end(field: Field) -> float:
    end = float(field.duration)
    return end if np.isfinite(end) else 1000.0
