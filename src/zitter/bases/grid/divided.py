"""A grid in slabs on the devices of a mesh: the words of `Grid` on padded arrays.

What needs the whole grid at once (bands along it, a coarser grid) is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.base import Refused
from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge
from zitter.bases.grid import measuring
from zitter.bases.grid.edges import walls
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.slabs import Slabs

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


class DividedGrid(DividedBasis):
    """A `Grid` whose first axis is cut over the mesh axis "space"."""

    shape: tuple[int, ...] = eqx.field(static=True)
    grid: Grid
    layout: Slabs

    def __init__(self, grid: Grid, layout: Slabs):
        self.shape = layout.shape
        self.grid = grid
        self.layout = layout

    @property
    def orthonormal(self) -> bool:
        return True

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return self.grid.inner(bra, ket)

    def axes(self) -> dict[str, np.ndarray]:
        return self.grid.axes()

    @property
    def dimension(self) -> int:
        return self.grid.dimension

    @property
    def lattice(self) -> tuple[float, ...]:
        return self.grid.lattice

    @property
    def carries_phase(self) -> bool:
        return self.grid.carries_phase

    # Operators.

    def multiply(self, values: Any) -> Operator:
        return self.divide_operator(self.grid.multiply(values))

    def kinetic(self, mass: Any = 1.0, order: Any = "spectral") -> Operator:
        return self.divide_operator(self.grid.kinetic(mass, order))

    def position(self, unit: Any) -> Operator:
        return self.divide_operator(self.grid.position(unit))

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return self.divide_operator(self.grid.momentum(unit, order))

    def binding(self, operator: Operator) -> Operator | None:
        return self.grid.binding(operator)

    def sphere(self, radius: float) -> Operator:
        return self.divide_operator(self.grid.sphere(radius))

    def resolvents(self, operator: Operator) -> Any:
        raise Unsupported(
            "implicit steps need a whole line on one device, but the grid is divided; use Lanczos, "
            "or no mesh"
        )

    # Measuring.

    def mean_position(self, psi: jax.Array) -> jax.Array:
        return measuring.mean_position(self.grid, psi)

    def density(self, psi: jax.Array) -> jax.Array:
        return jnp.abs(psi) ** 2

    def density_axes(self) -> dict[str, np.ndarray]:
        return self.grid.density_axes()

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        return walls(self.grid, self.shape, open_end)

    def coarser(self, operator: Operator) -> Any:
        raise Refused(self, "a coarser grid", "leave coarse_levels out on a mesh")

    # Devices.

    @property
    def slabs(self) -> Slabs:
        return self.layout
