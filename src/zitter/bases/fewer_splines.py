"""Radial splines that are poorer in one respect: fewer, in a smaller box, on another contour.

What a level changes by on them tells what it owes to the basis.
"""

from __future__ import annotations

import numpy as np

from zitter.bases.bsplines import ExteriorScaling, RadialBSplines

KEPT = 0.8  # of the intervals, and of the angle
BOX = 0.9  # of rmax


def poorer(radial: RadialBSplines) -> dict[str, RadialBSplines]:
    """Fewer splines; where the coordinate turns, also a smaller rmax and another angle.

    On the real axis the wall is judged by the pressure on it (`box_errors`).
    """
    breaks = np.unique(radial.knots)
    count = len(breaks) - 1
    fewer = max(3, round(KEPT * count))
    places = np.linspace(0.0, count, fewer + 1)
    found = {"splines": _rebuilt(radial, np.interp(places, np.arange(count + 1), breaks))}
    if radial.scaling is not None:
        smaller = breaks[breaks <= BOX * radial.rmax]
        if len(smaller) > 3 and smaller[-1] > radial.scaling.radius:
            found["rmax"] = _rebuilt(radial, smaller)
        turned = ExteriorScaling(radial.scaling.radius, KEPT * radial.scaling.angle)
        found["angle"] = _rebuilt(radial, breaks, turned)
    return found


def _rebuilt(
    radial: RadialBSplines, breaks: np.ndarray, scaling: ExteriorScaling | None = None
) -> RadialBSplines:
    """On these breakpoints; everything else as it is."""
    dropped = 2 if radial.outer == "zero" else 1
    repeated = 0 if radial.scaling is None else radial.degree - 1
    return RadialBSplines(
        len(breaks) - 1 - dropped + radial.degree + repeated,
        radial.degree,
        float(breaks[-1]),
        [float(x) for x in breaks],
        outer=radial.outer,
        scaling=scaling or radial.scaling,
    )
