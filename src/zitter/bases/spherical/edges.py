"""The wall of an atomic basis at rmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import Edge
from zitter.bases.spherical.operators import radial_bands
from zitter.linalg.bands import banded_product

EDGE = 0.95  # of rmax; what lies beyond has reached the wall


class Wall(Edge):
    """The last 5 % of the box; `on_splines` makes radial functions of the coefficients."""

    radial: RadialBSplines = eqx.field(static=True)
    on_splines: Callable[[jax.Array], jax.Array] | None = None
    name: ClassVar[str] = "wall_population"
    throughout: ClassVar[bool] = False

    def population(self, psi: Any) -> jax.Array:
        psi = jnp.asarray(psi) if self.on_splines is None else self.on_splines(psi)
        bands = jnp.asarray(radial_bands(self.radial, "beyond", EDGE * self.radial.rmax))
        return jnp.real(jnp.vdot(psi, banded_product(bands, psi)))

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"rmax = {self.radial.rmax:g} bohr is too small: {population:.1e} of the probability "
            f"is at the wall (limit {limit:.0e}); take a larger box or an absorber"
        )
