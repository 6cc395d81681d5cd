"""The ends of an atomic basis: its last l, and the wall at rmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.base import Basis
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.edges import Edge
from zitter.bases.spherical.operators import radial_bands
from zitter.linalg.bands import banded_product

EDGE = 0.95  # of rmax; what lies beyond has reached the wall


class LastL(Edge):
    """The highest l, from which light would lead on."""

    basis: Basis
    name: ClassVar[str] = "last_l_population"
    throughout: ClassVar[bool] = True

    def population(self, psi: Any) -> jax.Array:
        rows = jnp.asarray(psi)[self.basis.l == self.basis.l.max()]
        return jnp.real(jnp.vdot(rows, self.basis.overlap(rows)))

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"lmax = {np.max(self.basis.l)} is too small: the last l holds {population:.1e} of the "
            f"probability (limit {limit:.0e})"
        )


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
