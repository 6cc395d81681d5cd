"""Monte Carlo runs: the trace of the energy, reblocking, and whatever else was measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks
from zitter.plot import style
from zitter.qmc.optimized import Optimized
from zitter.qmc.samples import Samples
from zitter.qmc.statistics import with_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = {
    "pair_correlation": ("r (bohr)", "g(r)"),
    "structure_factor": ("k (1/bohr)", "S(k)"),
    "momentum_density": ("k / k_F", "n(k)"),
    "radial_density": ("r (bohr)", "n(r)"),
    "dipole_moment": ("component", "dipole moment (e·bohr)"),
    "forces": ("nucleus", "force (hartree/bohr)"),
}


def trace(samples: Samples, name: str = "energy", ax: Axes | None = None) -> Figure:
    """One number per block, the part that was dropped, and the mean with its error bar."""
    if name not in samples.traces:
        names = ", ".join(samples.traces)
        raise checks.InputError("name", f"must be one of {names}, but is {name!r}")
    ax = style.axes_or_new(ax, 7.0, 4.0)
    values = samples.traces[name]
    blocks = np.arange(len(values))
    estimate = samples.estimate(name)
    ax.plot(blocks[: samples.start + 1], values[: samples.start + 1], color=style.FAINT, lw=0.8)
    ax.plot(blocks[samples.start :], values[samples.start :], color=style.COLORS[0], lw=0.8)
    ax.axhline(estimate.mean, color=style.COLORS[1], lw=1.0)
    low, high = estimate.mean - estimate.error, estimate.mean + estimate.error
    ax.axhspan(low, high, color=style.COLORS[1], alpha=0.25, lw=0)
    ax.set_xlabel("block")
    ax.set_ylabel(f"{name.replace('_', ' ')} ({samples.units})")
    shown = with_error(estimate.mean, estimate.error)
    style.title(ax, f"{samples.info['method']}: {shown} {samples.units}")
    return style.figure_of(ax)


def estimator(samples: Samples, name: str, ax: Axes | None = None) -> Figure:
    """What was measured with error bars.

    g has a line for like and one for opposite spins, forces have one for each component.
    """
    if name not in samples.estimators:
        names = ", ".join(samples.estimators) or "nothing"
        raise checks.InputError("name", f"must have been measured ({names} was), but is {name!r}")
    if name == "density":
        return density(samples, ax=ax)
    ax = style.axes_or_new(ax, 6.0, 4.0)
    found = samples.estimators[name]
    means, errors = np.atleast_2d(found["mean"]), np.atleast_2d(found["error"])
    labels = ("like spins", "opposite spins") if len(means) == 2 else ("",)
    if name == "forces":
        labels = ("x", "y", "z")
    counted = name in ("forces", "dipole_moment")  # nothing lies between components or nuclei
    line: dict[str, Any] = {"ls": "none", "capsize": 2} if counted else {"lw": 1.0}
    for row, (mean, error, label) in enumerate(zip(means, errors, labels, strict=False)):
        color = style.COLORS[row % len(style.COLORS)]
        aside = 0.06 * (row - 0.5 * (len(means) - 1)) if counted else 0.0
        x = found["x"] + aside
        ax.errorbar(x, mean, error, color=color, marker="o", ms=3, label=label, **line)
    if counted:
        names = ["x", "y", "z"][: len(found["x"])] if name == "dipole_moment" else None
        ax.set_xticks(found["x"], names)
        ax.set_xlim(found["x"][0] - 0.5, found["x"][-1] + 0.5)
    if len(means) > 1:
        ax.legend(fontsize=8, frameon=False)
    horizontal, vertical = _AXES.get(name, ("x", name))
    ax.set_xlabel(horizontal)
    ax.set_ylabel(vertical)
    style.title(ax, f"{samples.info['method']}: {name.replace('_', ' ')}")
    return style.figure_of(ax)


def density(
    samples: Samples,
    spin: bool = False,
    index: int | None = None,
    ax: Axes | None = None,
    axis: int | None = None,
) -> Figure:
    """A slice of the density, or of that of spin, across one axis of its grid.

    Without `index` it is the plane that the nuclei lie in, where there is one, else across the
    third axis the slice that holds the most electrons.
    """
    if "density" not in samples.estimators:
        raise checks.InputError("estimators", "must hold a Density to draw")
    found = samples.estimators["density"]
    rows = found["mean"] if found["mean"].ndim == 4 else found["mean"][..., None]
    steps, origin = found["steps"], found["origin"]
    if index is None and axis is None:
        axis, index = _plane_of_nuclei(found)
    axis = 2 if axis is None else checks.integer("axis", axis, 0, len(steps) - 1)
    layers = rows.shape[1 + axis]
    if index is None:
        others = tuple(a for a in range(3) if a != axis)
        index = int(np.argmax(rows[0].sum(axis=others)))
    index = checks.integer("index", index, 0, layers - 1)
    ax = style.axes_or_new(ax, 5.5, 4.5)
    values = np.take(rows[1 if spin else 0], index, axis=axis)
    # Corners of the voxels; components of tilted axes.
    i, j = (np.arange(n + 1) - 0.5 for n in values.shape)
    first, second = (a for a in range(3) if a != axis)
    x, y = (
        origin[a] + i[:, None] * steps[first, a] + j[None, :] * steps[second, a]
        + (index * steps[axis, a] if len(steps) == 3 else 0.0)
        for a in (first, second)
    )  # fmt: skip
    largest = float(np.max(np.abs(values))) or 1.0
    lowest = -largest if spin else 0.0
    shade = "RdBu_r" if spin else style.DENSITY_MAP
    image = ax.pcolormesh(x, y, values, cmap=shade, vmin=lowest, vmax=largest)
    style.figure_of(ax).colorbar(image, ax=ax, label="electrons / bohr³")
    ax.set_aspect("equal")
    ax.set_xlabel(f"{'xyz'[first]} (bohr)")
    ax.set_ylabel(f"{'xyz'[second]} (bohr)")
    height = ""
    if len(steps) == 3:
        height = f", {'xyz'[axis]} = {origin[axis] + index * steps[axis, axis]:.3g}"
    style.title(ax, f"{'Spin density' if spin else 'Density'}{height}")
    return style.figure_of(ax)


def _plane_of_nuclei(found: dict[str, np.ndarray]) -> tuple[int | None, int | None]:
    """(axis, layer) of a grid along x, y, z that holds all nuclei; (None, None) without one."""
    steps, nuclei = found["steps"], found["nuclei"]
    if len(nuclei) == 0 or len(steps) < 3 or np.any(steps != np.diag(np.diag(steps))):
        return None, None
    # In voxels, 0 in the middle of the first.
    places = (nuclei[:, 1:] - found["origin"]) / np.diag(steps)
    spread = np.ptp(places, axis=0)
    axis = int(np.flatnonzero(spread <= np.min(spread) + 1e-9)[-1])
    if spread[axis] >= 1:
        return None, None
    # A plane between two layers is as near to the one as to the other.
    layer = math.floor(float(np.mean(places[:, axis])) + 0.5 + 1e-9)
    return axis, min(max(layer, 0), found["mean"].shape[1 + axis] - 1)


def parts(samples: Samples, ax: Axes | None = None) -> Figure:
    """The parts of the energy: how each departs from its mean from block to block."""
    ax = style.axes_or_new(ax, 7.0, 4.0)
    for row, (name, found) in enumerate(samples.parts.items()):
        values = samples.traces[name]
        label = f"{name.replace('_', ' ')} {with_error(found.mean, found.error)}"
        color = style.COLORS[row % len(style.COLORS)]
        ax.plot(np.arange(len(values)), values - found.mean, color=color, lw=0.8, label=label)
    ax.axvline(samples.start, color=style.FAINT, lw=0.8)
    ax.set_xlabel("block")
    ax.set_ylabel(f"part − mean ({samples.units})")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Parts of the energy")
    return style.figure_of(ax)


def optimization(found: Optimized) -> Figure:
    """Energy and variance of the parameters that were tried, one after another."""
    figure = style.new_figure(6.5, 5.0)
    upper, lower = figure.subplots(2, 1, sharex=True)
    first = 0
    for row, stage in enumerate(found.stages):
        color, steps = style.COLORS[row % len(style.COLORS)], first + np.arange(len(stage.energies))
        courses = ((stage.energies, stage.errors), (stage.variances, stage.variance_errors))
        for ax, (values, errors) in zip((upper, lower), courses, strict=True):
            ax.errorbar(steps, values, errors, color=color, lw=1.0, marker="o", ms=3,
                        label=stage.method)  # fmt: skip
            ax.plot(steps[stage.best], values[stage.best], "o", color=color, ms=9, mfc="none")
        first = steps[-1] + 1
    for ax, label in ((upper, f"energy ({found.stages[0].units})"), (lower, "variance (hartree²)")):
        style.dress(ax)
        ax.set_ylabel(label)
    upper.legend(fontsize=8, frameon=False)
    lower.set_xlabel("iteration")
    lower.xaxis.get_major_locator().set_params(integer=True)
    style.title(upper, "Optimization; what was taken is ringed")
    return figure


def overview(samples: Samples) -> Figure:
    """The energy's trace, its parts, and everything that was measured, in one figure."""
    first = 1 + (len(samples.parts) > 1)
    count = first + len(samples.estimators)
    figure = style.new_figure(6.5, 2.8 * count)
    axes = figure.subplots(count, 1, squeeze=False).ravel()
    trace(samples, ax=axes[0])
    if first > 1:
        parts(samples, ax=axes[1])
    for ax, name in zip(axes[first:], samples.estimators, strict=True):
        estimator(samples, name, ax=ax)
    return figure


def costs(table: list[tuple[int, str, int, dict[str, float]]]) -> Figure:
    """Time per walker over the number of electrons: rows of (N, precision, walkers, parts)."""
    ax = style.axes_or_new(None, 6.5, 4.5)
    parts = {
        "sweep_u_p": "sweep with u, p",
        "sweep_bare": "determinants",
        "p": "p",
        "ewald": "Ewald",
    }
    for color, (part, label) in zip(style.COLORS, parts.items(), strict=False):
        for precision, line in (("double", "-"), ("single", "--")):
            rows = sorted(
                (n, f[part] / w) for n, kind, w, f in table if kind == precision and part in f
            )
            if not rows:  # not measured
                continue
            sizes, seconds = zip(*rows, strict=True)
            milliseconds = [1e3 * s for s in seconds]
            ax.loglog(sizes, milliseconds, line, color=color, marker="o", ms=3, lw=1.0,
                      label=f"{label}, {precision}")  # fmt: skip
    sizes = sorted({n for n, *_ in table})
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("electrons")
    ax.set_ylabel("time per walker (ms)")
    ax.legend(fontsize=7, frameon=False)
    style.title(ax, "Cost of a VMC sweep and of an Ewald energy")
    return style.figure_of(ax)
