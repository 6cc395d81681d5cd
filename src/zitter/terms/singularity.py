"""−Z/r on a Cartesian grid: a smooth potential with the same levels, or simpler substitutes.

The cusp of ψ at a nucleus spoils every grid: plain sampling of −Z/r converges as h² at best. What
matters outside a small core is only how the core scatters slow waves, so −Z/r may be exchanged for
a potential that is smooth on the scale of the grid and scatters alike (the idea behind
pseudopotentials; the form is that of Goedecker, Teter and Hutter, Phys. Rev. B 54, 1703 (1996), and
all-electron potentials of this kind are due to Gygi, J. Chem. Theory Comput. 19, 1300 (2023)):

    V(r) = Z [ −erf(αr)/r + α e^{−α²r²} Σ_{k=0}^{3} A_k (αr)^{2k} ],     α = 0.45/h

The four A_k(Z/α) are fixed by four conditions on the regular radial solutions in units of Z:
the logarithmic derivative outside the core is that of −1/r at the energies of the hydrogen levels
1s, 2s, 2p and, for l = 2, of n = 2. Hydrogen's n = 1 and n = 2 are then exact for any α, and other
systems converge as h⁵ (measured; docs/stationary-states.md). In the plane the form is the same,
with |m| in the place of l and the levels −1/2(n − ½)².
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.terms.core_tables import COEFFICIENTS, LARGEST_RATIO

Singularity = Literal["regularized", "cell-average", "cut"]
SINGULARITIES = ("regularized", "cell-average", "cut")

CORE_WIDTH = 0.45  # α·h: beyond 0.5 the grid no longer resolves the core, below 0.4 it is wasted


def core_coefficients(ratio: Any, dimension: int = 3) -> jax.Array:
    """A_0 … A_3 at Z/α, by Clenshaw's recurrence; for repulsion (Z < 0) the limit Z/α → 0."""
    largest = LARGEST_RATIO[dimension]
    t = jnp.clip(ratio, 0.0, largest) / (0.5 * largest) - 1
    table = jnp.asarray(COEFFICIENTS[dimension], jnp.result_type(float))
    later = following = jnp.zeros(4, table.dtype)
    for column in table.T[:0:-1]:
        later, following = following, column + 2 * t * following - later
    return table[:, 0] + t * following - later


def regularized(
    charge: Any, distance_squared: jax.Array, spacing: float, mass: Any, dimension: int = 3
) -> jax.Array:
    """The smooth −Z/r for a particle of `mass` on a grid of this spacing, from r²."""
    largest = LARGEST_RATIO[dimension]
    alpha = CORE_WIDTH / spacing
    ratio = jnp.asarray(mass, jnp.result_type(float)) * charge / alpha
    if not checks.is_traced(ratio) and float(jnp.max(ratio)) > largest:
        limit = largest * CORE_WIDTH * spacing / (float(jnp.max(ratio)) * CORE_WIDTH)
        raise checks.InputError(
            "spacing",
            f"must be at most {limit:.3g} bohr to resolve a nucleus of charge "
            f"{float(jnp.max(jnp.asarray(charge))):g}, but is {spacing:g}",
        )
    coefficients = core_coefficients(ratio, dimension).astype(distance_squared.dtype)
    square = distance_squared * alpha**2
    # erf(x)/x → 2/√π at x = 0, where the quotient itself cannot be taken.
    near = square < 1e-8
    x = jnp.sqrt(jnp.where(near, 1.0, square))
    smeared = jnp.where(near, 2 / np.sqrt(np.pi), jax.scipy.special.erf(x) / x)
    core = coefficients[3]
    for a in (coefficients[2], coefficients[1], coefficients[0]):
        core = a + core * square
    return charge * alpha * (core * jnp.exp(-square) - smeared)


def core_diameter(spacing: float) -> float:
    """Across which a smooth core differs from −Z/r by more than some per cent."""
    return 3.0 * spacing / CORE_WIDTH


def square_average(charge: Any, distance_squared: jax.Array, spacing: float) -> jax.Array:
    """−Z/r in the plane, and at the nucleus its mean over a square of this side."""
    inside = distance_squared < (0.5 * spacing) ** 2
    safe = jnp.where(inside, 1.0, distance_squared)
    return -charge * jnp.where(inside, 4 * np.arcsinh(1.0) / spacing, 1 / jnp.sqrt(safe))


def cell_average(charge: Any, distance_squared: jax.Array, volume: float) -> jax.Array:
    """−Z/r averaged over a ball of the cell's volume: the nucleus as a uniformly charged ball."""
    radius = (0.75 * volume / np.pi) ** (1 / 3)
    inside = distance_squared < radius**2
    safe = jnp.where(inside, 1.0, distance_squared)
    within = (3 * radius**2 - distance_squared) / (2 * radius**3)
    return -charge * jnp.where(inside, within, 1 / jnp.sqrt(safe))


def cut(charge: Any, distance_squared: jax.Array, spacing: float) -> jax.Array:
    """−Z/r, and −Z/h inside r < h: what finite-difference codes without a treatment do."""
    inside = distance_squared < spacing**2
    safe = jnp.where(inside, 1.0, distance_squared)
    return -charge * jnp.where(inside, 1 / spacing, 1 / jnp.sqrt(safe))
