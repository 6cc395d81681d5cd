"""Potentials: harmonic, Coulomb with any centres, repulsion."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.places import Places
from zitter.hamiltonian import Contribution, Moving
from zitter.linalg.base import Operator, cast_reals, real_like, total
from zitter.terms.base import SMOOTH_ORDER, Term, unsupported
from zitter.terms.sampling import multiplication
from zitter.terms.singularity import (
    SINGULARITIES,
    Singularity,
    cell_average,
    core_diameter,
    cut,
    regularized,
    square_average,
)
from zitter.terms.trajectories import Trajectory

OVERLAPPING_ORDER = 2  # of the spacing, where nuclei share their cores


class OneBody(Term):
    """Σ_particles V(x, y, z): the same potential for each particle."""

    moves: ClassVar[bool] = False

    @abc.abstractmethod
    def value(self, *coordinates: Any) -> Any:
        """V at points given by broadcasting coordinate arrays."""

    @abc.abstractmethod
    def central(self, r: Any) -> Any:
        """V(r) around the origin, or `InputError` for a potential that is not central."""

    def sample(self, places: Places) -> Any:
        if places.radial:
            return self.central(*places.values)
        return total(self.value(*places.of_particle(p)) for p in range(places.particles))

    def discretize(self, basis: Basis) -> list[Contribution]:
        return [multiplication(basis, self.sample)]


def _stacked(values: Sequence[Any]) -> Any:
    """In NumPy where nothing is traced: before the first basis JAX is in single precision."""
    return (jnp if any(checks.is_traced(v) for v in values) else np).stack(values)


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
        if not values:
            raise checks.InputError("frequency", "must be a number or one for each axis, but is []")
        self.frequency = values[0] if single else _stacked(values)
        self.mass = checks.mass(mass)
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

    moves: ClassVar[bool] = False
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
        if np.ndim(self.Z) > 1:
            raise checks.InputError(
                "Z", f"must be a number or a list of them, but has shape {np.shape(self.Z)}"
            )
        self.centers = None if centers is None else checks.array("centers", centers)
        if self.centers is not None and self.centers.size == 0:
            raise checks.InputError("centers", "must hold at least one place, but is empty")
        if motion is not None:
            checks.instance("motion", motion, Trajectory)
        self.motion = motion

    @abc.abstractmethod
    def around(self, charge: Any, distance_squared: jax.Array, basis: Basis) -> jax.Array:
        """The potential of one centre, from r² (which on a lattice may be zero)."""

    @abc.abstractmethod
    def central(self, r: Any) -> Any:
        """The potential of the centre at the origin, for r > 0."""

    def discretize(self, basis: Basis) -> list[Contribution]:
        if basis.places().radial:
            if self.motion is not None or np.any(self.positions(3)) or np.size(self.Z) != 1:
                raise unsupported(self, basis, "it holds one centre, at rest in the origin")
            return [multiplication(basis, lambda places: self.central(*places.values))]
        positions = self.positions(basis.dimension)
        if self.motion is None:
            return [self.operator(basis, jnp.asarray(positions), np.float64)]
        places = basis.places().on_device()
        return [Moving(_MovingCenters(self, basis, self.motion, positions, places))]

    def operator(
        self, basis: Basis, positions: jax.Array, dtype: Any, places: Places | None = None
    ) -> Operator:
        """The sum over centres at `positions`, for each particle, made in `dtype`."""
        charges = self.charges(positions.shape[0])

        def sample(places: Places) -> jax.Array:
            values = []
            for particle in range(places.particles):
                # In this precision; a coordinate that is turned stays complex.
                points = cast_reals([jnp.asarray(x) for x in places.of_particle(particle)], dtype)
                for charge, position in zip(charges, positions, strict=True):
                    distance = total(
                        (x - real_like(r, x)) ** 2 for x, r in zip(points, position, strict=True)
                    )
                    values.append(self.around(real_like(charge, distance), distance, basis))
            return total(values)

        return multiplication(basis, sample, "centers", places)

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
    basis: Basis
    motion: Trajectory
    centers: np.ndarray
    places: Places

    def __call__(self, t: Any, dtype: Any) -> Operator:
        positions = self.motion.positions(t, self.centers)
        return self.term.operator(self.basis, positions, dtype, self.places)


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

    def around(self, charge, distance_squared, basis):
        softening = real_like(self.softening, distance_squared)
        return -charge / jnp.sqrt(distance_squared + softening)

    def central(self, r):
        return -jnp.squeeze(self.Z) / jnp.sqrt(r**2 + self.softening)


class Coulomb(Centers):
    """V = −Σ_j Z_j / |r − R_j|, in two and three dimensions.

    `singularity` says what stands for the pole on a grid:
    "regularized", a smooth potential with the levels of −Z/r (the default; it asks for a spacing
    below 0.7/Z in space and 0.5/Z in the plane, and for the particle's `mass` if that is not 1);
    "cell-average", the mean over a ball of the cell's volume or over the cell at the nucleus in the
    plane; "cut", −Z/h inside r < h. Bases around the nucleus need none of this.
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
        self.mass = checks.mass(mass)

    def around(self, charge, distance_squared, basis):
        if basis.dimension == 1:
            raise unsupported(
                self, basis, "on a line the bare 1/|x| has no ground state; use SoftCoulomb"
            )
        if basis.lattice is None:
            return -charge / jnp.sqrt(distance_squared)
        h = basis.lattice[: basis.dimension]
        match self.singularity:
            case "regularized":
                return regularized(charge, distance_squared, max(h), self.mass, basis.dimension)
            case "cell-average" if basis.dimension == 2:
                return square_average(charge, distance_squared, min(h))
            case "cell-average":
                return cell_average(charge, distance_squared, float(np.prod(h)))
            case "cut":
                return cut(charge, distance_squared, max(h))

    def discretize(self, basis: Basis) -> list[Contribution]:
        pieces = Centers.discretize(self, basis)
        if self.motion is not None and basis.lattice is None:
            raise unsupported(self, basis, "nuclei that move need a Grid")
        if not checks.is_traced(self.Z):
            positions = self.positions(basis.dimension)
            basis.check_nuclei(self.charges(len(positions)), positions)
        return pieces

    def core_mass(self, basis: Basis) -> Any:
        made = self.singularity == "regularized" and basis.lattice is not None
        return self.mass if made else None

    def lattice_order(self, basis: Basis) -> float:
        """1 where a pole is sampled as it is, and 1/2 in the plane, where errors fall so slowly
        that two spacings tell half of them; 2 where smooth cores overlap: each is made for −Z/r
        around it, and in the core of another one it scatters otherwise."""
        if self.singularity != "regularized":
            return 0.5 if self.singularity == "cut" and basis.dimension == 2 else 1
        positions = self.positions(basis.dimension)
        apart = np.linalg.norm(positions[:, None] - positions, axis=-1)
        apart = apart[~np.eye(len(positions), dtype=bool)]
        overlap = np.any(apart < core_diameter(max(basis.lattice or (0.0,))))
        return OVERLAPPING_ORDER if overlap else SMOOTH_ORDER

    def central(self, r):
        return -jnp.squeeze(self.Z) / r


class Repulsion(Term):
    """Σ_{i<j} Z / √(|r_i − r_j|² + a) between the particles."""

    moves: ClassVar[bool] = False
    Z: Any
    softening: Any

    def __init__(self, Z: float = 1.0, softening: float = 1.0):
        self.Z = checks.scalar("Z", Z)
        self.softening = checks.positive("softening", softening)

    def discretize(self, basis: Basis) -> list[Contribution]:
        if basis.places().particles < 2:
            raise unsupported(self, basis, "repulsion needs Grid(…, particles=2) or more")
        return [multiplication(basis, self.sample)]

    def sample(self, places: Places) -> Any:
        values = []
        for i in range(places.particles):
            for j in range(i):
                pairs = zip(places.of_particle(i), places.of_particle(j), strict=True)
                distance = total((a - b) ** 2 for a, b in pairs)
                values.append(self.Z / jnp.sqrt(distance + self.softening))
        return total(values)


def _one_for_each(key: str, values: Any, count: int) -> list[Any]:
    if np.ndim(values) == 0:
        return [values] * count
    given = [values[i] for i in range(len(values))]
    return checks.one_for_each(key, given, count, "one for each center")
