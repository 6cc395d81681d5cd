"""Values of the radial functions on a sphere: what flux methods need of a run."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.spherical.basis import SphericalBasis
from zitter.linalg.base import Unsupported
from zitter.linalg.pairs import times_rows
from zitter.observables.base import Observable
from zitter.terms.light import gauges


class Surface(Observable):
    """P_lm(R) and dP_lm/dr(R) for each channel: an array (channels, 2)."""

    radius: float = eqx.field(static=True)
    every: int = eqx.field(static=True)
    name: ClassVar[str] = "surface"
    long_name: ClassVar[str] = "radial functions and their slopes on a sphere"
    units: ClassVar[str] = "a.u."

    def __init__(self, radius: float | str, every: int = 1):
        self.radius = float(checks.positive("radius", radius, "length"))
        self.every = checks.integer("every", every, 1)

    def prepare(self, H, eigenstates):
        if not isinstance(H.basis, SphericalBasis):
            raise Unsupported(f"Surface needs a SphericalBasis, not a {type(H.basis).__name__}")
        radial = H.basis.radial
        end = radial.rmax if radial.scaling is None else radial.scaling.radius
        if self.radius >= end:
            raise checks.InputError(
                "radius", f"must lie where r is real and below {end:g}, but is {self.radius:g}"
            )
        return self

    def evaluate(self, H, psi, t):
        assert isinstance(H.basis, SphericalBasis)
        rows = [H.basis.radial.evaluate(self.radius, d) for d in (0, 1)]
        matrix = jnp.asarray(np.concatenate(rows), jnp.finfo(psi.dtype).dtype)
        return times_rows(psi, matrix.T)

    def dims(self, H):
        first = next(iter(H.basis.axes()))
        return ((first, H.basis.axes()[first]), ("derivative", np.arange(2)))

    def facts(self, H):
        return {"surface_radius": self.radius, "surface_gauges": sorted(gauges(H))}
