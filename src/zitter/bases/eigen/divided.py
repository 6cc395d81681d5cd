"""Eigenstates on many devices, cut between values of l: each l talks to its neighbours only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.base import Refused
from zitter.bases.divided import DividedBasis
from zitter.bases.edges import Edge, LastL
from zitter.bases.eigen import operators
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spherical.edges import Wall
from zitter.linalg.base import Operator
from zitter.linalg.chain import Chain
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import DiagonalResolvents, Resolvents
from zitter.linalg.sums import partition

if TYPE_CHECKING:
    from zitter.bases.eigen.basis import EigenBasis


class DividedEigenBasis(DividedBasis):
    """An `EigenBasis` whose channels are cut over the mesh axis "l"; padding has l = −1."""

    shape: tuple[int, ...] = eqx.field(static=True)
    layout: Chain
    length: jax.Array | None
    velocity: jax.Array | None
    vectors: jax.Array | None
    parent: SphericalBasis | None = eqx.field(static=True)
    first: int = eqx.field(static=True)

    def __init__(self, basis: EigenBasis, layout: Chain):
        cut = lambda a: None if a is None else layout.divide_blocks(a)  # noqa: E731
        self.shape = layout.shape
        self.layout = layout
        self.length, self.velocity = cut(basis.length), cut(basis.velocity)
        self.vectors = cut(basis.vectors)
        self.parent = basis.parent
        self.first = basis.first

    @property
    def l(self) -> np.ndarray:  # noqa: E743
        row = np.arange(self.shape[0])
        return np.where(row < self.whole[0], self.first + row, -1)

    @property
    def orthonormal(self) -> bool:
        return True

    def inner(self, bra: jax.Array, ket: jax.Array) -> jax.Array:
        return jnp.vdot(bra, ket)

    def axes(self) -> dict[str, Any]:
        return {"l": self.l[: self.whole[0]], "state": np.arange(self.shape[1])}

    def on_parent(self, psi: jax.Array) -> jax.Array:
        """Radial coefficients of each l, padding included."""
        assert self.vectors is not None
        return jnp.einsum("lin,ln->li", self.vectors, psi)

    # Operators.

    @property
    def directions(self) -> tuple[int, ...]:
        return (2,)

    def position(self, unit: Any) -> Operator:
        return operators.position(self, unit, self.layout)

    def momentum(self, unit: Any, order: Any = "spectral") -> Operator:
        return operators.momentum(self, unit, self.layout)

    def separate(self, operator: Operator) -> tuple[Operator | None, Operator | None]:
        return partition(operator, lambda part: isinstance(part, Diagonal))

    def resolvents(self, operator: Operator) -> Resolvents:
        """Zero in the padding, so that a run can be continued on another number of devices."""
        assert isinstance(operator, Diagonal)
        return DiagonalResolvents(operator.full(), jnp.asarray(self.l >= 0)[:, None])

    # Measuring.

    def density(self, psi: jax.Array) -> jax.Array:
        if self.parent is None or self.vectors is None:
            advice = "the states were read without their radial functions"
            raise Refused(self, "a function of space", advice)
        return self.parent.density(self.on_parent(psi)[: self.whole[0]])

    def edges(self, driven: bool, open_end: bool) -> tuple[Edge, ...]:
        last = (LastL(self),) if driven and self.whole[0] > 1 else ()
        if self.parent is None or self.vectors is None or not open_end:
            return last
        scaled = self.parent.complex_scaled
        return last if scaled else (*last, Wall(self.parent.radial, self.on_parent))
