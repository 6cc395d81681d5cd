"""Pseudopotentials of the tests, and wave functions around them."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from zitter.qmc import GaussianSum, Orbitals, Pseudopotential

# ccECP of carbon (Bennett et al., J. Chem. Phys. 147, 224106).
CARBON = Pseudopotential(
    4,
    GaussianSum([4.0, 57.74008, -25.81955], [14.43502, 8.39889, 7.38188], [-1, 1, 0]),
    [GaussianSum([52.13345], [7.76079], [0])],
    "ccecp",
)
# s, p and d channels whose spheres reach far enough to meet most electrons.
SOFT = Pseudopotential(
    4,
    GaussianSum([4.0, -6.0], [2.0, 1.5], [-1, 0]),
    [GaussianSum([c], [a], [0]) for c, a in ((8.0, 1.1), (3.0, 0.9), (-2.0, 1.3))],
)


class Blob(Orbitals):
    """e^{−a|r−c|²/2}: not centered at the nucleus, so that all angular momenta are in it."""

    a: Any
    center: Any
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, a, center):
        self.a, self.center = jnp.asarray(a), jnp.asarray(center)
        self.count, self.is_complex = 1, False

    def values(self, r, dtype):
        return self.derivatives(r, dtype)[0]

    def derivatives(self, r, dtype):
        x = r - self.center.reshape(-1, *(1,) * (r.ndim - 1))
        square = jnp.sum(x**2, axis=0)
        value = jnp.exp(-self.a * square / 2)
        found = (value, -self.a * x * value, (self.a**2 * square - 3 * self.a) * value)
        return tuple(y[..., None] for y in found)


class SP(Orbitals):
    """e^{−ar²/2}, and x, y, z times e^{−br²/2}: the shape of a valence shell around the origin."""

    a: Any
    b: Any
    first: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, a, b, first=0):
        """Those before `first` are left out."""
        self.a, self.b, self.first = jnp.asarray(a), jnp.asarray(b), first
        self.count, self.is_complex = 4 - first, False

    def values(self, r, dtype):
        return self.derivatives(r, dtype)[0]

    def derivatives(self, r, dtype):
        square = jnp.sum(r**2, axis=0)
        s, p = jnp.exp(-self.a * square / 2), jnp.exp(-self.b * square / 2)
        value = jnp.stack([s, *(x * p for x in r)], axis=-1)
        unit = jnp.eye(3).reshape(3, 3, *(1,) * square.ndim)
        slope = jnp.stack(
            [-self.a * r * s, *((unit[k] - self.b * r * r[k]) * p for k in range(3))], axis=-1
        )
        laplacian = [(self.a**2 * square - 3 * self.a) * s]
        laplacian += [(self.b**2 * square - 5 * self.b) * x * p for x in r]
        found = (value, slope, jnp.stack(laplacian, axis=-1))
        return tuple(x[..., self.first :] for x in found)
