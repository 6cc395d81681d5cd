"""Uniform Cartesian grids in one to three dimensions, for one particle or several on a line.

    zt.Grid(1024, 0.2)                        a line of 1024 points, spacing 0.2 bohr
    zt.Grid((64, 64, 64), 0.3, "periodic")    a periodic box
    zt.Grid((256, 256), 0.2, particles=2)     two particles on a line: axes x1, x2

Points lie at x_i = center + (i − (n−1)/2)·h. With the boundary "zero" ψ vanishes one spacing
beyond the end points; with "periodic" the box has length n·h.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from zitter import checks, runtime
from zitter.bases.base import Basis, Refused
from zitter.bases.edges import Edge
from zitter.bases.grid import box, measuring, operators, scaling, transfer
from zitter.bases.grid.divided import DividedGrid
from zitter.bases.grid.edges import walls
from zitter.bases.places import Places
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import BandedResolvents, Resolvents
from zitter.linalg.slabs import Slabs
from zitter.linalg.sums import part_of_kind

Boundary = Literal["zero", "periodic"]
# Bohr: of other spacings the square, its inverse or the volume may be no number.
SMALLEST, LARGEST = 1e-30, 1e30
STATE = 8  # bytes of an amplitude in single precision, the least that a run holds of each


class Grid(Basis):
    """A uniform grid; S is the cell volume h₁h₂h₃, so that Σ|ψ|²·volume = 1."""

    shape: tuple[int, ...] = eqx.field(static=True)
    spacing: tuple[float, ...] = eqx.field(static=True)
    boundary: Boundary = eqx.field(static=True)
    center: tuple[float, ...] = eqx.field(static=True)
    particles: int = eqx.field(static=True)

    def __init__(
        self,
        shape: int | Sequence[int],
        spacing: float | str | Sequence[float],
        boundary: Boundary = "zero",
        *,
        center: float | Sequence[float] = 0.0,
        particles: int = 1,
    ):
        runtime.settings()
        lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)  # type: ignore[arg-type]
        if not 1 <= len(lengths) <= 3:
            raise checks.InputError("shape", f"must have 1, 2 or 3 axes, but has {len(lengths)}")
        self.shape = tuple(checks.integer("shape", n, 3) for n in lengths)
        runtime.require_memory("shape", math.prod(self.shape) * STATE)
        ndim = len(self.shape)
        self.spacing = _per_axis("spacing", spacing, ndim, checks.positive)
        if min(self.spacing) < SMALLEST:
            least = checks.as_given(min(self.spacing))
            raise checks.InputError("spacing", f"must be at least {SMALLEST:g}, but is {least}")
        if max(self.spacing) > LARGEST:
            most = checks.as_given(max(self.spacing))
            raise checks.InputError("spacing", f"must be at most {LARGEST:g}, but is {most}")
        self.center = _per_axis("center", center, ndim, checks.scalar)
        self.boundary = checks.choice("boundary", boundary, ("zero", "periodic"))
        self.particles = checks.integer("particles", particles, 1)
        if ndim % self.particles:
            raise checks.InputError(
                "particles", f"must divide the number of axes ({ndim}), but is {particles}"
            )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dimension(self) -> int:
        """Space dimension of one particle."""
        return self.ndim // self.particles

    @property
    def orthonormal(self) -> bool:
        return True

    @property
    def volume(self) -> float:
        """Volume h₁h₂h₃ of one cell."""
        return float(np.prod(self.spacing))

    def points(self, axis: int) -> np.ndarray:
        """Coordinates along one axis."""
        n, h = self.shape[axis], self.spacing[axis]
        return self.center[axis] + (np.arange(n) - (n - 1) / 2) * h

    def coordinates(self, particle: int = 0) -> tuple[np.ndarray, ...]:
        """Coordinates (x[, y[, z]]) of one particle, shaped to broadcast over the grid."""
        first = particle * self.dimension
        return tuple(
            self.points(axis).reshape([-1 if a == axis else 1 for a in range(self.ndim)])
            for axis in range(first, first + self.dimension)
        )

    def axis_names(self) -> tuple[str, ...]:
        letters = "xyz"[: self.dimension]
        if self.particles == 1:
            return tuple(letters)
        return tuple(f"{c}{p + 1}" for p in range(self.particles) for c in letters)

    def axes(self) -> dict[str, np.ndarray]:
        return {name: self.points(axis) for axis, name in enumerate(self.axis_names())}

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        """⟨bra|ket⟩ = h₁h₂h₃ Σ bra* ket."""
        return jnp.vdot(bra, ket) * self.volume

    # Implicit steps.

    def resolvents(self, operator: Operator) -> Resolvents:
        """Banded matrices on a line; a full inverse would hide what does not suit a grid."""
        return BandedResolvents(operator.as_banded())

    def sample(self, function) -> jax.Array:
        """ψ from a function of the coordinates, at the grid points (not normalized)."""
        coordinates = [jnp.asarray(self.cut_evenly(x)) for x in self.places().values]
        return jnp.broadcast_to(function(*coordinates), self.shape)

    # Operators.

    @property
    def lattice(self) -> tuple[float, ...]:
        return self.spacing

    @property
    def periodic(self) -> bool:
        return self.boundary == "periodic"

    @property
    def carries_phase(self) -> bool:
        return True

    def places(self) -> Places:
        coordinates = (x for p in range(self.particles) for x in self.coordinates(p))
        return Places(self.axis_names(), tuple(coordinates), self.particles)

    def multiply(self, values: Any) -> Diagonal:
        return Diagonal(self.cut_evenly(values), self.shape)

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        return operators.kinetic(self, mass, order)

    def position(self, unit: Any) -> Diagonal:
        return operators.position(self, unit)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return operators.momentum(self, unit, order)

    def binding(self, operator: Operator) -> Operator | None:
        """V alone: the kinetic energy commutes with p."""
        return part_of_kind(operator, Diagonal)

    def depths(self, width: float) -> list[tuple[np.ndarray, float]]:
        return operators.depths(self, width)

    def mask_depths(self, width: float) -> list[np.ndarray]:
        return [depth for depth, _ in self.depths(width)]

    def sphere(self, radius: float) -> Diagonal:
        return operators.sphere(self, radius)

    # Measuring and showing.

    def mean_position(self, psi: jax.Array) -> jax.Array:
        return measuring.mean_position(self, psi)

    def density(self, psi: jax.Array) -> jax.Array:
        return jnp.abs(psi) ** 2

    def density_axes(self) -> dict[str, np.ndarray]:
        return self.axes()

    def evaluate(self, psi: jax.Array, x: Any, y: Any, z: Any) -> np.ndarray:
        """By splines through the grid points; on a line y and z, in a plane z, do not count."""
        if self.particles > 1:
            raise Refused(self, "a function of one place", "it has several particles")
        return measuring.interpolated(self, psi, (x, y, z)[: self.ndim])

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        return walls(self, self.shape, open_end)

    # Devices.

    @property
    def mesh_axes(self) -> tuple[str, ...]:
        return ("space",)

    @property
    def even_cut(self) -> NamedSharding | None:
        return runtime.even_cut(self.shape, self.mesh_axes)

    def divided(self, mesh: Mesh) -> DividedGrid:
        return DividedGrid(self, Slabs(self.shape, mesh))

    # Stationary states.

    def box_errors(self, operator, energies, states):
        return box.box_errors(self, operator, energies, states)

    def image_errors(self, operator, energies, states):
        return box.image_errors(self, operator, energies, states)

    def coarser(self, operator):
        return transfer.coarser(self, operator)

    def rescaled(self, factor: float) -> Grid:
        return scaling.scaled_grid(self, factor)

    def moved(self, parts: Sequence[float]) -> tuple[Grid, Callable[[Any], np.ndarray]]:
        return scaling.moved(self, parts)

    def poorer(self, operator: Operator) -> dict[str, tuple[Basis, ...]]:
        others = (self.rescaled(factor) for factor in scaling.COARSER)
        return {"spacing": tuple(o for o in others if o.shape != self.shape)}


def _per_axis(key, value, ndim, check) -> tuple[float, ...]:
    given = [value] if np.ndim(value) == 0 else list(value)
    values = checks.one_for_each(key, given, ndim, "one for each axis")
    return tuple(float(check(key, v, "length")) for v in values)
