"""One figure that shows what a result holds."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import kinds
from zitter.fields import Field
from zitter.hamiltonian import Hamiltonian
from zitter.initial import without_light
from zitter.plot import states, style
from zitter.plot.courses import drawable, one
from zitter.plot.densities import animate, density, final_density, final_populations
from zitter.plot.energies import hamiltonian, levels, potential
from zitter.plot.momenta import momenta
from zitter.plot.photoelectrons import momentum_map
from zitter.plot.pulses import pulse, turning_plane
from zitter.plot.spectra import spectrum
from zitter.results import Eigenstates, Result, Solution
from zitter.stored import Kept

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What is drawn first where there is not room for everything.
_ORDER = ("ionization", "populations", "instantaneous_populations", "dipole", "position", "energy",
          "momentum", "flux", "norm", "acceleration")  # fmt: skip
_MOST_PANELS = 5


def overview(result: Result, field: Field | None = None, H: Hamiltonian | None = None) -> Figure:
    """One figure of any result: the figure of `zitter plot`.

    Of an evolution the pulse, observables, spectrum, density, and of an atom after the pulse the
    momenta of photoelectrons in the plane of the light; of stationary states the levels, of Monte
    Carlo runs the energy's trace and what was measured. `field` and `H` replace those of
    the model that the result belongs to.
    """
    given = {"field": field, "H": H}
    return kinds.picture(result, **{key: x for key, x in given.items() if x is not None})


def stationary(
    result: Eigenstates, field: Field | None = None, H: Hamiltonian | None = None
) -> Figure:
    """Levels of stationary states."""
    figure = levels(H, result)
    if result.info.get("title"):
        figure.suptitle(result.info["title"], fontsize=12, color=style.INK, fontweight="bold")
    return figure


def evolution(result: Solution, field: Field | None = None, H: Hamiltonian | None = None) -> Figure:
    """Pulse, observables, spectrum, momentum distribution and density."""
    if result.basis is None and H is not None:
        result = dataclasses.replace(result, kept=Kept.of(H))
    field = light(result) if field is None else field
    panels: list[Callable[[Axes], Any]] = []
    span = (float(result.times[0]), float(result.times[-1]))
    known = drawable(result)
    if field is not None:
        panels.append(lambda ax: pulse(field, span, ax))
    spectral = field is not None and "acceleration" in result.observables
    names = [n for n in _ORDER if n in known] + [n for n in known if n not in _ORDER]
    if spectral:
        names.remove("acceleration")
    places = list(states.axes(result))
    over_time = len(states.course_axes(result)) == 1
    # On a line the whole course says more; where nothing was recorded the end has to do.
    on_line = len(places) == 1 and places != ["r"]
    at_end = bool(places) and not over_time and (not on_line or not known)
    room = _MOST_PANELS - len(panels) - spectral - at_end
    # The norm is no news where the ionization is drawn, or where it stays what it was.
    if "ionization" in names or len(names) > room or _constant(result, "norm"):
        names = [n for n in names if n != "norm"] or names
    for i, name in enumerate(names[:room]):
        color = style.COLORS[(i + 4) % len(style.COLORS)]
        panels.append(lambda ax, name=name, color=color: one(result, name, ax, color))
    if spectral:
        panels.append(lambda ax: spectrum(result, field, ax))
    # A panel more than others have: what is drawn without it stays.
    emitted = None if field is None else momenta(result, field, H)
    if emitted is not None:
        panels.append(lambda ax: momentum_map(emitted, ax))
    if at_end:
        plane = None if field is None or places != ["r"] else turning_plane(field)
        panels.append(lambda ax: final_density(result, ax, plane))
    if not panels and not over_time:
        panels.append(lambda ax: final_populations(result, ax))
    return _arranged(panels, result if over_time else None, result.info.get("title", ""))


def light(result: Solution) -> Field | None:
    """The field that drives the model: the pulses of all its terms together."""
    pulses: list[Field] = result.kept.each("model", Field)
    return functools.reduce(operator.add, pulses) if pulses else None


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


def film(result: Solution, path: Path) -> Path:
    """The density as an animation, with the potential behind it on a line."""
    return animate(result, path, potential=moving_potential(result))


def moving_potential(result: Solution) -> Callable[[float], Any] | None:
    """t ↦ V on a line without light, for an animation; None where it is not known."""
    H = hamiltonian(result) if len(states.axes(result)) == 1 else None
    if H is None or potential(without_light(H, 0.0)) is None:
        return None
    return lambda t: potential(without_light(H, t))
