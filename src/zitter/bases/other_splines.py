"""Radial splines to compare with: fewer or more, in a smaller box, on another contour.

What a level changes by on them tells what it owes to the basis. Too few splines, or splines too
coarse for a nucleus, are far from where errors fall with each one more: there more of them tell.
"""

from __future__ import annotations

import math

import numpy as np

from zitter.bases.bsplines import ExteriorScaling, RadialBSplines

KEPT = 0.8  # of the intervals, and of the angle
# Of the intervals of straight lines, whose errors fall but with the square of their length.
KEPT_LINES = 0.5
FEWEST = 3  # intervals
HALVED = 3  # more times the first of the richer intervals is, so that a nucleus is resolved soon
BOX = 0.9  # of rmax
LARGER = 1.25  # times rmax


def poorer(radial: RadialBSplines) -> dict[str, RadialBSplines]:
    """Fewer splines, or more where there are none to spare; where the coordinate turns, also a
    smaller rmax and another angle.

    On the real axis the wall is judged by the pressure on it (`box_errors`).
    """
    breaks = np.unique(radial.knots)
    count = len(breaks) - 1
    kept = KEPT_LINES if radial.degree == 1 else KEPT
    fewer = max(FEWEST, round(kept * count))
    places = np.linspace(0.0, count, fewer + 1)
    coarse = np.interp(places, np.arange(count + 1), breaks)
    found = {"splines": _rebuilt(radial, coarse) if fewer < count else richer(radial)}
    if radial.scaling is not None:
        smaller = breaks[breaks <= BOX * radial.rmax]
        if len(smaller) > FEWEST and smaller[-1] > radial.scaling.radius:
            found["rmax"] = _rebuilt(radial, smaller)
        turned = ExteriorScaling(radial.scaling.radius, KEPT * radial.scaling.angle)
        found["angle"] = _rebuilt(radial, breaks, turned)
    return found


def larger_box(radial: RadialBSplines) -> RadialBSplines:
    """By a quarter or more, in steps of the last interval: what levels owe to the wall goes."""
    breaks = np.unique(radial.knots)
    last = breaks[-1] - breaks[-2]
    more = math.ceil((LARGER - 1) * radial.rmax / last)
    return _rebuilt(radial, np.concatenate([breaks, radial.rmax + last * np.arange(1, more + 1)]))


def richer(radial: RadialBSplines) -> RadialBSplines:
    """Every interval in two, and those at the origin finer still."""
    breaks = np.unique(radial.knots)
    middles = 0.5 * (breaks[1:] + breaks[:-1])
    return _rebuilt(radial, _finer_at_origin(np.sort(np.concatenate([breaks, middles]))))


def nearer(radial: RadialBSplines) -> RadialBSplines:
    """Finer at the origin alone, where r^γ of a relativistic state is no polynomial: how far it is
    followed depends on the first interval, and hardly on the number of all."""
    return _rebuilt(radial, _finer_at_origin(np.unique(radial.knots)))


def _finer_at_origin(breaks: np.ndarray) -> np.ndarray:
    return np.unique(np.concatenate([breaks, breaks[1] * 0.5 ** np.arange(1, HALVED + 1)]))


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
