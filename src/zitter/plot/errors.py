"""Error against cost, one line for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zitter import checks
from zitter.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
_DASHES = ("-", "--", ":")


def convergence(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    xlabel: str = "cost (s)",
    ylabel: str = "error",
    title: str = "",
    ax: Axes | None = None,
) -> Figure:
    """`curves` maps a method's name to (costs, errors); both axes are logarithmic."""
    checks.instance("curves", curves, Mapping)
    for name, pair in curves.items():
        sizes = [len(checks.array(f"curves[{name!r}]", x, (None,))) for x in _two(name, pair)]
        if sizes[0] != sizes[1]:
            raise checks.InputError(
                f"curves[{name!r}]",
                f"must have as many errors as costs, but has {sizes[1]} and {sizes[0]}",
            )
    ax = style.axes_or_new(ax, 7.5, 5.0)
    for i, (name, (costs, errors)) in enumerate(curves.items()):
        pairs = sorted((c, e) for c, e in zip(costs, errors, strict=True) if e > 0)
        ax.loglog(
            [c for c, _ in pairs], [e for _, e in pairs], label=name, ms=4, lw=1.2,
            marker=_MARKERS[i % len(_MARKERS)], color=style.COLORS[i % len(style.COLORS)],
            ls=_DASHES[i // len(style.COLORS) % len(_DASHES)],
        )  # fmt: skip
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    style.title(ax, title)
    ax.grid(which="major", color=style.FAINT, alpha=0.3, lw=0.5)
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return style.figure_of(ax)


def _two(name: str, pair: Any) -> Sequence[Any]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise checks.InputError(
            f"curves[{name!r}]", f"must be (costs, errors), but is {checks.shown(pair)}"
        )
    return pair
