"""How many functions: sizes that a user does not give, and checks of those given.

Lengths along ξ are physical: a node at ξ lies a(ξ−1) beyond a nucleus on the axis, whatever R is.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import ive

from zitter import checks
from zitter.bases.bsplines import ExteriorScaling
from zitter.bases.edges import ConvergenceWarning
from zitter.keywords import caller

NODES = 12  # in each element
LEAST, MOST_NODES = 4, 40  # nodes in each element; of η the least for m = 0
MORE = 4  # of either, to compare with: with two an error that happens to be small tells too little
REACH = 80.0  # bohr of the box beyond the nuclei
FARTHEST = 1e5  # bohr: elements of a few bohr each would be too many
LONGEST = 8.0  # bohr of an element: with 12 nodes waves of up to 3 a.u. of momentum
FIRST = 2.0  # bohr of the first element
MOST_ETA = 2048  # full matrices among them take seconds to make
LOST = 1e-6  # of e^{−Zr} that polynomials may leave out; levels are then wrong by about 1e-8 Z²


def default_eta(R: float, m: int) -> int:
    """10 + 1.2R, and what the higher powers of 1−η² take for |m| > 2."""
    return math.ceil(10 + 1.2 * R - 1e-9) + max(abs(m) - 2, 0)


def other_count(count: int, most: int) -> int:
    """To compare with: more, as errors fall by a factor with each; where they cannot be, less."""
    return count + MORE if count + MORE <= most else count - MORE


def default_elements(R: float, reach: float, turn: float | None) -> tuple[float, ...]:
    """Ends of the elements: lengths that double from min(2, R + 1/2) bohr up to 8, then equal ones.

    ψ has a singularity at ξ = −1, R behind the first element, which must not be too long for it.
    Where the contour turns there is a joint.
    """
    stop = reach if turn is None else turn
    length, ends = min(FIRST, R + 0.5), [0.0]
    while length < LONGEST and ends[-1] + 1.5 * length < stop:
        ends.append(ends[-1] + length)
        length = min(2 * length, LONGEST)
    for end in (stop, reach):
        count = math.ceil((end - ends[-1]) / LONGEST - 1e-9)
        ends += list(np.linspace(ends[-1], end, count + 1)[1:])
    return tuple(float(end) for end in ends)


def given_elements(
    elements: Sequence[float], reach: float | None, turn: float | None
) -> tuple[float, ...]:
    ends = np.asarray(checks.array("elements", elements, (None,)), float)
    if len(ends) < 3 or ends[0] != 0 or np.any(np.diff(ends) <= 0):
        raise checks.InputError(
            "elements", "must be at least three distances that rise from 0, but are not"
        )
    if reach is not None and not math.isclose(ends[-1], reach, rel_tol=1e-12):
        raise checks.InputError(
            "elements", f"must end at rmax − R/2 = {reach:g} bohr, but end at {ends[-1]:g}"
        )
    if turn is not None and not np.any(np.isclose(ends[1:-1], turn, rtol=1e-12, atol=0)):
        raise checks.InputError(
            "elements",
            f"must have a joint where the contour turns, at scaling.radius − R/2 = {turn:g} bohr, "
            "but have none there",
        )
    return tuple(float(end) for end in ends)


def distance_of_turn(scaling: ExteriorScaling | None, R: float, rmax: float) -> float | None:
    """Where the contour turns, counted from the nuclei."""
    if scaling is None:
        return None
    checks.instance("scaling", scaling, ExteriorScaling)
    if not 0.5 * R < scaling.radius < rmax:
        raise checks.InputError(
            "scaling.radius",
            f"must lie between R/2 = {0.5 * R:g} and rmax = {rmax:g}, but is {scaling.radius:g}",
        )
    return scaling.radius - 0.5 * R


def warn_of_coarse(Z: float, R: float, elements: Sequence[float], nodes: int, eta: int) -> None:
    """Where e^{−Zr} around a nucleus outruns the polynomials of an element or of η.

    On an interval of length L the share of degree n and more is I_n(ZL/2)/I_0(ZL/2).
    """

    def left_out(n: int, length: float) -> float:
        return float(ive(n, 0.5 * Z * length) / ive(0, 0.5 * Z * length))

    lost = [
        math.exp(-Z * start) * left_out(nodes, end - start)
        for start, end in itertools.pairwise(elements)
    ]
    advice = []
    # Of huge charges nothing is known (NaN), and that is too coarse as well.
    if not all(share <= LOST for share in lost):
        advice.append(f"elements that begin with about {FIRST * 3 / Z:.2g} bohr, or more nodes")
    if not left_out(eta, R) <= LOST:
        needed = next((n for n in range(eta, MOST_ETA) if left_out(n, R) <= LOST), None)
        advice.append(
            f"eta = {needed}" if needed else f"eta beyond {MOST_ETA}, or a smaller charge"
        )
    if advice:
        warnings.warn(
            f"{nodes} nodes an element and eta = {eta} are too few for a nucleus of charge {Z:g}: "
            f"levels are wrong by more than their solver's error; take {' and '.join(advice)}",
            ConvergenceWarning,
            stacklevel=caller(),
        )
