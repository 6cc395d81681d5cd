"""On atomic bases, whether a run reached the end of its basis: the last l, and the wall.

Every run looks, asked or not; only numbers that would change a yield become warnings.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from zitter.bases import convergence
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.hamiltonian import Hamiltonian

# Of a state of norm one, in the last l or at the end of the box: what changes yields by as much.
LIMIT = 1e-6


def judged(H: Hamiltonian, psi: Any, last_l: Any) -> dict[str, float]:
    """The populations as numbers, with warnings of those above the limit."""
    found = {name: float(value) for name, value in populations(H, psi, last_l).items()}
    for name, population in found.items():
        warn(name, H.basis, population, 6)
    return found


def populations(H: Hamiltonian, psi: Any, last_l: Any) -> dict[str, Any]:
    """Of the last l the largest so far (`last_l` before ψ), and of the wall now."""
    basis, found = H.basis, {}
    if not isinstance(basis, SphericalBasis | EigenBasis):
        return found
    if last_l is not None:
        found["last_l_population"] = largest_last_l(H, psi, last_l)
    home, open_end = convergence.splines_of(basis), H.absorber is None and H.mask is None
    if home is not None and home.radial.scaling is None and open_end:
        found["wall_population"] = convergence.wall_population(basis, psi)
    return found


def may_leave_l(H: Hamiltonian) -> bool:
    atomic = isinstance(H.basis, SphericalBasis | EigenBasis)
    return atomic and H.basis.shape[0] > 1 and H.time_dependent


def largest_last_l(H: Hamiltonian, psi: Any, before: Any) -> jax.Array:
    assert isinstance(H.basis, SphericalBasis | EigenBasis)
    # A look at the run is no part of its result: derivatives do not pass through it.
    psi = jax.lax.stop_gradient(psi)
    return jnp.maximum(before, convergence.last_l_population(H.basis, psi))


def warn(name: str, basis: Any, population: float, stacklevel: int) -> None:
    """The warning that belongs to one of the `populations`."""
    lmax, wall = convergence.warn_of_small_lmax, convergence.warn_of_wall
    told = {"last_l_population": lmax, "wall_population": wall}[name]
    told(basis, population, LIMIT, stacklevel)
