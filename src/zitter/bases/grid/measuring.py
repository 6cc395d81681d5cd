"""Mean positions on a grid, and ψ between its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage

from zitter.linalg.base import real_like, total

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid

ORDER = 5  # of the splines through the grid points


def mean_position(grid: Grid, psi: jax.Array) -> jax.Array:
    """Σ_particles ⟨r⟩; the coordinates stay single rows, also for several particles.

    ψ may be padded with zeros.
    """
    density = jnp.abs(psi) ** 2 * real_like(grid.volume, psi)

    def moment(particle: int, axis: int) -> jax.Array:
        along = particle * grid.dimension + axis
        missing = psi.shape[along] - grid.shape[along]
        widths = [(0, missing if a == along else 0) for a in range(psi.ndim)]
        row = np.pad(grid.coordinates(particle)[axis], widths)
        return jnp.sum(density * real_like(row, psi))

    values = [
        total(moment(particle, axis) for particle in range(grid.particles))
        for axis in range(grid.dimension)
    ]
    return values[0] if len(values) == 1 else jnp.stack(values)


def interpolated(grid: Grid, psi: Any, places: tuple[Any, ...]) -> np.ndarray:
    """ψ at places given by one coordinate for each axis; zero outside a box that is not periodic.

    At the grid points the splines have ψ's own values.
    """
    coordinates = np.broadcast_arrays(*(np.asarray(x, float) for x in places))
    rows = [
        (x.reshape(-1) - grid.points(axis)[0]) / grid.spacing[axis]
        for axis, x in enumerate(coordinates)
    ]
    # Beyond the end points ψ falls to zero within one spacing.
    values = np.asarray(psi)
    edge = 0 if grid.boundary == "periodic" else 1
    values, steps = np.pad(values, edge), np.stack(rows) + edge
    mode = "grid-wrap" if grid.boundary == "periodic" else "constant"
    found = scipy.ndimage.map_coordinates(values, steps, order=ORDER, mode=mode)
    return found.reshape(coordinates[0].shape)
