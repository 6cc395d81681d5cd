"""Radial B-splines B_1 … B_n of any degree on 0 ≤ r ≤ rmax (de Boor, A Practical Guide to Splines).

    P(r) = Σ_i c_i B_i(r),    S_ij = ∫ B_i B_j dr,    O_ij = ∫ B_i f(r) B_j dr

The functions vanish at r = 0, and at r = rmax unless `outer` is "free". Integrals use
Gauss–Legendre points between the knots: exact for polynomial f, and for 1/r and 1/r² as well.
Matrices are banded and stored by diagonals: bands[p + k, j] = O[j, j + k], p = degree.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from zitter import checks, runtime
from zitter.bases.overlap_solver import solve_overlap
from zitter.linalg.bands import host_dense

Spacing = Literal["linear", "exponential", "graded"]


SAMPLES = 600  # radii of a density, at least


class ExteriorScaling(eqx.Module):
    """Exterior complex scaling: beyond `radius` the coordinate turns into the complex plane.

        r(x) = x for x ≤ R₀,   R₀ + (x − R₀) e^{iθ} beyond

    Outgoing waves decay there; inside R₀ nothing changes (Simon, Phys. Lett. A 71, 211 (1979);
    McCurdy, Baertschy & Rescigno, J. Phys. B 37, R137 (2004)).
    """

    radius: float = eqx.field(static=True)
    angle: float = eqx.field(static=True)

    def __init__(self, radius: float | str, angle: float | str = 0.6):
        self.radius = float(checks.positive("radius", radius, "length"))
        self.angle = float(checks.positive("angle", angle, "angle"))
        if self.angle >= np.pi / 2:
            raise checks.InputError("angle", f"must be below 90 degrees, but is {self.angle:g} rad")


CLOSER = 2**18  # points that look closer at a potential, but
PIECES = (4, 64)  # no fewer and no more pieces of each interval
MOST = 100_000  # splines: the eigenvectors of r have as many rows and columns


class RadialBSplines(eqx.Module):
    """`n` B-splines of one degree.

    knots = "linear"        equal intervals
            "exponential"   intervals that grow by one factor, starting from `first`
            "graded"        intervals that grow from `first` at r = 0 to a constant within `grading`
            [0.0, 0.1, …]   the user's own breakpoints from 0 to rmax
    """

    n: int = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    rmax: float = eqx.field(static=True)
    outer: Literal["zero", "free"] = eqx.field(static=True)
    scaling: ExteriorScaling | None = eqx.field(static=True)
    knots: tuple[float, ...] = eqx.field(static=True)
    pieces: int = eqx.field(static=True)  # of each interval, each with Gauss–Legendre points

    def __init__(
        self,
        n: int,
        degree: int = 7,
        rmax: float | str = 100.0,
        knots: Spacing | Sequence[float] = "linear",
        *,
        first: float | str = 0.1,
        grading: float | str = 10.0,
        outer: Literal["zero", "free"] = "zero",
        scaling: ExteriorScaling | None = None,
    ):
        runtime.settings()
        self.degree = checks.integer("degree", degree, 1, 20)
        self.rmax = float(checks.positive("rmax", rmax, "length"))
        self.pieces = 1
        self.outer = checks.choice("outer", outer, ("zero", "free"))
        self.scaling = scaling
        if scaling is not None:
            checks.instance("scaling", scaling, ExteriorScaling)
            if not scaling.radius < self.rmax:
                raise checks.InputError(
                    "scaling.radius",
                    f"must be below rmax ({self.rmax:g}), but is {scaling.radius:g}",
                )
        extra = 0 if scaling is None else self.degree - 1  # knots repeated where r turns
        dropped = 2 if self.outer == "zero" else 1
        self.n = checks.integer("n", n, self.degree + 1 + extra, MOST)
        count = self.n + dropped - self.degree - extra  # intervals
        if isinstance(knots, str):
            checks.choice("knots", knots, ("linear", "exponential", "graded"))
            first = float(checks.positive("first", first, "length"))
            grading = float(checks.positive("grading", grading, "length"))
            breaks = breakpoints(knots, count, self.rmax, first, grading)
            if not np.all(np.diff(breaks) > 0):
                raise checks.InputError(
                    "rmax", f"must leave {count + 1} breakpoints apart, but is {self.rmax:g}"
                )
        else:
            breaks = _given_breakpoints(knots, count, self.rmax)
        if scaling is not None:
            inner = 1 + int(np.argmin(np.abs(breaks[1:-1] - scaling.radius)))
            breaks[inner] = scaling.radius
            breaks = np.insert(breaks, inner, [scaling.radius] * extra)
        ends = [self.degree * [0.0], self.degree * [self.rmax]]
        self.knots = tuple(float(x) for x in np.concatenate([ends[0], breaks, ends[1]]))

    def check_real(self, radius: float) -> None:
        """That `radius` lies within the box and, with `scaling`, where r has not turned."""
        end = self.rmax if self.scaling is None else self.scaling.radius
        if radius > end or radius >= self.rmax:
            raise checks.InputError(
                "radius", f"must lie where r is real and below {end:g}, but is {radius:g}"
            )

    @property
    def points(self) -> np.ndarray:
        """Gauss–Legendre points x, (intervals, points per interval)."""
        return _tables(self).x

    @property
    def radius(self) -> np.ndarray:
        """r(x) at these points: complex beyond the radius of exterior scaling."""
        return _tables(self).r

    @property
    def samples(self) -> np.ndarray:
        """Radii at which a density is given, as dense as the knots are and ends left out."""
        knots = np.unique(np.asarray(self.knots, float))
        place = np.linspace(0.0, len(knots) - 1.0, max(SAMPLES, 4 * len(knots)))
        return np.interp(place, np.arange(len(knots)), knots)[1:-1]

    @property
    def centers(self) -> np.ndarray:
        """Where each function has its weight: the mean of its inner knots."""
        knots = np.asarray(self.knots)
        full = [knots[i + 1 : i + self.degree + 1].mean() for i in range(self.n + 1)]
        return np.asarray(full[1:])

    def matrix(
        self,
        function: Callable[[Any], Any] | Any = 1.0,
        bra: int = 0,
        ket: int = 0,
        hermitian: bool = False,
    ) -> jax.Array:
        """Bands of ∫ (d^bra B_i/dr^bra) f(r) (d^ket B_j/dr^ket) dr along the contour r(x).

        `function` takes r, or is an array of values at `radius`. With `hermitian` the measure is
        dx instead: the weight of |ψ|² in norms.
        """
        table = _tables(self)
        values = function(table.r) if callable(function) else function
        turn = np.ones_like(table.turn) if hermitian else table.turn ** (1 - bra - ket)
        weights = jnp.asarray(values) * table.weights * turn
        local = jnp.einsum("jq,jqa,jqb->jab", weights, table.splines[bra], table.splines[ket])
        p, total = self.degree, len(self.knots) - self.degree - 1
        spans = table.spans[:, None, None] - p  # first function that lives on the interval
        a, b = np.arange(p + 1)[None, :, None], np.arange(p + 1)[None, None, :]
        rows, columns = np.broadcast_arrays(p + b - a + 0 * spans, spans + a + 0 * b)
        bands = jnp.zeros((2 * p + 1, total), local.dtype).at[rows, columns].add(local)
        return self._without_ends(bands)

    def _without_ends(self, bands: jax.Array) -> jax.Array:
        """The rows and columns of the n functions kept: the first (and last) spline is left out."""
        p, n = self.degree, self.n
        kept = bands[:, 1 : n + 1]
        partner = np.arange(n)[None, :] + np.arange(-p, p + 1)[:, None]
        return jnp.where((partner >= 0) & (partner < n), kept, 0.0)

    def evaluate(self, r: Any, derivative: int = 0) -> np.ndarray:
        """The matrix d^k B_i/dx^k at the (real) coordinates x = r, shape (len(r), n)."""
        r = np.atleast_1d(np.asarray(r, float))
        inside = (r >= 0) & (r <= self.rmax)
        x = np.clip(r, 0.0, self.rmax)
        knots = np.asarray(self.knots)
        spans = np.clip(np.searchsorted(knots, x, "right") - 1, self.degree, len(knots) - 1)
        spans = np.minimum(spans, len(knots) - self.degree - 2)
        local = local_splines(knots, self.degree, spans, x[:, None], derivative)[:, 0]
        full = np.zeros((len(r), len(knots) - self.degree - 1))
        columns = spans[:, None] - self.degree + np.arange(self.degree + 1)
        np.put_along_axis(full, columns, local * inside[:, None], axis=1)
        return full[:, 1 : self.n + 1]

    def opened(self) -> RadialBSplines:
        """The same splines with one more, which does not vanish at rmax."""
        if self.outer == "free":
            return self
        if self.scaling is not None:
            raise checks.InputError("scaling", "must be None for splines that end free")
        breaks = self.knots[self.degree : -self.degree]
        return RadialBSplines(self.n + 1, self.degree, self.rmax, breaks, outer="free")

    def closer(self) -> RadialBSplines:
        """The same splines with more points for integrals: what lies between those of before."""
        pieces = int(np.clip(CLOSER // self.points.size, *PIECES))
        closer = copy.copy(self)
        object.__setattr__(closer, "pieces", pieces * self.pieces)
        return closer

    @property
    def overlap(self) -> np.ndarray:
        """Bands of S, complex where the coordinate is."""
        return _overlaps(self).bands

    @property
    def hermitian_overlap(self) -> np.ndarray:
        """Bands of ∫ B_i B_j dx, which measures |ψ|²; S itself without exterior scaling."""
        return _overlaps(self).hermitian

    @property
    def inverse_overlap(self) -> np.ndarray:
        """S⁻¹ as a dense matrix, made anew each time."""
        return scipy.linalg.inv(host_dense(self.overlap))

    def project(self, function: Callable[[Any], Any]) -> jax.Array:
        """Coefficients of the spline closest to P(r) in the mean square."""
        table = _tables(self)
        weights = jnp.asarray(function(table.r)) * table.weights * table.turn
        local = jnp.einsum("jq,jqa->ja", weights, table.splines[0])
        total = len(self.knots) - self.degree - 1
        places = table.spans[:, None] - self.degree + np.arange(self.degree + 1)[None, :]
        moments = jnp.zeros(total, local.dtype).at[places].add(local)
        return solve_overlap(self, moments[None, 1 : self.n + 1])[0]

    def __repr__(self) -> str:
        turned = "" if self.scaling is None else f", scaled beyond {self.scaling.radius:g}"
        return f"RadialBSplines: {self.n} of degree {self.degree} to {self.rmax:g} bohr{turned}"


class _Tables(NamedTuple):
    """What every integral needs: points, weights, dr/dx, and the splines with derivatives."""

    spans: np.ndarray
    x: np.ndarray
    r: np.ndarray
    turn: np.ndarray
    weights: np.ndarray
    splines: tuple[np.ndarray, ...]  # one array (interval, point, function) for each derivative


class _Overlaps(NamedTuple):
    bands: np.ndarray
    hermitian: np.ndarray


@functools.lru_cache(maxsize=32)
def _tables(radial: RadialBSplines) -> _Tables:
    knots, degree = np.asarray(radial.knots), radial.degree
    spans = np.nonzero(np.diff(knots) > 0)[0]
    nodes, weights = _gauss(degree + 4, radial.pieces)
    half = 0.5 * (knots[spans + 1] - knots[spans])[:, None]
    x = 0.5 * (knots[spans + 1] + knots[spans])[:, None] + half * nodes
    r, turn = x, np.ones_like(x)
    if radial.scaling is not None:
        beyond = x > radial.scaling.radius
        phase = np.exp(1j * radial.scaling.angle)
        r = np.where(beyond, radial.scaling.radius + (x - radial.scaling.radius) * phase, x)
        turn = np.where(beyond, phase, 1.0)
    splines = tuple(local_splines(knots, degree, spans, x, d) for d in range(3))
    return _Tables(spans, x, r, turn, half * weights, splines)


def _gauss(count: int, pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on −1 … 1, `count` in each of equal pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    middles = (2 * np.arange(pieces) + 1) / pieces - 1
    return np.ravel(middles[:, None] + nodes / pieces), np.tile(weights / pieces, pieces)


@functools.lru_cache(maxsize=32)
def _overlaps(radial: RadialBSplines) -> _Overlaps:
    with jax.ensure_compile_time_eval():
        bands = np.asarray(radial.matrix())
        hermitian = np.real(np.asarray(radial.matrix(hermitian=True)))
    return _Overlaps(bands, hermitian)


def breakpoints(kind: str, count: int, rmax: float, first: float, grading: float) -> np.ndarray:
    """`count` + 1 points from 0 to rmax."""
    j = np.arange(count + 1)
    if kind == "linear":
        points = rmax * j / count
        points[-1] = rmax  # the quotient may miss it by a rounding error
        return points
    if first * count >= rmax:
        raise checks.InputError(
            "first", f"must be below rmax/intervals = {rmax / count:g}, but is {first:g}"
        )
    if kind == "exponential":
        # r_j = first·(e^{γj} − 1)/(e^γ − 1)
        def excess(gamma):
            return first * np.expm1(gamma * count) / np.expm1(gamma) - rmax

        gamma: Any = _root(excess, 1e-12, 600.0 / count, first)
        points = first * np.expm1(gamma * j) / np.expm1(gamma)
    else:
        # dr/dj = h − (h − first) e^{−r/grading}:  e^{r/grading} = a + (1 − a) e^{hj/grading}
        def radius(h, j):
            a = 1 - first / h
            return h * j + grading * np.log(a * np.exp(-h * j / grading) + 1 - a)

        h: Any = _root(lambda h: radius(h, count) - rmax, first, 1e3 * rmax, first)
        points = radius(h, j)
    points[0], points[-1] = 0.0, rmax
    return points


def _root(function: Any, low: float, high: float, first: float) -> float:
    with np.errstate(all="ignore"):
        ends = function(low), function(high)
        if not (np.isfinite(ends).all() and ends[0] * ends[1] <= 0):
            raise checks.InputError(
                "first", f"must be a length from which steps can grow to rmax, but is {first:g}"
            )
        return float(brentq(function, low, high))  # type: ignore[arg-type]


def _given_breakpoints(knots: Sequence[float], count: int, rmax: float) -> np.ndarray:
    breaks = np.asarray(checks.array("knots", knots, (None,)), float)
    if len(breaks) != count + 1:
        raise checks.InputError(
            "knots", f"must hold {count + 1} breakpoints for this n, but holds {len(breaks)}"
        )
    if breaks[0] != 0 or breaks[-1] != rmax or np.any(np.diff(breaks) <= 0):
        raise checks.InputError("knots", f"must rise from 0 to rmax = {rmax:g}, but does not")
    return breaks.copy()


def local_splines(
    knots: np.ndarray, degree: int, spans: np.ndarray, x: np.ndarray, derivative: int = 0
) -> np.ndarray:
    """The degree + 1 splines that live on each interval, at points x[interval, point].

    Values by the recurrence of Cox and de Boor, derivatives from one degree lower:
    B′_{i,p} = p [B_{i,p−1}/(t_{i+p} − t_i) − B_{i+1,p−1}/(t_{i+p+1} − t_{i+1})].
    """
    if derivative > degree:
        return np.zeros((*x.shape, degree + 1))
    result = np.zeros((*x.shape, degree + 1))
    if degree == 0:
        return np.ones((*x.shape, 1))
    lower = local_splines(knots, degree - 1, spans, x, max(derivative - 1, 0))
    for a in range(degree):
        # lower[..., a] is the spline of degree − 1 that starts at knot `left`.
        left = knots[spans - degree + 1 + a][:, None]
        right = knots[spans + 1 + a][:, None]
        share = lower[..., a] / (right - left)
        if derivative:
            result[..., a] -= degree * share
            result[..., a + 1] += degree * share
        else:
            result[..., a] += (right - x) * share
            result[..., a + 1] += (x - left) * share
    return result
