"""What every basis on many devices says of how its arrays lie there."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax

from zitter.bases.base import Basis
from zitter.linalg.base import Operator
from zitter.linalg.layouts import Layout


class DividedBasis(Basis):
    """A basis whose arrays are cut over a mesh, by a `layout`."""

    layout: eqx.AbstractVar[Layout]

    @property
    def whole(self) -> tuple[int, ...]:
        return self.layout.whole

    @property
    def shares(self) -> dict[str, list[int]]:
        return {self.layout.axis: self.layout.shares}

    def divide(self, array: Any) -> jax.Array:
        return self.layout.divide(array)

    def join(self, array: Any) -> Any:
        return self.layout.join(array)

    def keep(self, array: jax.Array) -> jax.Array:
        return self.layout.keep(array)

    def divide_operator(self, operator: Operator) -> Operator:
        return operator.divided(self.layout)
