"""The density of electrons around a point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import squared
from zitter.qmc.estimators.base import Estimator, Prepared, average


class RadialDensity(Estimator):
    """n(r): electrons per volume in spherical shells around `center`, up to `rmax`.

    The center is the origin unless given. Shells are of equal thickness; 4π∫n r² dr, over all r, is
    the number of electrons.
    """

    rmax: Any
    center: Any
    bins: int = eqx.field(static=True)

    def __init__(self, rmax: float | str, bins: int = 50, center: Sequence[float] | None = None):
        self.rmax = checks.positive("rmax", rmax, "length")
        self.bins = checks.integer("bins", bins, 2)
        self.center = None if center is None else checks.array("center", center, (None,))

    def prepare(self, system):
        d = system.dimension
        center = np.zeros(d) if self.center is None else self.center
        checks.array("estimators.center", center, (d,))
        if system.cell is not None and self.rmax > float(system.cell.inradius) * (1 + 1e-9):
            raise checks.InputError(
                "estimators.rmax",
                f"must be at most {float(system.cell.inradius):.6g}, the radius of the sphere "
                f"inside the cell around a point, but is {float(self.rmax):g}",
            )
        edges = np.linspace(0, float(self.rmax), self.bins + 1)
        ball = 4 * np.pi / 3 if d == 3 else np.pi
        return _Shells(edges, ball * np.diff(edges**d), center)


class _Shells(Prepared):
    edges: Any
    volumes: Any
    center: Any
    name: ClassVar[str] = "radial_density"

    def evaluate(self, psi, walker, key):
        bins = self.volumes.shape[0]
        apart = psi.system.nearest([x - c for x, c in zip(walker.r, self.center, strict=True)])
        place = jnp.floor(jnp.sqrt(squared(apart)) / self.edges[-1] * bins).astype(jnp.int32)
        return jnp.zeros(bins).at[place].add(1.0, mode="drop")

    def finalize(self, blocks, weights):
        mean, error = average(blocks, weights)
        middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        return {"x": middle, "mean": mean / self.volumes, "error": error / self.volumes}
