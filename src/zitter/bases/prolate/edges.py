"""The ends of a prolate spheroidal basis: the wall at rmax, and the last functions of η."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.edges import Edge

EDGE = 0.95  # of rmax; what lies beyond has reached the wall
LAST = 2  # Legendre polynomials counted as the last: one of each parity


class OuterWall(Edge):
    """The last 5 % of the box."""

    beyond: jax.Array  # which rows, as a column
    rmax: float = eqx.field(static=True)
    name: ClassVar[str] = "wall_population"
    throughout: ClassVar[bool] = False

    def __init__(self, distance: np.ndarray, rmax: float):
        self.beyond, self.rmax = jnp.asarray(distance > EDGE * rmax)[:, None], rmax

    def population(self, psi: Any) -> jax.Array:
        return jnp.sum(jnp.where(self.beyond, jnp.abs(psi) ** 2, 0.0))

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"rmax = {self.rmax:g} bohr is too small: {population:.1e} of the probability "
            f"is at the wall (limit {limit:.0e}); take a larger box or an absorber"
        )


class LastEta(Edge):
    """The last Legendre polynomials in η, from which light would lead on."""

    projection: jax.Array  # from values b at the nodes, (N_η, 2)
    scale: jax.Array
    mean: jax.Array  # of the volume factor over η, as a column
    name: ClassVar[str] = "last_eta_population"
    throughout: ClassVar[bool] = True

    def __init__(self, eta: np.ndarray, weights: np.ndarray, roots: np.ndarray, scale: np.ndarray):
        """`roots` are what all functions share at the nodes: √(1−η²) for odd m, else one."""
        count = len(eta)
        last = np.arange(count - LAST, count)
        legendre = np.polynomial.legendre.legvander(eta, count - 1)[:, last]
        norms = np.sqrt(weights[:, None] * (last + 0.5))
        self.projection = jnp.asarray(norms * legendre / roots[:, None])
        self.scale = jnp.asarray(scale)
        # The square of a high polynomial is spread evenly over the angle, where 1−η² is ½.
        share = 1.0 if np.all(roots == 1) else 0.5
        self.mean = share * jnp.mean(jnp.abs(self.scale) ** -2.0, axis=1, keepdims=True)

    def population(self, psi: Any) -> jax.Array:
        last = (self.scale * psi) @ self.projection
        return jnp.sum(self.mean * jnp.abs(last) ** 2)

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"eta = {len(self.projection)} is too small: the last functions of η hold "
            f"{population:.1e} of the probability (limit {limit:.0e})"
        )
