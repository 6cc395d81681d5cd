"""Whether lmax and the box were large enough, judged from a state."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.eigen import EigenBasis
from zitter.bases.spherical import SphericalBasis, banded_rows

EDGE = 0.95  # of rmax; what lies beyond has reached the wall


class ConvergenceWarning(UserWarning):
    """A result that a larger basis would change."""


def last_l_population(basis: SphericalBasis | EigenBasis, psi: Any) -> float:
    """The probability of the highest l."""
    psi = jnp.asarray(psi)
    image, top = basis.overlap(psi), basis.l == basis.l.max()
    return float(jnp.real(jnp.vdot(psi[top], image[top])))


def wall_population(basis: SphericalBasis, psi: Any) -> float:
    """The probability beyond EDGE · rmax."""
    radial = basis.radial
    with jax.ensure_compile_time_eval():
        bands = radial.matrix(1.0 * (radial.points > EDGE * radial.rmax), hermitian=True)
    psi = jnp.asarray(psi)
    return float(jnp.real(jnp.vdot(psi, banded_rows(jnp.real(bands), psi))))


def warn_of_small_lmax(basis: Any, population: float, limit: float, stacklevel: int = 3) -> None:
    if population > limit:
        warnings.warn(
            f"lmax = {np.max(basis.l)} is too small: the last l holds {population:.1e} of the "
            f"probability (limit {limit:.0e})",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def warn_of_wall(basis: SphericalBasis, population: float, limit: float, stacklevel=3) -> None:
    if population > limit:
        warnings.warn(
            f"rmax = {basis.radial.rmax:g} bohr is too small: {population:.1e} of the probability "
            f"is at the wall (limit {limit:.0e}); take a larger box or an absorber",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
