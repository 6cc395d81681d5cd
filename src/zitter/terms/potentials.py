"""Potentials on grids: harmonic, Coulomb with any centres, repulsion, and the user's own."""

from __future__ import annotations

import abc
import inspect
import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.grid import Grid
from zitter.bases.spherical import SphericalBasis
from zitter.bases.spinors import SpinorBasis
from zitter.cube import read_cube
from zitter.expressions import Expression
from zitter.operators.base import cast_reals, real_like, total
from zitter.operators.diagonal import Diagonal
from zitter.operators.hamiltonian import Contribution, Moving
from zitter.terms.atomic import central_potential
from zitter.terms.base import Term, unsupported
from zitter.terms.dirac import check_point_nucleus
from zitter.terms.singularity import (
    SINGULARITIES,
    Singularity,
    cell_average,
    cut,
    regularized,
)
from zitter.terms.trajectories import Trajectory


class OneBody(Term):
    """Σ_particles V(x, y, z): the same potential for each particle on the grid."""

    @abc.abstractmethod
    def value(self, *coordinates: Any) -> Any:
        """V at points given by broadcasting coordinate arrays."""

    def discretize(self, basis: Basis) -> list[Contribution]:
        match basis:
            case Grid():
                values = [self.value(*basis.coordinates(p)) for p in range(basis.particles)]
                return [Diagonal(sum(values[1:], values[0]), basis.shape)]
            case SphericalBasis() | SpinorBasis():
                return [central_potential(basis, self.central)]
            case _:
                raise unsupported(self, basis)

    @abc.abstractmethod
    def central(self, r: Any) -> Any:
        """V(r) around the origin, or `InputError` for a potential that is not central."""


class Harmonic(OneBody):
    """V = ½ m Σ ω_a² (x_a − c_a)², one frequency for all axes or one for each."""

    frequency: Any
    mass: Any
    center: Any

    def __init__(
        self,
        frequency: float | str | Sequence[Any] = 1.0,
        mass: float | str = 1.0,
        center: float | Sequence[float] = 0.0,
    ):
        single = np.ndim(frequency) == 0
        listed = [frequency] if single else frequency
        values = [checks.positive("frequency", f, "energy") for f in listed]  # type: ignore
        self.frequency = values[0] if single else jnp.stack(values)
        self.mass = checks.positive("mass", mass, "mass")
        self.center = checks.array("center", center)

    def value(self, *coordinates):
        axes = len(coordinates)
        frequency = _one_for_each("frequency", self.frequency, axes)
        center = _one_for_each("center", self.center, axes)
        terms = [(w * (x - c)) ** 2 for w, x, c in zip(frequency, coordinates, center, strict=True)]
        return 0.5 * self.mass * sum(terms[1:], terms[0])

    def central(self, r):
        if np.ndim(self.frequency) or np.any(self.center):
            raise checks.InputError(
                "frequency", "must be one number, with center 0, for a basis around the origin"
            )
        return 0.5 * self.mass * (self.frequency * r) ** 2


class Centers(Term):
    """Σ_j of a potential around centres R_j, at rest or on a trajectory."""

    Z: Any
    centers: np.ndarray | None
    motion: Trajectory | None

    def __init__(
        self,
        Z: float | Sequence[float] = 1.0,
        centers: Any = None,
        motion: Trajectory | None = None,
    ):
        self.Z = checks.array("Z", Z)
        self.centers = None if centers is None else checks.array("centers", centers)
        if motion is not None:
            checks.instance("motion", motion, Trajectory)
        self.motion = motion

    @abc.abstractmethod
    def around(self, charge: Any, distance_squared: jax.Array, grid: Grid) -> jax.Array:
        """The potential of one centre, from r² (which may be zero)."""

    @abc.abstractmethod
    def central(self, r: Any) -> Any:
        """The potential of the centre at the origin, for r > 0."""

    def discretize(self, basis: Basis) -> list[Contribution]:
        match basis:
            case Grid():
                return [self._on_grid(basis)]
            case SphericalBasis() | SpinorBasis():
                if self.motion is not None or np.any(self.positions(3)) or np.size(self.Z) != 1:
                    raise unsupported(self, basis, "it holds one centre, at rest in the origin")
                return [central_potential(basis, self.central)]
            case _:
                raise unsupported(self, basis)

    def _on_grid(self, grid: Grid) -> Contribution:
        positions = self.positions(grid.dimension)
        if self.motion is None:
            return self.diagonal(grid, jnp.asarray(positions), np.float64)
        return Moving(_MovingCenters(self, grid, self.motion, positions))

    def diagonal(self, grid: Grid, positions: jax.Array, dtype: Any) -> Diagonal:
        """The sum over centres at `positions`, for each particle, made in `dtype`."""
        charges = self.charges(positions.shape[0])
        values = []
        for particle in range(grid.particles):
            points = [jnp.asarray(x, dtype) for x in grid.coordinates(particle)]
            for charge, position in zip(charges, positions, strict=True):
                distance = total(
                    (x - real_like(r, x)) ** 2 for x, r in zip(points, position, strict=True)
                )
                values.append(self.around(real_like(charge, distance), distance, grid))
        return Diagonal(total(values), grid.shape)

    def positions(self, dimension: int) -> np.ndarray:
        """Centres at t = 0 as an array (centres, axes); one at the origin by default."""
        if self.centers is None:
            return np.zeros((1, dimension))
        centers = np.asarray(self.centers, dtype=float)
        if centers.ndim < 2:
            centers = centers.reshape((-1, 1) if dimension == 1 else (1, -1))
        if centers.ndim != 2 or centers.shape[1] != dimension:
            raise checks.InputError(
                "centers",
                f"must be a list of points with {dimension} coordinate(s), "
                f"but has shape {np.shape(self.centers)}",
            )
        return centers

    def charges(self, count: int) -> list[Any]:
        return _one_for_each("Z", self.Z, count)


class _MovingCenters(eqx.Module):
    """t ↦ the potential of the displaced centres."""

    term: Centers
    grid: Grid
    motion: Trajectory
    centers: np.ndarray

    def __call__(self, t: Any, dtype: Any) -> Diagonal:
        positions = self.motion.positions(t, self.centers)
        return self.term.diagonal(self.grid, positions, dtype)


class SoftCoulomb(Centers):
    """V = −Σ_j Z_j / √(|r − R_j|² + a); `softening` is a, in bohr²."""

    softening: Any

    def __init__(
        self,
        Z: float | Sequence[float] = 1.0,
        softening: float = 1.0,
        centers: Any = None,
        motion: Trajectory | None = None,
    ):
        Centers.__init__(self, Z, centers, motion)
        self.softening = checks.positive("softening", softening)

    def around(self, charge, distance_squared, grid):
        softening = real_like(self.softening, distance_squared)
        return -charge / jnp.sqrt(distance_squared + softening)

    def central(self, r):
        return -jnp.squeeze(self.Z) / jnp.sqrt(r**2 + self.softening)


_SQUARE_MEAN = 4 * np.log(1 + np.sqrt(2))  # of 1/r over a unit square around the origin


class Coulomb(Centers):
    """V = −Σ_j Z_j / |r − R_j|, in two and three dimensions.

    `singularity` says what stands for the pole on a three-dimensional grid:
    "regularized", a smooth potential with the levels of −Z/r (the default; it asks for a spacing
    below 0.7/Z, and for the particle's `mass` if that is not 1); "cell-average", the mean over a
    ball of the cell's volume; "cut", −Z/h inside r < h. In two dimensions the mean over the cell
    stands for the singular value. Bases around the nucleus need none of this.
    """

    singularity: Singularity = eqx.field(static=True)
    mass: Any

    def __init__(
        self,
        Z: float | Sequence[float] = 1.0,
        centers: Any = None,
        motion: Trajectory | None = None,
        singularity: Singularity = "regularized",
        mass: float | str = 1.0,
    ):
        Centers.__init__(self, Z, centers, motion)
        self.singularity = checks.choice("singularity", singularity, SINGULARITIES)
        self.mass = checks.positive("mass", mass, "mass")

    def around(self, charge, distance_squared, grid):
        if grid.dimension == 1:
            raise unsupported(
                self, grid, "on a line the bare 1/|x| has no ground state; use SoftCoulomb"
            )
        h = grid.spacing[: grid.dimension]
        if grid.dimension == 2:
            inside = distance_squared < (0.5 * min(h)) ** 2
            safe = jnp.where(inside, 1.0, distance_squared)
            return -charge * jnp.where(inside, _SQUARE_MEAN / min(h), 1 / jnp.sqrt(safe))
        match self.singularity:
            case "regularized":
                return regularized(charge, distance_squared, max(h), self.mass)
            case "cell-average":
                return cell_average(charge, distance_squared, float(np.prod(h)))
            case "cut":
                return cut(charge, distance_squared, max(h))

    def discretize(self, basis: Basis) -> list[Contribution]:
        pieces = Centers.discretize(self, basis)
        if isinstance(basis, SpinorBasis) and not checks.is_traced(self.Z):
            check_point_nucleus(basis, float(np.squeeze(self.Z)))
        return pieces

    def central(self, r):
        return -jnp.squeeze(self.Z) / r


class Repulsion(Term):
    """Σ_{i<j} Z / √(|r_i − r_j|² + a) between the particles of a grid."""

    Z: Any
    softening: Any

    def __init__(self, Z: float = 1.0, softening: float = 1.0):
        self.Z = checks.scalar("Z", Z)
        self.softening = checks.positive("softening", softening)

    def discretize(self, basis: Basis) -> list[Contribution]:
        if not isinstance(basis, Grid) or basis.particles < 2:
            raise unsupported(self, basis, "repulsion needs Grid(…, particles=2) or more")
        values = []
        for i in range(basis.particles):
            for j in range(i):
                pairs = zip(basis.coordinates(i), basis.coordinates(j), strict=True)
                distance = total((a - b) ** 2 for a, b in pairs)
                values.append(self.Z / jnp.sqrt(distance + self.softening))
        return [Diagonal(total(values), basis.shape)]


Lattice = tuple[tuple[float, float], ...]  # (first point, step) of each axis, in bohr


class Potential(Term):
    """The user's own V: exactly one of a JAX function, an expression, an array or a file.

        zt.Potential(lambda x, y: x**2 * y**2)              coordinates of the grid's axes, in order
        zt.Potential(expression="0.5*x**2 + 0.1*x*sin(t)")  x, y, z (x1, x2 for two particles), t
        zt.Potential(file="v.h5", dataset="potential")      HDF5, npz or cube, grid-shaped

    A function that needs one argument more than the grid has axes is given the time as the last.
    """

    function: Callable[..., Any] | None = eqx.field(static=True)
    expression: Expression | None = eqx.field(static=True)
    values: Any
    lattice: Lattice | None = eqx.field(static=True)  # where a file says its values are
    source: str = eqx.field(static=True)  # which of the four it is, for what is told about it

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        expression: str | None = None,
        array: Any = None,
        file: str | None = None,
        dataset: str = "potential",
    ):
        sources = {"function": function, "expression": expression, "array": array, "file": file}
        given = [name for name, source in sources.items() if source is not None]
        if len(given) != 1:
            raise checks.InputError(
                given[-1] if given else "expression",
                "must be the only one of function, expression, array, file, but the input has "
                + (" and ".join(given) or "none"),
            )
        self.function = function
        self.source = given[0]
        self.expression = None
        if expression is not None:
            names = ("x", "y", "z", "x1", "x2", "x3", "r", "t")
            try:
                self.expression = Expression(expression, names)
            except checks.InputError as error:
                raise checks.InputError("expression", error.message) from None
        self.values, self.lattice = None, None
        if array is not None:
            self.values = checks.array("array", array)
        elif file is not None:
            values, self.lattice = read_array(file, dataset)
            self.values = checks.array("file", values)

    def discretize(self, basis: Basis) -> list[Contribution]:
        if isinstance(basis, SphericalBasis | SpinorBasis):
            return [central_potential(basis, self.central)]
        if not isinstance(basis, Grid):
            raise unsupported(self, basis)
        if self.values is not None:
            if self.values.shape != basis.shape:
                raise checks.InputError(
                    self.source,
                    f"must have the grid's shape {basis.shape}, but has {self.values.shape}",
                )
            if self.lattice is not None:
                _check_lattice(self.lattice, basis)
            return [Diagonal(self.values, basis.shape)]
        self._check_names(basis)
        if self._takes_time(basis):
            return [Moving(_MovingPotential(self, basis))]
        values = self.evaluate(basis)
        self._check_shape(values, basis)
        if not checks.is_traced(values) and not bool(jnp.all(jnp.isfinite(values))):
            bad = int(jnp.sum(~jnp.isfinite(values)))
            raise checks.InputError(
                self.source, f"must be finite on the grid, but is not at {bad} point(s)"
            )
        return [Diagonal(values, basis.shape)]

    def central(self, r: Any) -> Any:
        """V(r) on a basis around the origin, where the one coordinate is called r."""
        wanted = "must be a function of r alone for a basis around the origin"
        if self.function is not None:
            needed, most = _arguments(self.function)
            if needed > 1 or most < 1:
                raise checks.InputError("function", f"{wanted}, but takes {needed} argument(s)")
            return self.function(r)
        if self.expression is None:
            raise checks.InputError(self.source, f"{wanted}, but holds values on a grid")
        if set(self.expression.variables_used) - {"r"}:
            raise checks.InputError("expression", wanted)
        return self.expression(r=r) if self.expression.variables_used else self.expression()

    def _takes_time(self, grid: Grid) -> bool:
        if self.expression is not None:
            return "t" in self.expression.variables_used
        assert self.function is not None
        needed, most = _arguments(self.function)
        if needed > grid.ndim + 1 or most < grid.ndim:
            raise checks.InputError(
                "function",
                f"must take {', '.join(grid.axis_names())}, and t where it changes with time, "
                f"but takes {needed if needed > grid.ndim else most} argument(s)",
            )
        return needed == grid.ndim + 1

    def _check_shape(self, values: jax.Array, grid: Grid) -> None:
        try:
            fits = np.broadcast_shapes(values.shape, grid.shape) == grid.shape
        except ValueError:
            fits = False
        if not fits:
            raise checks.InputError(
                self.source,
                f"must give values that fit the grid's shape {grid.shape}, but gives shape "
                f"{values.shape}",
            )

    def _check_names(self, grid: Grid) -> None:
        if self.expression is None:
            return
        unknown = set(self.expression.variables_used) - {*grid.axis_names(), "t"}
        if unknown:
            raise checks.InputError(
                "expression",
                f"must use only {', '.join(grid.axis_names())} and t on this grid, "
                f"but uses {', '.join(sorted(unknown))}",
            )

    def evaluate(self, grid: Grid, t: Any = None) -> jax.Array:
        points = [jnp.asarray(x) for p in range(grid.particles) for x in grid.coordinates(p)]
        if self.expression is not None:
            named = dict(zip(grid.axis_names(), points, strict=True))
            if t is not None:
                named["t"] = t
            used = {name: named[name] for name in self.expression.variables_used}
            return jnp.asarray(self.expression(**used))
        assert self.function is not None
        return jnp.asarray(self.function(*points) if t is None else self.function(*points, t))


class _MovingPotential(eqx.Module):
    """t ↦ V(x, t)."""

    term: Potential
    grid: Grid

    def __call__(self, t: Any, dtype: Any) -> Diagonal:
        values = self.term.evaluate(self.grid, t)
        self.term._check_shape(values, self.grid)
        return cast_reals(Diagonal(values, self.grid.shape), dtype)  # one that absorbs is complex


def _arguments(function: Callable[..., Any]) -> tuple[int, float]:
    """How many arguments by position a function needs, and how many it takes at most."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # NumPy's own functions do not tell
        return 0, math.inf
    given = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    needed = sum(p.default is p.empty for p in given)
    return needed, math.inf if any_number else len(given)


def read_array(path: str, dataset: str) -> tuple[np.ndarray, Lattice | None]:
    """Values from an HDF5, npz or cube file, and where they are if the file, a cube, says so."""
    file = FilePath(path)
    if not file.is_file():
        raise checks.InputError("file", f'must be a readable file, but "{path}" does not exist')
    match file.suffix:
        case ".cube" | ".cub":
            values, axes = read_cube(file)
            return values, _lattice(axes)
        case ".npz":
            reader = _from_npz
        case ".h5" | ".hdf5" | ".nc":
            reader = _from_hdf5
        case _:
            raise checks.InputError(
                "file", f'must end in .h5, .hdf5, .nc, .npz or .cube, but is "{path}"'
            )
    try:
        names, values = reader(file, dataset)
    except OSError as error:
        raise checks.InputError("file", f'must be readable, but "{path}" is not: {error}') from None
    if values is None:
        raise checks.InputError(
            "dataset", f'must be one of {", ".join(names)} in "{path}", but is "{dataset}"'
        )
    return values, None


def _from_npz(file: FilePath, dataset: str) -> tuple[list[str], np.ndarray | None]:
    """(the names in the file, the array of that name)."""
    try:
        with np.load(file, allow_pickle=False) as data:
            return list(data), np.asarray(data[dataset]) if dataset in data else None
    # Text, an empty file, an npy file, one cut off and one with wrong bits, in this order.
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
        raise checks.InputError(
            "file", f'must be an npz file of numbers, but "{file}" is none or is damaged'
        ) from None


def _from_hdf5(file: FilePath, dataset: str) -> tuple[list[str], np.ndarray | None]:
    import h5py

    with h5py.File(file) as data:
        names = [name for name, item in data.items() if isinstance(item, h5py.Dataset)]
        item = data.get(dataset)
        return names, np.asarray(item) if isinstance(item, h5py.Dataset) else None


# Six digits after the point are what programs print in the head of a cube file.
_PRINTED = 1e-6


def _lattice(axes: Sequence[np.ndarray]) -> Lattice:
    return tuple((float(x[0]), float(x[-1] - x[0]) / max(len(x) - 1, 1)) for x in axes)


def _check_lattice(found: Lattice, grid: Grid) -> None:
    """A file that says where its values are must mean the grid's points."""
    wanted = _lattice([grid.points(axis) for axis in range(grid.ndim)])
    if not np.allclose(found, wanted, rtol=1e-5, atol=_PRINTED):
        raise checks.InputError(
            "file",
            f"must hold values at the grid's points, {_told(wanted)}, but has them {_told(found)}",
        )


def _told(lattice: Lattice) -> str:
    first, steps = (", ".join(f"{x:.6g}" for x in row) for row in zip(*lattice, strict=True))
    return f"from ({first}) in steps of ({steps}) bohr"


def _one_for_each(key: str, values: Any, count: int) -> list[Any]:
    if np.ndim(values) == 0:
        return [values] * count
    if len(values) != count:
        raise checks.InputError(key, f"must hold 1 or {count} value(s), but holds {len(values)}")
    return [values[i] for i in range(count)]
