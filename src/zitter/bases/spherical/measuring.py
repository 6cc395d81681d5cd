"""ψ(r) = Σ_lm P_lm(r)/r · Y_lm at places, on a sphere, and as dP/dr."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

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
    radial.check_real(radius)
    table = np.concatenate([radial.evaluate(radius, derivative) for derivative in (0, 1)])
    return times_rows(psi, jnp.asarray(table.T, jnp.finfo(psi.dtype).dtype))


def values(basis: SphericalBasis, psi: jax.Array, x: Any, y: Any, z: Any) -> jax.Array:
    """ψ at places of any shape; zero beyond rmax. Where all have one cos θ, as in the xy plane, l
    is summed before the radii are looked at."""
    r, cosine, phi = spherical_coordinates(x, y, z)
    away = r > 1e-8  # at the origin only l = 0 is left, at any angle
    if np.any(away) and np.ptp(cosine[away]) < 1e-12:
        return _on_a_cone(basis, psi, r, float(cosine[away][0]), phi)
    functions = radial_functions(basis, psi, r.reshape(-1)) / r.reshape(-1)
    result = jnp.zeros(r.size, jnp.result_type(psi, jnp.complex64))
    for m in sorted({m for _, m in basis.channels}):
        rows = np.asarray([i for i, (_, k) in enumerate(basis.channels) if k == m])
        theta = polar_harmonics(basis.lmax, m, cosine.reshape(-1))
        theta = theta[[l - abs(m) for l, k in basis.channels if k == m]]
        wave = np.exp(1j * m * phi.reshape(-1)) / math.sqrt(2 * math.pi)
        result = result + jnp.sum(functions[rows] * theta, axis=0) * wave
    return result.reshape(r.shape)


def _on_a_cone(
    basis: SphericalBasis, psi: jax.Array, r: np.ndarray, cosine: float, phi: np.ndarray
) -> jax.Array:
    """Σ_m e^{imφ}/√2π [Σ_l Θ_lm(θ) P_lm(r)]/r."""
    psi = jnp.asarray(psi)
    orders = sorted({m for _, m in basis.channels})
    weights = np.zeros((len(orders), len(basis.channels)))
    for row, m in enumerate(orders):
        theta = polar_harmonics(basis.lmax, m, np.asarray([cosine]))[:, 0]
        for i, (l, k) in enumerate(basis.channels):
            if k == m:
                weights[row, i] = theta[l - abs(m)]
    sums = jnp.asarray(weights, jnp.finfo(psi.dtype).dtype) @ psi
    functions = radial_functions(basis, sums, r.reshape(-1))
    waves = np.exp(1j * np.outer(orders, phi.reshape(-1))) / (math.sqrt(2 * math.pi) * r.ravel())
    result = jnp.sum(functions * waves, axis=0)
    return result.astype(jnp.result_type(psi, jnp.complex64)).reshape(r.shape)
