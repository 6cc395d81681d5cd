"""One figure that shows what a result holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.initial import without_light
from zitter.plot import radial, style
from zitter.plot.courses import drawable, one
from zitter.plot.densities import density, final_density, on_grid, recorded
from zitter.plot.energies import levels, potential
from zitter.plot.pulses import pulse
from zitter.plot.spectra import spectrum
from zitter.solution import Eigenstates, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What is drawn first where there is not room for everything.
_ORDER = ("ionization", "populations", "instantaneous_populations", "dipole", "position", "energy",
          "momentum", "flux", "norm", "acceleration")  # fmt: skip
_MOST_PANELS = 5


def overview(
    result: Solution | Eigenstates, field: Field | None = None, H: Hamiltonian | None = None
) -> Figure:
    """Pulse, observables, spectrum and density of an evolution; levels of stationary states.

    `field` and `H` are rebuilt from the input that `zitter run` keeps in its results.
    """
    case = _case(result)
    if isinstance(result, Eigenstates):
        if H is None and case is not None:
            H = without_light(case.hamiltonian(), 0.0)
        figure = levels(H, result)
        if case is not None and case.title:
            figure.suptitle(case.title, fontsize=12, color=style.INK, fontweight="bold")
        return figure
    if field is None and case is not None:
        field = _light(case)
    title = case.title if case is not None else ""
    basis = H.basis if H is not None else None if case is None else case.basis
    return _evolution(result, field, title, basis)


def _evolution(result: Solution, field: Field | None, title: str, basis: Any) -> Figure:
    panels: list[Callable[[Axes], Any]] = []
    span = (float(result.times[0]), float(result.times[-1]))
    known = drawable(result)
    if field is not None:
        panels.append(lambda ax: pulse(field, span, ax))
    spectral = field is not None and "acceleration" in result.observables
    names = [n for n in _ORDER if n in known] + [n for n in known if n not in _ORDER]
    if spectral:
        names.remove("acceleration")
    in_plane = len(result.axes) in (2, 3) and on_grid(result.axes)
    along_r = radial.can_draw(basis)
    room = _MOST_PANELS - len(panels) - spectral - in_plane - along_r
    # The norm is no news where the ionization is drawn, or where it stays what it was.
    if "ionization" in names or len(names) > room or _constant(result, "norm"):
        names = [n for n in names if n != "norm"] or names
    for i, name in enumerate(names[:room]):
        color = style.COLORS[(i + 4) % len(style.COLORS)]
        panels.append(lambda ax, name=name, color=color: one(result, name, ax, color))
    if spectral:
        panels.append(lambda ax: spectrum(result, field, ax))
    if in_plane:
        panels.append(lambda ax: final_density(result, ax, equal=False))
    if along_r:
        panels.append(lambda ax: radial.final_radial(basis, result, ax))
    on_line = recorded(result) is not None and len(result.axes) == 1 and on_grid(result.axes)
    if not panels and not on_line:
        raise checks.InputError(
            "result", "must hold observables or a state on a grid to be drawn, but holds none"
        )
    return _arranged(panels, result if on_line else None, title)


def _light(case: Any) -> Field | None:
    """The field that drives the model: the pulses of all its terms together."""
    pulses = [getattr(term, "pulse", None) for term in case.model.terms]
    pulses = [pulse for pulse in pulses if isinstance(pulse, Field)]
    return sum(pulses[1:], pulses[0]) if pulses else None


def _constant(result: Solution, name: str) -> bool:
    return name in result.observables and float(np.ptp(result.observables[name])) < 1e-6


def _arranged(panels: list[Any], picture: Solution | None, title: str) -> Figure:
    """Panels in two columns, the density across the whole width below."""
    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    figure = style.new_figure(5.2 * columns, 2.5 * rows + (3.2 if picture is not None else 0.2))
    heights = [2.5] * rows + ([3.2] if picture is not None else [])
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for i, draw in enumerate(panels):
        alone = i == len(panels) - 1 and len(panels) % columns
        draw(style.dress(figure.add_subplot(grid[i // columns, :] if alone else
                                            grid[i // columns, i % columns])))  # fmt: skip
    if picture is not None:
        density(picture, style.dress(figure.add_subplot(grid[-1, :])))
    if title:
        figure.suptitle(title, fontsize=12, color=style.INK, fontweight="bold")
    return figure


def moving_potential(result: Solution) -> Callable[[float], Any] | None:
    """t ↦ V on the grid without light, for an animation; None where it cannot be rebuilt."""
    case = _case(result)
    if case is None or len(result.axes) != 1:
        return None
    H = case.hamiltonian()
    still = potential(without_light(H, 0.0))
    if still is None:
        return None
    return lambda t: potential(without_light(H, t))


def _case(result: Solution | Eigenstates) -> Any | None:
    """The calculation as the file's own input describes it, if it can still be built."""
    if not result.input:
        return None
    from zitter import config

    try:
        return config.assemble(config.parse(result.input))
    except checks.ZitterError:  # a file it refers to is gone, or the input is of another version
        return None
