"""Densities of stationary states in a plane, in three dimensions in one where the state is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter.plot import states, style
from zitter.plot.diagrams import level_diagram
from zitter.results import Eigenstates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STATES = 6


@dataclasses.dataclass
class Plane:
    """The points number `index` of an axis; without an axis, all there is of a plane."""

    axis: int | None = None
    index: int = 0

    def of(self, values: np.ndarray) -> np.ndarray:
        return values if self.axis is None else np.take(values, self.index, axis=self.axis)

    def rest(self, listed: Iterable[Any]) -> list[Any]:
        """What a list for all axes holds for the two of the plane."""
        return [item for i, item in enumerate(listed) if i != self.axis]

    def name(self, names: Sequence[str], points: Sequence[np.ndarray]) -> str:
        if self.axis is None:
            return ""
        return f"{names[self.axis]} = {points[self.axis][self.index]:.4g} bohr"


def strongest_plane(density: np.ndarray, points: Sequence[np.ndarray]) -> Plane:
    """Of all planes across the axes, the one that holds the most probability per length.

    The middle of the box may be where a state is zero. Of equals the last axis, z, wins.
    """
    best, plane = 0.0, Plane()
    if density.ndim < 3:
        return plane
    for axis, marginal in reversed(list(enumerate(_marginals(density)))):
        share = marginal / (points[axis][1] - points[axis][0])
        top = float(np.max(share))
        if top > 1.01 * best:
            best, plane = top, Plane(axis, int(np.argmax(share > (1 - 1e-6) * top)))
    return plane


def densities_in_planes(eigenstates: Eigenstates) -> Figure:
    """|φ|² of the first states, one panel each, and the level diagram."""
    count = min(MOST_STATES, len(eigenstates.energies))
    shown = states.of_states(eigenstates, eigenstates.states[:count])
    names, points = shown.names, shown.points
    cuts, marginals = [], []
    for density in shown.values:
        plane = strongest_plane(density, points)
        cuts.append((plane, plane.of(density)))
        marginals.append(_marginals(density))
    ranges = [
        region(x, np.stack(m)) for x, m in zip(points, zip(*marginals, strict=True), strict=True)
    ]
    columns = min(3, count)
    rows = -(-count // columns)
    figure = style.new_figure(3.2 * columns + 3.2, 3.4 * rows)
    grid = figure.add_gridspec(rows, columns + 1)
    for n, (plane, values) in enumerate(cuts):
        ax = style.dress(figure.add_subplot(grid[n // columns, n % columns]))
        ax.pcolormesh(
            *plane.rest(points), values.T, shading="nearest", cmap=style.DENSITY_MAP,
            rasterized=True,
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.set(xlim=plane.rest(ranges)[0], ylim=plane.rest(ranges)[1])
        ax.set_xlabel(f"{plane.rest(names)[0]} (bohr)")
        ax.set_ylabel(f"{plane.rest(names)[1]} (bohr)")
        title = f"$E_{{{n}}}$ = {float(eigenstates.energies[n]):.8g} hartree"
        style.title(ax, f"{title}\n{plane.name(names, points)}".strip(), small=True)
    level_diagram(eigenstates, figure.add_subplot(grid[:, columns]))
    return figure


def region(x: np.ndarray, densities: np.ndarray) -> tuple[float, float]:
    """Where the states live, with room around."""
    inside = x[np.max(densities / np.max(densities, axis=1, keepdims=True), axis=0) > 1e-3]
    margin = 0.15 * (inside[-1] - inside[0]) + 1e-9
    return max(x[0], inside[0] - margin), min(x[-1], inside[-1] + margin)


def _marginals(density: np.ndarray) -> list[np.ndarray]:
    """For each axis, the density summed over the others."""
    every = range(density.ndim)
    return [np.sum(density, axis=tuple(a for a in every if a != axis)) for axis in every]
