"""Stationary states: slices, isosurfaces, and how an iteration came to rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks
from zitter.plot import style
from zitter.plot.planes import Plane, strongest_plane
from zitter.results import Eigenstates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def slices(
    eig: Eigenstates, axis: str | None = None, at: float | None = None, states: int = 6
) -> Figure:
    """ψ in the plane `axis` = `at` (or along the line, in one dimension), one panel a state.

    `at` is 0 by default. Without `axis` each state is drawn in the plane that holds the most of it.
    """
    names, points = list(eig.axes), [np.asarray(x) for x in eig.axes.values()]
    if len(points) == 3 and (axis is not None or at is not None):
        checks.choice("axis", axis, names)
    count = min(states, len(eig.energies))
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = style.new_figure(2.6 * columns, (2.6 if len(points) == 3 else 2.4) * rows)
    for j in range(count):
        field = np.real(np.asarray(eig.states[j]))
        if axis is None or len(points) < 3:
            plane = strongest_plane(np.abs(field) ** 2, points)
        else:
            cut = names.index(axis)
            plane = Plane(cut, int(np.argmin(np.abs(points[cut] - (at or 0.0)))))
        ax = style.dress(figure.add_subplot(rows, columns, j + 1))
        _field(ax, plane.of(field), plane.rest(names), plane.rest(points))
        title = f"n = {j}, E = {float(eig.energies[j]):.6g}"
        style.title(ax, f"{title}\n{plane.name(names, points)}".strip(), small=True)
    return figure


def _field(ax: Axes, values: np.ndarray, names: list[str], points: list[np.ndarray]) -> None:
    """ψ along a line or, in colors around white for zero, in a plane."""
    ax.set_xlabel(f"{names[0]} (bohr)")
    if len(points) == 1:
        ax.plot(points[0], values, color=style.COLORS[0], lw=1.2)
        return
    top = np.max(np.abs(values)) or 1.0
    ax.pcolormesh(
        *points, values.T, shading="nearest", cmap="RdBu_r", vmin=-top, vmax=top, rasterized=True
    )
    ax.set_aspect("equal")
    ax.set_ylabel(f"{names[1]} (bohr)")


def isosurface(eig: Eigenstates, state: int = 0, level: float = 0.1) -> Figure:
    """Where |ψ| is `level` of its largest value, as shaded points; color: the sign of ψ."""
    if len(eig.axes) != 3:
        raise checks.InputError("eig", f"must live in three dimensions, but has {len(eig.axes)}")
    state = checks.integer("state", state, 0, len(eig.energies) - 1)
    psi = np.real(np.asarray(eig.states[state]))
    points = [np.asarray(x) for x in eig.axes.values()]
    places, signs = surface_points(psi, points, level)
    figure = style.new_figure(5.4, 4.8)
    ax: Any = figure.add_subplot(projection="3d")
    widths = np.ptp(places, axis=0)
    cells = np.max(widths) / max(x[1] - x[0] for x in points)
    ax.scatter(
        *places.T, c=_shaded(psi, points, places, signs), s=(260 / cells) ** 2, linewidths=0,
        depthshade=False,
    )  # fmt: skip
    ax.set_box_aspect(widths, zoom=0.85)  # leaves room for the label of the third axis
    for name, setter in zip(eig.axes, (ax.set_xlabel, ax.set_ylabel, ax.set_zlabel), strict=True):
        setter(f"{name} (bohr)", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.set_title(
        f"n = {state}, E = {float(eig.energies[state]):.6g}: |ψ| = {level:g} of its maximum",
        fontsize=9, color=style.INK,
    )  # fmt: skip
    return figure


def _shaded(
    psi: np.ndarray, axes: Sequence[np.ndarray], places: np.ndarray, signs: np.ndarray
) -> np.ndarray:
    """The color of each point's sign, brighter where its surface looks towards a lamp."""
    from matplotlib.colors import to_rgb

    slopes = np.gradient(np.abs(psi), *axes)
    nearest = tuple(
        np.clip(np.round((p - x[0]) / (x[1] - x[0])).astype(int), 0, len(x) - 1)
        for p, x in zip(places.T, axes, strict=True)
    )
    outward = -np.stack([slope[nearest] for slope in slopes], axis=-1)
    outward /= np.linalg.norm(outward, axis=1, keepdims=True) + 1e-300
    light = 0.5 + 0.5 * outward @ np.array([0.45, -0.6, 0.66])
    color = np.where(signs[:, None] > 0, to_rgb(style.COLORS[1]), to_rgb(style.COLORS[0]))
    return np.clip(color * (0.45 + 0.55 * light[:, None]) + 0.35 * light[:, None] ** 4, 0, 1)


def surface_points(
    psi: np.ndarray, axes: Sequence[np.ndarray], level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Points where |ψ| crosses `level`·max|ψ| between neighbours, by linear interpolation."""
    height = np.abs(psi) - level * np.max(np.abs(psi))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    places, signs = [], []
    for axis in range(3):
        low = [slice(None)] * 3
        high = [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        a, b = height[tuple(low)], height[tuple(high)]
        crossing = a * b < 0
        t = (a[crossing] / (a[crossing] - b[crossing]))[:, None]
        places.append((1 - t) * grid[tuple(low)][crossing] + t * grid[tuple(high)][crossing])
        signs.append(np.sign(psi[tuple(low)][crossing]))
    if not sum(len(p) for p in places):
        raise checks.InputError("level", f"must be crossed by |ψ|/max|ψ|, but {level:g} is not")
    return np.concatenate(places), np.concatenate(signs)


def convergence_history(results: Mapping[str, Eigenstates], ax: Axes | None = None) -> Figure:
    """The largest residual against the iteration (or update), one line for each solver."""
    ax = style.axes_or_new(ax)
    for i, (name, eig) in enumerate(results.items()):
        history = eig.info.get("residual_history")
        if history is None:
            raise checks.InputError(
                "results", f"must come from iterative solvers, but {name} does not"
            )
        steps = eig.info.get("update_history", range(len(history)))
        color = style.COLORS[i % len(style.COLORS)]
        ax.semilogy(np.asarray(steps) + 1, history, label=name, lw=1.2, color=color)
    ax.set_xscale("log")
    ax.set_xlabel("iterations + 1")
    ax.set_ylabel("‖Hψ − Eψ‖ (hartree)")
    ax.legend(fontsize=8, frameon=False)
    return style.figure_of(ax)


def energy_courses(
    courses: Mapping[str, tuple[Any, Any, Any]],
    tables: Mapping[str, Sequence[tuple[int, float]]],
) -> Figure:
    """E against the number of updates, with points to compare: `courses` holds (k, E, residual)."""
    figure = style.new_figure(8.0, 5.5)
    for i, (name, (k, energy, residual)) in enumerate(courses.items()):
        ax = style.dress(figure.add_subplot(2, 2, i + 1))
        ax.plot(k, energy, color=style.COLORS[0], lw=1.2)
        ax.plot(*np.array(tables[name]).T, "o", ms=4, color=style.COLORS[1])
        first = [e for _, e in tables[name]]
        margin = 0.1 * (max(first) - min(first))
        ax.set_ylim(min(first) - margin, max(first) + 3 * margin)
        ax.set_xlabel("updates")
        ax.set_ylabel("E (hartree)")
        style.title(ax, f"{name}: last residual {float(residual[-1]):.1e}", small=True)
    return figure
