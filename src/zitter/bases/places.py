"""Where a basis multiplies by functions of space."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


class Places(NamedTuple):
    """Coordinates, one array for each name, to be broadcast against each other.

    Names are x, y, z for one particle, x1, x2, … for several on a line, and r alone where the basis
    lies around an origin. `equal_at` holds other places at which a function must have the same
    values to be representable: a basis with one m asks for symmetry about z.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    particles: int = 1
    equal_at: tuple[Any, ...] | None = None

    @property
    def radial(self) -> bool:
        """Whether r is all that is known of a place."""
        return self.names == ("r",)

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(np.shape(x) for x in self.values))

    def of_particle(self, particle: int) -> tuple[Any, ...]:
        """The Cartesian coordinates of one particle."""
        count = len(self.values) // self.particles
        return self.values[particle * count : (particle + 1) * count]

    def on_device(self) -> Places:
        """The same, given to compiled programs rather than written into them as constants."""
        equal_at = None if self.equal_at is None else tuple(map(jnp.asarray, self.equal_at))
        return self._replace(values=tuple(map(jnp.asarray, self.values)), equal_at=equal_at)

    def elsewhere(self) -> Places | None:
        """The places at which a function must have the same values, if there are any."""
        return None if self.equal_at is None else self._replace(values=self.equal_at, equal_at=None)
