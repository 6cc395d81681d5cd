"""Radial functions times harmonics on many devices, cut between channels: light couples neighbors
only, and what keeps l, its factors included, stays on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from zitter.bases.bsplines import RadialBSplines
from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge, LastL
from zitter.bases.spherical import measuring, operators
from zitter.bases.spherical.edges import Wall
from zitter.bases.spherical.implicit import RadialResolvents
from zitter.bases.spherical.split import angular_split
from zitter.bases.split import LightSplit
from zitter.linalg.base import Operator
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.chain import Chain
from zitter.linalg.resolvents import Resolvents
from zitter.linalg.sums import partition
from zitter.runtime import placed

if TYPE_CHECKING:
    from zitter.bases.spherical.basis import SphericalBasis


class DividedSphericalBasis(DividedBasis):
    """A `SphericalBasis` whose channels are cut over the mesh axis "l"; padding has l = −1."""

    parent: SphericalBasis = eqx.field(static=True)
    layout: Chain

    def __init__(self, parent: SphericalBasis, layout: Chain):
        self.parent, self.layout = parent, layout

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.layout.shape

    @property
    def radial(self) -> RadialBSplines:
        return self.parent.radial

    @property
    def complex_scaled(self) -> bool:
        return self.parent.complex_scaled

    @property
    def channels(self) -> tuple[tuple[int, int], ...]:
        return self.parent.channels

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        missing = self.shape[0] - self.whole[0]
        return np.pad(self.parent.l, (0, missing), constant_values=-1)

    def axes(self) -> dict[str, Any]:
        return self.parent.axes()

    # The metric: what the parent does row by row or in sums over all rows does as well here.

    @property
    def orthonormal(self) -> bool:
        return False

    def overlap(self, psi: jax.Array) -> jax.Array:
        return self.parent.overlap(psi)

    def solve_overlap(self, image: jax.Array) -> jax.Array:
        return self.layout.local(self.parent.solve_overlap, image)

    def braket(self, bra: jax.Array, image: jax.Array) -> jax.Array:
        return self.parent.braket(bra, image)

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return self.parent.inner(bra, ket)

    # Operators.

    @property
    def directions(self) -> tuple[int, ...]:
        return self.parent.directions

    def position(self, unit: Any) -> Operator:
        return operators.position(self, unit, self.layout)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return operators.momentum(self, unit, self.layout)

    def sphere(self, radius: float) -> Operator:
        return operators.sphere(self, radius)

    # Implicit steps.

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        return partition(operator, lambda part: isinstance(part, RadialBlocks))

    def resolvents(self, operator: Operator) -> Resolvents:
        return RadialResolvents(operator, self.radial, self.layout)

    def light_split(self, atom: Operator, lights: Sequence[Operator]) -> LightSplit:
        return angular_split(self, atom, lights, self.layout)

    # Measuring.

    def density(self, psi: jax.Array) -> jax.Array:
        r = self.radial.samples
        functions = lambda rows: measuring.radial_functions(self.parent, rows, r)  # noqa: E731
        return jnp.sum(jnp.abs(self.layout.local(functions, psi)) ** 2, axis=0)

    def density_axes(self) -> dict[str, np.ndarray]:
        return self.parent.density_axes()

    def on_sphere(self, psi: jax.Array, radius: float) -> jax.Array:
        """Two numbers for each channel, known to all devices."""
        found = self.layout.local(lambda rows: self.parent.on_sphere(rows, radius), psi)
        return placed(found, NamedSharding(self.layout.mesh, PartitionSpec()))[: self.whole[0]]

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        last = (LastL(self),) if driven and self.whole[0] > 1 else ()
        wall = (Wall(self.radial),) if open_end and not self.complex_scaled else ()
        return last + wall
