"""The density of a state: over time as a picture or an animation, and at the end of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks, files, units
from zitter.plot import states, style
from zitter.results import Solution
from zitter.spectra.directions import Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADES = 6  # shown below the largest density


def density(solution: Solution, ax: Axes | None = None, logarithmic: bool = True) -> Figure:
    """On a line or over r, the density against time as a picture; in a plane, at six moments."""
    times, shown = states.course(solution)
    shown = _projected(shown)
    if len(shown.axes) == 2:
        return _moments(times, shown)
    values, points = shown.values, shown.points
    ax = style.axes_or_new(ax, 7.0, 4.5)
    mesh = ax.pcolormesh(
        times, points[0], values.T, shading="nearest", cmap=style.DENSITY_MAP,
        norm=_norm(values, logarithmic), rasterized=True,
    )  # fmt: skip
    bar = style.figure_of(ax).colorbar(mesh, ax=ax, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(shown.unit, fontsize=8)
    low, high = _extent(points[0], values)
    ax.set_ylim(low, high)
    ax.set_ylabel(f"{shown.names[0]} (bohr)")
    style.title(ax, "Probability density")
    ax.set_xlim(times[0], times[-1])
    style.time_axis(ax)
    return style.figure_of(ax)


def final_density(solution: Solution, ax: Axes | None = None, plane: Plane | None = None) -> Figure:
    """The density at the end of the run: along a line, over r, or in a plane; of an atom in the
    `plane` asked for, "xy" or two other letters, or two vectors."""
    shown = (
        _projected(states.final(solution)) if plane is None else states.in_plane(solution, plane)
    )
    if shown.names == ["x", "z"]:  # the axis of light and of the nuclei lies
        shown = shown.turned()
    moment = f"at t = {units.to_fs(float(solution.times[-1])):.3g} fs"
    if len(shown.axes) == 1:
        return _curve(shown, moment, style.axes_or_new(ax, 6.0, 3.2))
    ax = style.axes_or_new(ax, 5.0, 4.5)
    mesh = ax.pcolormesh(
        *shown.points, shown.values.T, shading="nearest", cmap=style.DENSITY_MAP,
        norm=_norm(shown.values, True), rasterized=True,
    )  # fmt: skip
    bar = style.figure_of(ax).colorbar(mesh, ax=ax, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(shown.unit, fontsize=8)
    for limits, axis in ((ax.set_xlim, 0), (ax.set_ylim, 1)):
        limits(*_extent(shown.points[axis], np.moveaxis(shown.values, axis, -1)))
    ax.set_aspect("equal", anchor="W")
    ax.set_xlabel(f"{shown.names[0]} (bohr)")
    ax.set_ylabel(f"{shown.names[1]} (bohr)")
    style.title(ax, f"Probability density {moment}")
    return style.figure_of(ax)


def _curve(shown: states.Shown, moment: str, ax: Axes) -> Figure:
    """Logarithmic: what leaves an atom is small."""
    ax.semilogy(shown.points[0], np.maximum(shown.values, 1e-300), color=style.COLORS[0], lw=1.2)
    top = float(np.max(shown.values))
    ax.set_ylim(1e-9 * top, 3 * top)
    ax.set_xlabel(f"{shown.names[0]} (bohr)")
    ax.set_ylabel(shown.unit)
    style.title(ax, f"{'Radial' if shown.radial else 'Probability'} density {moment}")
    return style.figure_of(ax)


def final_populations(solution: Solution, ax: Axes | None = None) -> Figure:
    """|c|² at the end of the run, where states have no place: summed over all axes but the first.

    It holds for orthonormal bases only: elsewhere the squares are no probabilities.
    """
    if solution.basis is None or not solution.basis.orthonormal:
        raise checks.InputError(
            "result", "must hold observables, a density or populations to be drawn, but has none"
        )
    ax = style.axes_or_new(ax, 6.0, 3.2)
    name, places = next(iter(solution.axes.items()))
    weights = np.abs(np.asarray(solution.final)) ** 2
    ax.bar(places, weights.reshape(len(weights), -1).sum(axis=1), color=style.COLORS[0])
    ax.set_xlabel(name)
    ax.set_ylabel("population")
    style.title(ax, f"Populations at t = {units.to_fs(float(solution.times[-1])):.3g} fs")
    return style.figure_of(ax)


def animate(
    solution: Solution,
    path: str | Path,
    seconds: float = 6.0,
    potential: Any = None,
    logarithmic: bool = False,
) -> Path:
    """The density as an animated GIF; `potential(t)` gives V, drawn behind it on a line."""
    from matplotlib.animation import FuncAnimation, PillowWriter

    path = Path(path)
    if path.suffix.lower() != ".gif":
        raise checks.InputError("output", f'must end in .gif for an animation, but is "{path}"')
    times, shown = states.course(solution)
    shown = _projected(shown)
    names, points = shown.names, shown.points
    thin = -(-len(times) // 150)
    times, values = times[::thin], shown.values[::thin]
    figure = style.new_figure(5.2, 3.6 if values.ndim == 2 else 4.2)
    figure.set_dpi(100)
    ax = style.dress(figure.add_subplot())
    if values.ndim == 2:
        draw = _line(ax, shown, times, values, potential, logarithmic)
    else:
        draw = _plane(ax, points, names, values, logarithmic)

    def frame(i: int) -> list[Any]:
        ax.set_title(f"t = {units.to_fs(float(times[i])):.3f} fs", fontsize=9, loc="left")
        return draw(i)

    animation = FuncAnimation(figure, frame, frames=len(times))
    writer = PillowWriter(fps=max(1, round(len(times) / seconds)))
    with tempfile.TemporaryDirectory() as folder:  # a writer of films wants a name
        animation.save(Path(folder) / "film.gif", writer=writer, dpi=100)
        film = (Path(folder) / "film.gif").read_bytes()
    with files.whole(path) as file:
        file.write(film)
    return path


def _line(ax, shown, times, values, potential, logarithmic):
    x, top = shown.points[0], float(np.max(values))
    low, high = _extent(x, values)
    ax.set_xlim(low, high)
    ax.set_xlabel(f"{shown.names[0]} (bohr)")
    ax.set_ylabel(shown.unit)
    if logarithmic:
        ax.set_yscale("log")
        ax.set_ylim(top * 10.0**-DECADES, 2 * top)
    else:
        ax.set_ylim(0, 1.08 * top)
    behind = None
    if potential is not None:
        right = style.dress(ax.twinx())
        right.set_ylabel("V (hartree)", color=style.FAINT)
        right.spines["right"].set_visible(True)
        samples = np.asarray([potential(float(t)) for t in times[:: max(1, len(times) // 20)]])
        inside = samples[:, (x >= low) & (x <= high)]
        span = float(np.ptp(inside)) or 1.0
        right.set_ylim(float(np.min(inside)) - 0.05 * span, float(np.max(inside)) + 0.3 * span)
        right.tick_params(colors=style.FAINT)
        (behind,) = right.plot(x, samples[0], color=style.FAINT, lw=1.0)
    area: list[Any] = []
    (line,) = ax.plot(x, values[0], color=style.COLORS[0], lw=1.4)

    def draw(i):
        line.set_ydata(values[i])
        for old in area:
            old.remove()
        area[:] = [ax.fill_between(x, values[i], color=style.COLORS[0], alpha=0.25, lw=0)]
        if behind is not None and potential is not None:
            behind.set_ydata(potential(float(times[i])))
        return [line, *area]

    return draw


def _plane(ax, points, names, values, logarithmic):
    image = ax.imshow(
        values[0].T, origin="lower", cmap=style.DENSITY_MAP, norm=_norm(values, logarithmic),
        extent=(points[0][0], points[0][-1], points[1][0], points[1][-1]), aspect="equal",
    )  # fmt: skip
    ax.set_xlabel(f"{names[0]} (bohr)")
    ax.set_ylabel(f"{names[1]} (bohr)")

    def draw(i):
        image.set_data(values[i].T)
        return [image]

    return draw


def _moments(times: np.ndarray, shown: states.Shown) -> Figure:
    values, names, points = shown.values, shown.names, shown.points
    chosen = np.unique(np.linspace(0, len(times) - 1, 6).round().astype(int))
    figure = style.new_figure(9.0, 6.0)
    axes = figure.subplots(2, 3, squeeze=False).ravel()
    norm = _norm(values, True)
    mesh = None
    for ax, i in zip(axes, chosen, strict=False):
        style.dress(ax)
        mesh = ax.pcolormesh(
            points[0], points[1], values[i].T, shading="nearest", cmap=style.DENSITY_MAP,
            norm=norm, rasterized=True,
        )  # fmt: skip
        ax.set_aspect("equal")
        style.title(ax, f"t = {units.to_fs(float(times[i])):.3g} fs", small=True)
        ax.set_xlabel(f"{names[0]} (bohr)")
        ax.set_ylabel(f"{names[1]} (bohr)")
        ax.label_outer()
    for ax in axes[len(chosen) :]:
        ax.set_visible(False)
    if mesh is not None:
        figure.colorbar(mesh, ax=list(axes), shrink=0.8).set_label(shown.unit, fontsize=8)
    return figure


def _projected(shown: states.Shown) -> states.Shown:
    """Three dimensions are drawn as the plane through the middle of the last axis."""
    if len(shown.axes) < 3:
        return shown
    middle = shown.values[..., shown.values.shape[-1] // 2]
    return states.Shown(dict(list(shown.axes.items())[:2]), middle)


def _norm(values: np.ndarray, logarithmic: bool) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    top = float(np.max(values))
    return LogNorm(top * 10.0**-DECADES, top, clip=True) if logarithmic else Normalize(0, top)


def _extent(x: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The part of the axis where something happens, with a margin."""
    reached = np.max(values.reshape(-1, len(x)), axis=0) > float(np.max(values)) * 10.0**-DECADES
    inside = x[reached]
    margin = 0.05 * (inside[-1] - inside[0]) + 1e-9
    return max(x[0], inside[0] - margin), min(x[-1], inside[-1] + margin)
