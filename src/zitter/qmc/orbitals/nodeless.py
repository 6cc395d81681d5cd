"""One orbital without nodes, for open systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.orbitals.base import Orbitals


class Nodeless(Orbitals):
    """φ(r) = exp(−ζ r − a r²/2): the ground states of hydrogen (a = 0) and of the trap (ζ = 0).

    r is the distance to `center`, which is the origin unless given.
    """

    zeta: Any
    a: Any
    center: Any
    count: int = eqx.field(static=True, default=1)
    is_complex: bool = eqx.field(static=True, default=False)

    def __init__(self, zeta: float = 0.0, a: float = 0.0, center: Sequence[float] | None = None):
        self.zeta = checks.non_negative("zeta", zeta)
        self.a = checks.non_negative("a", a)
        self.center = None if center is None else checks.array("center", center, (None,))
        self.count = 1
        self.is_complex = False

    def displaced(self, carry):
        if self.center is None:
            raise checks.InputError(
                "orbitals", "must have a center to follow nuclei, but Nodeless has none"
            )
        return eqx.tree_at(lambda o: o.center, self, carry(self.center[None])[0])

    def values(self, r, dtype=jnp.float64):
        return self.derivatives(r, dtype)[0]

    def derivatives(self, r, dtype=jnp.float64):
        if self.center is not None:
            r = r - self.center.reshape(-1, *(1,) * (r.ndim - 1))
        r = r.astype(dtype)
        distance = jnp.sqrt(jnp.sum(r**2, axis=0))
        value = jnp.exp(-self.zeta * distance - 0.5 * self.a * distance**2)
        slope = -self.zeta - self.a * distance  # (dφ/dr)/φ
        dimension = r.shape[0]
        gradient = slope / distance * r * value
        laplacian = value * (slope**2 - self.a + (dimension - 1) * slope / distance)
        return value[..., None], gradient[..., None], laplacian[..., None]
