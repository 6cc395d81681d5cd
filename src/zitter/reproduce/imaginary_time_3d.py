"""Liu, Liu & Hou: ground states in three dimensions by explicit imaginary time, and better.

Tables 1–4 give E against the number of updates k for four potentials on a 256³ grid, started from a
constant. `--full` repeats them on that grid (a GPU is advisable: 51 559 updates of 16.4 million
points). The default run keeps the boxes and the imaginary times and takes 80 points along an axis:
spacing × 3.23, δτ × 10.4. A row is then compared within a chosen allowance for the coarser lattice.

The 256 points along an axis include the two at the walls, and the origin lies between points. So
all but three of the twenty rows agree to every digit, and the rule |ΔE| < 1e-7 ends the coupled
oscillators after 9541 updates, as in the paper, and H₂⁺ after 16 687 (its table has a row for
16 690). That table's last row, −1.100022 after 21 611, lies below where the lattice comes to rest:
it belongs to another run and is shown without a verdict. The other two are −0.391 for the −0.390
of Coulomb's first row, whose k is printed in hundreds, and 1.500857 for the 1.500825 where the
harmonic run ends, which is reached 20 updates later.

The paper prints δτ with two digits, so k δτ is known to half a unit of the second; a row is
compared within that and half a unit of its own last digit. For the Coulomb table the printed
δτ = 1e-3 does not fit (−0.452 at k = 6600, where −0.390 is printed), while with 8e-4 = a²/8 its
last row, −0.496378, is met to every digit: the table is compared with that step, and what 1e-3
gives stands beside it.

Both print what `LOBPCG` with sines and a smooth core gives beside the exact values, and how many
updates the residual, not ΔE, asks for.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import rich.progress
from scipy.interpolate import CubicSpline

from zitter import checks, runtime
from zitter.bases import Grid
from zitter.eigensolvers import LOBPCG, ImaginaryTime
from zitter.hamiltonian import Hamiltonian
from zitter.reproduce.report import Report, Row
from zitter.solve import eigenstates, energy_errors
from zitter.terms import Coulomb, Harmonic, Kinetic, Model, Potential, discretize

POINTS, SCALED_POINTS = 256, 80
ANHARMONIC = (
    "0.5*(x**2 + y**2 + z**2) + 2*(x**4 + y**4 + z**4) + 0.5*(x**6 + y**6 + z**6) + x*y + y*z + z*x"
)
H2_PLUS = Coulomb(1.0, centers=[[0, 0, -1.0], [0, 0, 1.0]])


@dataclasses.dataclass(frozen=True)
class Case:
    """One table of the paper, and the settings we recommend for the same physics."""

    name: str
    spacing: float
    dtau: float
    potential: Callable[[float], Any]  # of the spacing
    offset: Callable[[float], float]  # V at infinity, subtracted from E
    uncertainty: float  # of δτ, relative: half a unit of its second digit
    table: tuple[tuple[int, float], ...]
    physics: Any
    # (states, points along an axis, spacing) with exact levels, for the default run and `--full`
    recommended: tuple[tuple[int, int, float], ...]
    recommended_full: tuple[tuple[int, int, float], ...]
    exact: tuple[float | None, ...]
    coarse: float  # what 80 points along an axis may change of an energy: a choice
    printed_dtau: float | None = None  # where the paper's own does not fit its table
    elsewhere: int | None = None  # the update count of a row that belongs to another run
    digits: float = 0.0  # half a unit of the last one that the exact levels are printed with


def _cut_coulomb(a: float) -> Potential:
    """Eq. 16: 0 for r < a, −1/r + 1/a beyond."""

    def value(x, y, z):
        r = jnp.sqrt(x**2 + y**2 + z**2)
        inside = r < a * (1 - 1e-9)  # a grid point at r = a belongs outside, also after rounding
        return jnp.where(inside, 0.0, 1 / a - 1 / jnp.where(inside, 1.0, r))

    return Potential(value)


def _two_centers(a: float) -> Potential:
    """Eq. 21: the bare −1/r₁ − 1/r₂ at the grid points, none of which is a nucleus."""

    def value(x, y, z):
        square = x**2 + y**2 + z**2 + 1
        return -1 / jnp.sqrt(square + 2 * z) - 1 / jnp.sqrt(square - 2 * z)

    return Potential(value)


CASES = (
    Case(
        "Coulomb",
        0.08,
        8e-4,
        _cut_coulomb,
        lambda a: 1 / a,
        0.006,
        ((6600, -0.390), (8800, -0.464), (11000, -0.488), (13200, -0.495), (15403, -0.496378)),
        Coulomb(1.0),
        ((1, 108, 0.19), (5, 96, 0.5)),
        ((1, 160, 0.14), (5, 256, 0.2)),
        (-0.5, -0.125, -0.125, -0.125, -0.125),
        0.021,
        printed_dtau=1e-3,
    ),
    Case(
        "harmonic",
        0.04,
        4e-4,
        lambda a: Harmonic(1.0),
        lambda a: 0.0,
        0.0125,
        ((1000, 2.256), (2000, 1.627), (3000, 1.525), (4000, 1.505), (5004, 1.500825)),
        Harmonic(1.0),
        ((4, 40, 0.35),),
        ((4, 48, 0.3),),
        (1.5, 2.5, 2.5, 2.5),
        0.0015,
    ),
    Case(
        "anharmonic",
        0.03,
        1e-4,
        lambda a: Potential(expression=ANHARMONIC),
        lambda a: 0.0,
        0.05,
        ((900, 5.146), (3000, 3.12), (6000, 2.982), (8000, 2.978), (9541, 2.977861)),
        Potential(expression=ANHARMONIC),
        ((4, 40, 0.13),),
        ((4, 48, 0.11),),
        (2.97830266, None, None, None),
        0.0055,
        digits=5e-9,
    ),
    Case(
        "H2+",
        0.03,
        2.8e-4,
        _two_centers,
        lambda a: 0.0,
        0.018,
        ((4000, -0.902), (8000, -1.076), (13000, -1.098), (16690, -1.099), (21611, -1.100022)),
        H2_PLUS,
        ((2, 108, 0.165),),
        ((2, 160, 0.13),),
        (-1.102634214495, -0.667534392202),
        0.002,
        elsewhere=21611,
    ),
)


def run(full: bool = False, out: Path | None = None, progress: bool = False) -> Report:
    started = time.perf_counter()
    points = POINTS if full else SCALED_POINTS
    notes = []
    if not full:
        scale = (POINTS - 1) / (points - 1)
        notes.append(
            f"Scaled down: {points} instead of {POINTS} points along each axis of the same box, "
            f"spacing × {scale:.3g}, δτ × {scale**2:.3g}; update counts are given in the paper's "
            "δτ. Tolerances of the tables allow for the coarser lattice, by choice."
        )
    notes.append(
        "Table 1 is compared with δτ = 8e-4 = a²/8: with the printed 1e-3 the energies run ahead "
        "of it by a quarter in k, with 8e-4 the energy where it ends agrees to every printed digit."
    )
    notes.append(
        "The last row of Table 4 belongs to another run: on the grid that gives the other four to "
        "every digit, |ΔE| < 1e-7 is met after 16 687 updates (the table's fourth row is at "
        "16 690), and the energy comes to rest at −1.09935, above the printed −1.100022. A box "
        "larger by 3 % (a = 0.031) would give the latter."
    )
    notes.append(
        "Where the harmonic run was stopped (k = 5004) its energy still falls by 1.6e-6 per "
        "update, so the printed rule |ΔE| < 1e-7 was not the one used there; the coupled "
        "oscillators stop where the paper does."
    )
    notes.append(
        "The paper's update does not come to rest at an eigenstate of T + V, but of "
        "T + (1 − δτE/2)V, so its residual stays finite; V − E in place of V cures that."
    )
    rows, courses = [], {}
    for case in rich.progress.track(
        CASES, "imaginary-time-3d", disable=not progress, transient=True
    ):
        some, courses[case.name] = _paper_method(case, points, full)
        rows += some + _recommended(case, full)
    if full:  # a coarser lattice has other digits
        met = sum(rows_met(case, *courses[case.name][:2]) for case in CASES)
        label = "rows of the tables that agree to every printed digit"
        rows.append(Row(label, met, None, sum(len(case.table) for case in CASES)))
    figures = _figures(out, courses) if out is not None else []
    told = runtime.describe()
    seconds = time.perf_counter() - started
    return Report(
        "imaginary-time-3d", rows, seconds, told["device"], told["precision"], notes, figures
    )


def scaling(points: int) -> float:
    """The spacing in units of the paper's, with `points` along an axis of the same box."""
    return (POINTS - 1) / (points - 1)


def lattice(case: Case, points: int) -> tuple[Hamiltonian, float]:
    """(H with second-order differences, updates of the paper per update) on a scaled grid.

    The points along an axis include the two at the walls, where ψ = 0.
    """
    scale = scaling(points)
    spacing = case.spacing * scale
    model = Model([Kinetic(order=2), case.potential(spacing)])
    return discretize(model, Grid((points - 2,) * 3, spacing)), scale**2


def course_of(case: Case, points: int, dtau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k in the paper's updates of `dtau`, E, residual) along the paper's iteration, for half as
    many updates again as the table has.
    """
    H, scale = lattice(case, points)
    dtau = dtau * scale
    offset = case.offset(case.spacing * scaling(points))
    every = max(2, 2 * round(20 / scale))
    updates = int(np.ceil(1.5 * case.table[-1][0] / scale))
    solver = ImaginaryTime(dtau, 1e-300, "energy", False, every, updates)  # no rule ends it
    moments = []
    with contextlib.suppress(checks.RunError):
        for moment in solver.course(H, jnp.ones((1, *H.shape)), dtau):
            moments.append((moment.updates * scale, moment.energies[0], moment.residuals[0]))
    k, energy, residual = np.array(moments, float).T
    return k, energy - offset, residual


def rule_met(k: np.ndarray, energy: np.ndarray, tol: float = 1e-7) -> float:
    """Where in a course the energy begins to change by less than `tol` per update of the paper."""
    change = np.log(np.abs(CubicSpline(k, energy).derivative()(k)) / tol)
    small = np.flatnonzero(change < 0)
    if not len(small):
        return float(k[-1])
    after = max(int(small[0]), 1)
    return float(np.interp(0.0, change[[after, after - 1]], k[[after, after - 1]]))


def printed(case: Case, count: int) -> float:
    """Half a unit of the last digit that the paper gives of a row's energy."""
    return 0.5e-6 if count == case.table[-1][0] else 0.5e-3


def slope(case: Case, count: int) -> float:
    """The most that the energy changes per update next to a row, by the paper's table."""
    k, energy = np.array(case.table, float).T
    steps = np.abs(np.diff(energy) / np.diff(k))
    at = [row for row, _ in case.table].index(count)
    return float(max(steps[max(at - 1, 0) : at + 1]))


def rows_met(case: Case, k: np.ndarray, energy: np.ndarray) -> int:
    """How many rows of a table a course meets to every printed digit."""
    value = CubicSpline(k, energy)
    return sum(abs(value(count) - E) <= printed(case, count) for count, E in case.table)


def _paper_method(case: Case, points: int, full: bool) -> tuple[list[Row], Any]:
    k, energy, residual = course = course_of(case, points, case.dtau)
    value = CubicSpline(k, energy)
    settled = _settled(case, points)
    final_k, final = case.table[-1]
    # A coarser lattice ends at another energy, and gets there at another pace, by 5 % of the time,
    # as the well's depth changes.
    deviation, apart = (0.0, case.uncertainty) if full else (case.coarse, 0.05)
    rows = []
    for count, reference in case.table:
        label = f"{case.name}: E after {count} updates"
        if count == case.elsewhere:
            rows.append(Row(label, float(value(count)), None, reference))
            continue
        tolerance = printed(case, count) + deviation + apart * count * slope(case, count)
        # A step that fits, and not the one in print, is a choice.
        whose = "paper" if full and case.printed_dtau is None else "choice"
        rows.append(
            Row.compared(label, float(value(count)), reference, tolerance, tolerance_source=whose)
        )
    if case.printed_dtau is not None:
        other_k, other, _ = course_of(case, points, case.printed_dtau)
        for count, reference in case.table:
            label = f"{case.name}: E after {count} updates of {case.printed_dtau:g}"
            rows.append(Row(label, float(CubicSpline(other_k, other)(count)), None, reference))
    end = rule_met(k, energy)
    rows += [
        Row(f"{case.name}: updates until |ΔE| < 1e-7", round(end), None, float(final_k)),
        Row(f"{case.name}: residual at that point", float(np.interp(end, k, residual)), source=""),
        Row(f"{case.name}: updates with V − E to residual 1e-4", settled.updates, source=""),
        Row(f"{case.name}: E of this lattice", settled.energy, settled.residual, final),
    ]
    return rows, course


@dataclasses.dataclass(frozen=True)
class Settled:
    """Where the update with V − E ends, by its residual."""

    updates: float
    energy: float
    residual: float


def _settled(case: Case, points: int) -> Settled:
    H, scale = lattice(case, points)
    solver = ImaginaryTime(case.dtau * scale, 1e-4, "residual", True, 20, 400_000)
    course = solver.course(H, jnp.ones((1, *H.shape)), case.dtau * scale)
    last = collections.deque(course, maxlen=1)[0]  # all states would fill the memory
    offset = case.offset(case.spacing * scaling(points))
    return Settled(last.updates * scale, float(last.energies[0]) - offset, float(last.residuals[0]))


def _recommended(case: Case, full: bool) -> list[Row]:
    """LOBPCG, sines, smooth core: levels, and error estimates that must cover the true errors."""
    rows: list[Row] = []
    covered, listed = [], 0
    for states, n, spacing in case.recommended_full if full else case.recommended:
        model = Model([Kinetic(), case.physics])
        grid = Grid((n,) * 3, spacing)
        eig = eigenstates(discretize(model, grid), states, LOBPCG(tol=1e-5))
        errors = energy_errors(model, grid, eig, LOBPCG(tol=1e-5)).total
        for j in range(listed, states):
            exact, error = case.exact[j], float(errors[j])
            label = f"{case.name}: level {j}, LOBPCG on {n}³"
            value = float(eig.energies[j])
            if exact is None:
                rows.append(Row(label, value, error, source=""))
                continue
            row = Row.compared(label, value, exact, 1e-6 if j == 0 else 2e-5, "exact", error)
            rows.append(row)
            covered.append(max(abs(value - exact) - case.digits, 0.0) / error)
        listed = states
    label = f"{case.name}: largest error of a level, in units of the estimated one"
    rows.append(Row.bounded(label, max(covered), 1.0, "exact", None, "exact"))
    return rows


def _figures(out: Path, courses: dict[str, Any]) -> list[str]:
    from zitter.plot.stationary import energy_courses
    from zitter.plot.style import save

    path = Path(out) / "imaginary-time-3d.png"
    tables = {case.name: case.table for case in CASES}
    save(energy_courses(courses, tables), path)
    return [str(path)]
