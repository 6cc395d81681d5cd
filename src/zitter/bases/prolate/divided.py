"""Prolate spheroidal coordinates on many devices, cut between elements of ξ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge
from zitter.bases.prolate import implicit, pictures
from zitter.bases.prolate.elements import Elements
from zitter.bases.prolate.operators import Separable
from zitter.linalg.base import Operator
from zitter.linalg.resolvents import Resolvents

if TYPE_CHECKING:
    from zitter.bases.prolate.basis import ProlateSpheroidal

Z_AXIS = (0.0, 0.0, 1.0)


class DividedProlate(DividedBasis):
    """A `ProlateSpheroidal` whose elements in ξ are cut over the mesh axis "space".

    What belongs to places is kept in parts, so that programs need not hold the whole of it.
    """

    parent: ProlateSpheroidal = eqx.field(static=True)
    layout: Elements
    scale: jax.Array  # D, zero in the padding
    weights: jax.Array  # a³(ξ²−1) in elements
    along: tuple[Operator, Operator]  # z and −i∂_z
    ends: tuple[Edge, Edge | None]  # the last η, and the wall

    def __init__(self, parent: ProlateSpheroidal, layout: Elements):
        self.parent, self.layout = parent, layout
        self.scale = layout.divide(parent.scale)
        self.weights = layout.divide_blocks(parent.separated_volume[0])
        self.along = (
            parent.position(Z_AXIS).divided(layout),
            parent.momentum(Z_AXIS).divided(layout),
        )
        last, *wall = parent.edges(True, True)
        last = eqx.tree_at(lambda e: (e.scale, e.mean), last, replace_fn=layout.divide)
        wall = [eqx.tree_at(lambda e: e.beyond, e, replace_fn=layout.divide) for e in wall]
        self.ends = (last, wall[0] if wall else None)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.layout.shape

    @property
    def orthonormal(self) -> bool:
        return True

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return self.parent.inner(bra, ket)

    def axes(self) -> dict[str, np.ndarray]:
        return self.parent.axes()

    @property
    def directions(self) -> tuple[int, ...]:
        return self.parent.directions

    @property
    def complex_scaled(self) -> bool:
        return self.parent.complex_scaled

    # Operators; the parent refuses directions across the axis.

    def position(self, unit: Any) -> Operator:
        return self.along[0].scaled(self.parent.share_of_z(unit, "position"))

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return self.along[1].scaled(self.parent.share_of_z(unit, "momentum"))

    def sphere(self, radius: float) -> Operator:
        return self.divide_operator(self.parent.sphere(radius))

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        return self.parent.separate(operator, self.layout)

    def resolvents(self, operator: Operator) -> Resolvents:
        assert isinstance(operator, Separable)
        eta = jnp.asarray(self.parent.separated_volume[1])
        return implicit.Spheroidal(operator, (self.weights, eta))

    # Measuring.

    def density(self, psi: jax.Array) -> jax.Array:
        return pictures.density(self.parent, self.scale * psi, self.layout)

    def density_axes(self) -> dict[str, np.ndarray]:
        return self.parent.density_axes()

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        last, wall = self.ends
        found = (last,) if driven else ()
        return (*found, wall) if open_end and wall is not None else found
