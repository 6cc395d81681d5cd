"""The walls of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.edges import Edge

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid

OUTERMOST = 0.025  # of the points along an axis, on each side; one at least


class Walls(Edge):
    """The outermost points on each side, 5 % of an axis.

    What has been there comes back reflected, so that the largest population of a run counts.
    """

    inside: tuple[jax.Array, ...]  # for each axis one, and zero at the outermost points
    volume: float = eqx.field(static=True)
    name: ClassVar[str] = "wall_population"
    throughout: ClassVar[bool] = True

    def __init__(self, grid: Grid, shape: tuple[int, ...]):
        """`shape` is that of ψ, which on many devices is padded at its ends."""
        self.inside = tuple(
            _inside(n, padded).reshape([-1 if a == axis else 1 for a in range(len(shape))])
            for axis, (n, padded) in enumerate(zip(grid.shape, shape, strict=True))
        )
        self.volume = grid.volume

    def population(self, psi: Any) -> jax.Array:
        kept = self.inside[0]
        for factor in self.inside[1:]:
            kept = kept * factor
        return jnp.sum(jnp.where(kept, 0.0, jnp.abs(psi) ** 2)).astype(float) * self.volume

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"the grid is too small: {population:.1e} of the probability was at its walls (limit "
            f"{limit:.0e}), which reflect it; take more points, a larger spacing or an absorber"
        )


def walls(grid: Grid, shape: tuple[int, ...], open_end: bool) -> tuple[Edge, ...]:
    """Where nothing absorbs before them."""
    return (Walls(grid, shape),) if open_end and grid.boundary == "zero" else ()


def _inside(n: int, padded: int) -> jax.Array:
    outer = max(1, round(OUTERMOST * n))
    place = jnp.arange(padded)  # counted by the program, so that it holds no long constant
    return (place >= outer) & (place < n - outer)
