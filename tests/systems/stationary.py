"""Random stationary problems with known energies, on grids from good to poor.

harmonic       E = ω(k + ½)
Morse          V = D(1 − e^{−ax})²,             E = ω(k + ½) − ω²(k + ½)²/4D,  ω = a√2D
Pöschl–Teller  V = −½a²λ(λ + 1)/cosh²(ax),      E = −½a²(λ − k)²
soft Coulomb   V = −1/√(x² + 2),                E₀ = −½
Coulomb        in space −Z²/2n², in the plane −Z²/2(n − ½)²
H2+            by separation (`two_centers`)
products       sums of the first three along two or three axes
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

import zitter as zt
from systems import two_centers

ORDERS = ("spectral", 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Problem:
    kind: str
    model: zt.Model
    grid: zt.Grid
    exact: np.ndarray


@dataclasses.dataclass(frozen=True)
class Well:
    """A potential along one axis: V(x) as an expression, its levels, and where its states are."""

    expression: str
    levels: np.ndarray
    reach: tuple[float, float]
    wave: float  # the length over which its states turn


def harmonic_well(rng: np.random.Generator) -> Well:
    omega = rng.uniform(0.3, 3.0)
    reach = rng.uniform(4.0, 6.0) / np.sqrt(omega)
    levels = omega * (np.arange(3) + 0.5)
    return Well(f"{0.5 * omega**2!r}*X**2", levels, (-reach, reach), 1 / np.sqrt(omega))


def morse_well(rng: np.random.Generator) -> Well:
    a, depth = rng.uniform(0.5, 1.3), rng.uniform(4.0, 15.0)
    omega = a * np.sqrt(2 * depth)
    k = np.arange(2) + 0.5
    levels = omega * k - (omega * k) ** 2 / (4 * depth)
    wave = 1 / np.sqrt(omega)
    reach = (-3.5 * wave, rng.uniform(6.0, 9.0) * wave)
    return Well(f"{depth!r}*(1 - exp(-{a!r}*X))**2", levels, reach, wave)


def poeschl_teller_well(rng: np.random.Generator) -> Well:
    a, strength = rng.uniform(0.5, 1.5), rng.uniform(1.3, 4.5)
    count = 1 if strength < 2.2 else 2
    levels = -0.5 * a**2 * (strength - np.arange(count)) ** 2
    reach = rng.uniform(5.0, 8.0) / (a * (strength - count + 1)) + 1.0 / a
    depth = 0.5 * a**2 * strength * (strength + 1)
    return Well(f"-{depth!r}/cosh({a!r}*X)**2", levels, (-reach, reach), 1 / np.sqrt(2 * depth))


def soft_well(rng: np.random.Generator) -> Well:
    reach = rng.uniform(12.0, 18.0)
    return Well("-1/sqrt(X**2 + 2)", np.array([-0.5]), (-reach, reach), 1.0)


WELLS: dict[str, Callable[[np.random.Generator], Well]] = {
    "harmonic": harmonic_well,
    "Morse": morse_well,
    "Pöschl–Teller": poeschl_teller_well,
    "soft Coulomb": soft_well,
}


def line(rng: np.random.Generator, kind: str) -> Problem:
    """One well, at 0.35 … 1.3 of the length over which its states turn for each spacing."""
    well = WELLS[kind](rng)
    spacing = well.wave * np.exp(rng.uniform(np.log(0.35), np.log(1.3)))
    return _along_axes(rng, kind, [well], [spacing])


def product(rng: np.random.Generator, axes: int) -> Problem:
    names = rng.choice(list(WELLS)[:3], axes)
    wells = [WELLS[name](rng) for name in names]
    low = 0.45 if axes == 2 else 0.7
    spacings = [well.wave * np.exp(rng.uniform(np.log(low), np.log(1.2))) for well in wells]
    return _along_axes(rng, "product of two" if axes == 2 else "product of three", wells, spacings)


def _along_axes(rng: np.random.Generator, kind: str, wells: list[Well], spacings) -> Problem:
    letters = "xyz"
    terms = [f"({well.expression.replace('X', letters[axis])})" for axis, well in enumerate(wells)]
    # Few shapes, so that few programs are compiled.
    sizes = np.array([(12, 18, 27, 40), (16, 24), (12, 16)][len(wells) - 1])
    shape, center, spacing = [], [], []
    for well, h in zip(wells, spacings, strict=True):
        left, right = well.reach
        n = int(sizes[np.argmin(np.abs(np.log(sizes * h / (right - left))))])
        shape.append(n)
        spacing.append((right - left) / (n + 1))
        center.append(0.5 * (left + right))
    exact = wells[0].levels
    for well in wells[1:]:
        exact = np.add.outer(exact, well.levels).ravel()
    # Of sums with excited levels along several axes only the lowest is sure to be complete.
    exact = np.sort(exact)[: len(wells[0].levels) if len(wells) == 1 else 1]
    order = ORDERS[rng.integers(len(ORDERS))]
    model = zt.Model([zt.Kinetic(order=order), zt.Potential(expression=" + ".join(terms))])
    return Problem(kind, model, zt.Grid(tuple(shape), spacing, center=center), exact)


def coulomb(rng: np.random.Generator, dimension: int) -> Problem:
    """The nucleus anywhere between the points."""
    charge = rng.uniform(0.5, 2.0)
    h = rng.uniform(0.15, 0.5) / charge if dimension == 2 else rng.uniform(0.35, 0.65) / charge
    n = 40 if dimension == 2 else 32
    offset = tuple(h * rng.uniform(-0.5, 0.5, dimension))
    level = -2.0 if dimension == 2 else -0.5
    kind = "Coulomb in the plane" if dimension == 2 else "Coulomb in space"
    model = zt.Model([zt.Kinetic(), zt.Coulomb(charge)])
    grid = zt.Grid((n,) * dimension, h, center=offset)
    return Problem(kind, model, grid, np.array([level * charge**2]))


def molecule(rng: np.random.Generator) -> Problem:
    """H2+ from overlapping cores to separate ones."""
    distance, h = np.exp(rng.uniform(np.log(0.5), np.log(5.0))), rng.uniform(0.33, 0.6)
    nuclei = zt.Coulomb(1.0, centers=[[0, 0, -distance / 2], [0, 0, distance / 2]])
    exact = [two_centers.level(distance, 1, 1, 0, 0, k) for k in (0, 1)]
    grid = zt.Grid((28, 28, 36), h, center=tuple(h * rng.uniform(-0.5, 0.5, 3)))
    return Problem("H2+", zt.Model([zt.Kinetic(), nuclei]), grid, np.array(exact))


MAKERS: dict[str, Callable[[np.random.Generator], Problem]] = {
    **{kind: lambda rng, kind=kind: line(rng, kind) for kind in WELLS},
    "product of two": lambda rng: product(rng, 2),
    "product of three": lambda rng: product(rng, 3),
    "Coulomb in the plane": lambda rng: coulomb(rng, 2),
    "Coulomb in space": lambda rng: coulomb(rng, 3),
    "H2+": molecule,
}
