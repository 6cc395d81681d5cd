"""Random stationary problems with known energies, on bases from good to poor.

harmonic       E = ω(k + ½)
Morse          V = D(1 − e^{−ax})²,             E = ω(k + ½) − ω²(k + ½)²/4D,  ω = a√2D
Pöschl–Teller  V = −½a²λ(λ + 1)/cosh²(ax),      E = −½a²(λ − k)²
soft Coulomb   V = −1/√(x² + 2),                E₀ = −½
Coulomb        in space −Z²/2n², in the plane −Z²/2(n − ½)²
H2+            by separation (`two_centers`)
products       sums of the first three along two or three axes
splines        hydrogen-like atoms, and ω(2k + l + 3/2) of the oscillator in space
two centers    by separation, in spheroidal coordinates
spinors        E = c²[(1 + (Zα/(n − |κ| + γ))²)^{−1/2} − 1],  γ = √(κ² − (Zα)²)
resonances     V = V₀/cosh²(ar) with ψ(0) = 0: E = ½(√(2V₀ − a²/4) − 3ia/2)²;
               V = 7.5s⁴r²e^{−sr}: E = s²(3.426390331 − 0.0127744805i) (Sofianos and Rakityansky,
               J. Phys. A 30, 3725 (1997)); hydrogen in a field
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import zitter as zt
from systems import hydrogen, two_centers

ORDERS = ("spectral", 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Problem:
    kind: str
    model: zt.Model
    basis: Any
    exact: np.ndarray
    solver: Any = None
    time: float | None = None  # at which H stands still, if it has light

    def solved(self) -> zt.Eigenstates:
        H = zt.discretize(self.model, self.basis)
        H = H if self.time is None else H.at(self.time)
        return zt.eigenstates(H, len(self.exact), self.solver, basis_check=True)


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


def _radial(rng: np.random.Generator, reach: float, first: float, **rest: Any) -> zt.RadialBSplines:
    """Some splines of some degree, evenly or more densely near the nucleus."""
    n, degree = int(rng.choice([16, 24, 36])), int(rng.choice([5, 7]))  # few programs to compile
    if rng.random() < 0.3 and not rest:
        return zt.RadialBSplines(n, degree, reach)
    return zt.RadialBSplines(n, degree, reach, "graded", first=min(first, 0.8 * reach / n), **rest)


def splines(rng: np.random.Generator) -> Problem:
    """One, two or three l."""
    lmax, count = int(rng.integers(3)), 3
    if rng.random() < 0.6:
        Z = rng.uniform(0.5, 3.0)
        basis = zt.SphericalBasis(
            _radial(rng, rng.uniform(18, 45) / Z, rng.uniform(0.1, 1) / Z), lmax
        )
        levels = [-0.5 * (Z / n) ** 2 for n in (1, 2, 3) for _ in range(min(n, lmax + 1))]
        model = zt.Model([zt.Kinetic(), zt.Coulomb(Z)])
    else:
        omega = rng.uniform(0.3, 2.0)
        reach = rng.uniform(5.0, 8.0) / np.sqrt(omega)
        basis = zt.SphericalBasis(_radial(rng, reach, 0.1 * reach), lmax)
        levels = sorted(omega * (2 * k + l + 1.5) for k in range(3) for l in range(lmax + 1))
        model = zt.Model([zt.Kinetic(), zt.Harmonic(omega)])
    return Problem("splines", model, basis, np.array(levels[:count]))


def spheroidal(rng: np.random.Generator) -> Problem:
    """σ states around equal charges and others, with few functions."""
    Z1, Z2 = rng.integers(1, 4, 2)
    Z1, Z2 = int(Z1), int(Z1 if rng.random() < 0.5 else Z2)
    R = float(np.exp(rng.uniform(np.log(0.5), np.log(6.0))))
    nodes, eta = int(rng.choice([4, 6, 9])), int(rng.choice([5, 8, 11]))
    basis = zt.ProlateSpheroidal(R, rmax=R / 2 + rng.uniform(10.0, 30.0), nodes=nodes, eta=eta)
    wanted = (0, 1) if Z1 == Z2 else (0,)
    exact = [two_centers.level(R, Z1, Z2, 0, 0, k) for k in wanted]
    nuclei = zt.Coulomb([Z1, Z2], centers=[[0, 0, -R / 2], [0, 0, R / 2]])
    return Problem("two centers", zt.Model([zt.Kinetic(), nuclei]), basis, np.array(exact))


def spinors(rng: np.random.Generator) -> Problem:
    """1s and the shell above it, two states of spin each, from light nuclei to heavy ones."""
    Z = float(np.exp(rng.uniform(0.0, np.log(100.0))))
    first = np.exp(rng.uniform(np.log(0.005), np.log(0.5)))
    radial = _radial(rng, rng.uniform(20.0, 40.0) / Z, first / Z, outer="zero")
    basis = zt.SpinorBasis(radial, 1, 0.5)
    gamma = np.sqrt(1 - (Z / basis.c) ** 2)
    energies = []
    for n in (1, 1, 2, 2):
        square = (Z / basis.c / (n - 1 + gamma)) ** 2
        root = np.sqrt(1 + square)
        energies.append(-(basis.c**2) * square / (root * (1 + root)))  # without cancellation
    model = zt.Model([zt.Dirac(), zt.Coulomb(Z)])
    return Problem("spinors", model, basis, np.array(energies))


def resonance(rng: np.random.Generator) -> Problem:
    """A barrier, a well behind one, or hydrogen in a field."""
    degree, angle = 7, rng.uniform(0.4, 0.6)
    kind = rng.integers(3)
    terms: list[Any] = [zt.Kinetic()]
    lmax, time = 0, None
    if kind == 0:
        height, a = rng.uniform(4.0, 12.0), rng.uniform(0.3, 0.6)
        exact = 0.5 * (np.sqrt(2 * height - a**2 / 4) - 1.5j * a) ** 2
        terms.append(zt.Potential(expression=f"{height!r}/cosh({a!r}*r)**2"))
        turn, rmax, n = 4.0, rng.uniform(12.0, 16.0), int(rng.choice([30, 40]))
    elif kind == 1:
        s = rng.uniform(0.7, 1.5)
        exact = s**2 * (3.426390331 - 0.0127744805j)
        terms.append(zt.Potential(expression=f"{7.5 * s**4!r}*r**2*exp(-{s!r}*r)"))
        turn, rmax, n = 6.0 / s, rng.uniform(15.0, 20.0) / s, int(rng.choice([30, 40]))
    else:
        field = 0.06
        energy, rate = hydrogen.STARK[field]
        exact, lmax, time = energy - 0.5j * rate, int(rng.choice([4, 6])), 2.0
        terms += [zt.Coulomb(1.0), zt.LengthGauge(zt.Static(amplitude=field, ramp=1.0))]
        turn, rmax, n = 12.0, rng.uniform(26.0, 34.0), int(rng.choice([36, 42]))
    scaling = zt.ExteriorScaling(turn, angle)
    radial = zt.RadialBSplines(n, degree, rmax, scaling=scaling)
    basis, solver = zt.SphericalBasis(radial, lmax), zt.Resonances(near=complex(exact))
    return Problem("resonances", zt.Model(terms), basis, np.array([exact]), solver, time)


MAKERS: dict[str, Callable[[np.random.Generator], Problem]] = {
    **{kind: lambda rng, kind=kind: line(rng, kind) for kind in WELLS},
    "product of two": lambda rng: product(rng, 2),
    "product of three": lambda rng: product(rng, 3),
    "Coulomb in the plane": lambda rng: coulomb(rng, 2),
    "Coulomb in space": lambda rng: coulomb(rng, 3),
    "H2+": molecule,
    "splines": splines,
    "two centers": spheroidal,
    "spinors": spinors,
    "resonances": resonance,
}
