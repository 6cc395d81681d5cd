"""The density of states, as their basis gives it: on a line, in a plane, in space, or over r."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.linalg.base import Unsupported
from zitter.observables.space import density_in_plane
from zitter.plot.pulses import axes_in_words
from zitter.results import Eigenstates, Solution
from zitter.spectra.directions import Plane, plane_axes

PLACES = 241  # along each side of a plane
MOST_MOMENTS = 1000  # of saved states, more than a picture can show


@dataclasses.dataclass(frozen=True)
class Shown:
    """Densities over named axes; the last axes of `values` are those, in order."""

    axes: dict[str, np.ndarray]
    values: np.ndarray
    cut: bool = False  # a plane in space, not a space of two dimensions

    @property
    def names(self) -> list[str]:
        return list(self.axes)

    @property
    def points(self) -> list[np.ndarray]:
        return [np.asarray(x) for x in self.axes.values()]

    def turned(self) -> Shown:
        """A plane with its axes exchanged."""
        return Shown(dict(reversed(self.axes.items())), np.swapaxes(self.values, -1, -2), self.cut)

    @property
    def radial(self) -> bool:
        """Whether it is dP/dr."""
        return self.names == ["r"]

    @property
    def on_line(self) -> bool:
        return len(self.axes) == 1 and not self.radial

    @property
    def unit(self) -> str:
        if self.radial:
            return "dP/dr (1/bohr)"
        power = {1: "", 2: "²", 3: "³"}.get(len(self.axes) + self.cut)
        return "|ψ|²" if power is None else f"|ψ|² (1/bohr{power})"


def axes(result: Solution | Eigenstates) -> dict[str, np.ndarray]:
    """What a density of this result lives on; nothing where none can be drawn."""
    try:
        return _basis(result).density_axes()
    except (checks.InputError, Unsupported):
        return {}


def of_states(result: Solution | Eigenstates, states: Any) -> Shown:
    """Densities of states in the basis of a result, one after another."""
    basis = _basis(result)
    try:
        values = [np.asarray(basis.density(jnp.asarray(psi))) for psi in states]
        return Shown(basis.density_axes(), np.stack(values))
    except Unsupported as error:
        raise checks.InputError("result", f"must have a density to be drawn, but {error}") from None


def final(solution: Solution) -> Shown:
    """The density at the end of a run."""
    found = of_states(solution, [solution.final])
    return Shown(found.axes, found.values[0])


def in_plane(solution: Solution, plane: Plane, decades: int = 6) -> Shown:
    """|ψ|² of an atom at the end of a run in a plane, as far as dP/dr is seen."""
    whole = final(solution)
    (r,), density = whole.points, whole.values
    seen = r[density > density.max() * 10.0**-decades]
    places = np.linspace(-seen[-1], seen[-1], PLACES)
    axes = np.stack(plane_axes(plane))
    found = density_in_plane(_basis(solution), jnp.asarray(solution.final), axes, places)
    first, second = axes_in_words(plane)
    return Shown({first: places, second: places}, np.asarray(found), cut=True)


def course(solution: Solution) -> tuple[np.ndarray, Shown]:
    """(times, densities) as recorded, or from saved states."""
    if "density" in solution.observables:
        places = solution.coordinates | solution.axes
        named = {name: places[name] for name in solution.described["density"][0]}
        cut = "density_plane" in solution.info
        return solution.times_of("density"), Shown(named, solution.observables["density"], cut)
    if solution.states is None:
        raise checks.InputError(
            "observables", "must have held Density, or save_states been set, to draw the density"
        )
    thin = -(-len(solution.times) // MOST_MOMENTS)
    return solution.times[::thin], of_states(solution, solution.states[::thin])


def course_axes(solution: Solution) -> list[str]:
    """Names of what the densities of `course` live on; none where there is no course."""
    if "density" in solution.observables:
        return list(solution.described["density"][0])
    return list(axes(solution)) if solution.states is not None else []


def _basis(result: Solution | Eigenstates) -> Basis:
    if result.basis is None:
        raise checks.InputError(
            "result",
            f"must know its basis for its density to be drawn, but {result.missing['basis']}",
        )
    return result.basis
