"""Values of the radial functions on a sphere: what flux methods need of a run."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import numpy as np

from zitter import checks
from zitter.linalg.base import Unsupported
from zitter.observables.base import Observable, require
from zitter.terms.light import gauges


class Surface(Observable):
    """P_lm(R) and dP_lm/dr(R) for each channel: an array (channels, 2), for `flux_spectrum`."""

    radius: float = eqx.field(static=True)
    every: int = eqx.field(static=True)
    name: ClassVar[str] = "surface"
    long_name: ClassVar[str] = "radial functions and their slopes on a sphere"
    units: ClassVar[str] = "a.u."

    def __init__(self, radius: float | str, every: int = 1):
        self.radius = float(checks.positive("radius", radius, "length"))
        self.every = checks.integer("every", every, 1)

    def prepare(self, H, eigenstates):
        require(self, H, lambda psi: H.basis.on_sphere(psi, self.radius))
        return self

    def evaluate(self, H, psi, t):
        return H.basis.on_sphere(psi, self.radius)

    def dims(self, H):
        first = next(iter(H.basis.axes()))
        return ((first, H.basis.axes()[first]), ("derivative", np.arange(2)))

    def facts(self, H):
        known = {"surface_radius": self.radius, "surface_gauges": sorted(gauges(H))}
        try:
            channels = H.basis.channels_of(H.static.fixed)
        except Unsupported:  # cut over devices, or no central potential
            return known
        inside, charge = channels.charge(self.radius), channels.charge()
        return known | {"surface_charge": charge, "surface_charge_inside": inside}
