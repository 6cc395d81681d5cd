"""The look that all pictures share. matplotlib is imported only when something is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from zitter import checks, files, units

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#22313f", "#9aa5b1"
COLORS = ("#1f6f8b", "#d1495b", "#3a7d44", "#e09f3e", "#6d597a", "#5c6b73")
DENSITY_MAP = "magma"


def new_figure(width: float = 7.0, height: float = 4.5) -> Figure:
    """A figure of its own, with no window and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise checks.InputError(
            "plot", "must have matplotlib installed: pip install 'zitter[plot]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def axes_or_new(ax: Axes | None, width: float = 7.0, height: float = 4.5) -> Axes:
    if ax is None:
        return dress(new_figure(width, height).add_subplot())
    from matplotlib.axes import Axes

    return dress(checks.instance("ax", ax, Axes))


def dress(ax: Axes) -> Axes:
    """Thin frame, quiet ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=8)
    ax.xaxis.label.set_fontsize(9)
    ax.yaxis.label.set_fontsize(9)
    return ax


def title(ax: Axes, text: str, small: bool = False) -> None:
    ax.set_title(text, fontsize=9 if small else 10, color=INK)


def time_axis(ax: Axes) -> None:
    """Femtoseconds (or attoseconds) below; what is drawn is in atomic units of time."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = ax.get_xlim()
    unit, per = "fs", units.to_fs(1.0)
    if per * (high - low) < 0.5:
        unit, per = "as", 1e3 * per

    class Locator(MaxNLocator):
        def tick_values(self, vmin, vmax):
            return [tick / per for tick in super().tick_values(vmin * per, vmax * per)]

    ax.xaxis.set_major_locator(Locator(nbins=7))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{t * per:.4g}"))
    ax.set_xlabel(f"time ({unit})")


def atomic_time_on_top(ax: Axes) -> None:
    """A second axis, in atomic units, above."""
    top = ax.secondary_xaxis("top")
    top.set_xlabel("time (a.u.)", fontsize=8, color=FAINT)
    top.tick_params(labelsize=7, colors=FAINT)


def save(figure: Figure, path: str | Path) -> Path:
    from matplotlib.figure import Figure

    checks.instance("figure", figure, Figure)
    path = checks.path("output", path)
    known: Any = figure.canvas.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in known:
        names = ", ".join(f".{name}" for name in sorted(known))
        raise checks.InputError("output", f'must end in one of {names}, but is "{path}"')
    with files.whole(path) as sink:
        file: Any = sink
        figure.savefig(file, format=path.suffix.lstrip(".").lower())
    return path


def figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure
