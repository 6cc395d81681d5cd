"""ψ(r) = Σ_lm P_lm(r)/r · Y_lm at places, on a sphere, and as dP/dr."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.angular import polar_harmonics, spherical_coordinates
from zitter.linalg.pairs import times_rows

if TYPE_CHECKING:
    from zitter.bases.spherical.basis import SphericalBasis


def radial_functions(basis: SphericalBasis, psi: jax.Array, r: Any) -> jax.Array:
    """P_lm at the radii, (channels, len(r))."""
    table = basis.radial.evaluate(r)
    table = jnp.asarray(table, jnp.finfo(jnp.result_type(psi)).dtype)
    return times_rows(jnp.asarray(psi), table.T)


def density(basis: SphericalBasis, psi: jax.Array) -> jax.Array:
    """dP/dr = Σ_lm |P_lm(r)|² at the samples of the splines."""
    return jnp.sum(jnp.abs(radial_functions(basis, psi, basis.radial.samples)) ** 2, axis=0)


def on_sphere(basis: SphericalBasis, psi: jax.Array, radius: float) -> jax.Array:
    """P_lm(R) and dP_lm/dr(R)."""
    radial = basis.radial
    end = radial.rmax if radial.scaling is None else radial.scaling.radius
    if radius >= end:
        raise checks.InputError(
            "radius", f"must lie where r is real and below {end:g}, but is {radius:g}"
        )
    table = np.concatenate([radial.evaluate(radius, derivative) for derivative in (0, 1)])
    return times_rows(psi, jnp.asarray(table.T, jnp.finfo(psi.dtype).dtype))


def values(basis: SphericalBasis, psi: jax.Array, x: Any, y: Any, z: Any) -> jax.Array:
    """ψ at places of any shape; zero beyond rmax."""
    r, cosine, phi = spherical_coordinates(x, y, z)
    functions = radial_functions(basis, psi, r.reshape(-1)) / r.reshape(-1)
    result = jnp.zeros(r.size, jnp.result_type(psi, jnp.complex64))
    for m in sorted({m for _, m in basis.channels}):
        rows = np.asarray([i for i, (_, k) in enumerate(basis.channels) if k == m])
        theta = polar_harmonics(basis.lmax, m, cosine.reshape(-1))
        wave = np.exp(1j * m * phi.reshape(-1)) / math.sqrt(2 * math.pi)
        result = result + jnp.sum(functions[rows] * theta, axis=0) * wave
    return result.reshape(r.shape)
