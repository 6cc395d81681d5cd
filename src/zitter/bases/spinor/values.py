"""P, Q and the four components of a spinor at places, and the density dP/dr."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.angular import spherical_coordinates, spinor_table
from zitter.bases.bsplines import RadialBSplines
from zitter.bases.spinor.kinetic_balance import balanced, refined_knots

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis


@functools.lru_cache(maxsize=32)
def splines(radial: RadialBSplines) -> RadialBSplines:
    """The splines in use; the last one of these is left out."""
    knots = refined_knots(radial)[radial.degree : -radial.degree]
    return RadialBSplines(radial.n + 1, radial.degree, radial.rmax, tuple(map(float, knots)))


def radial_values(
    basis: SpinorBasis, psi: jax.Array, r: Any, kappas: Any = None
) -> tuple[jax.Array, jax.Array]:
    """P and Q at the radii r, each (channels, len(r)); `kappas` of rows in another order."""
    kappas = basis.kappas if kappas is None else kappas
    u, slope = (splines(basis.radial).evaluate(r, d)[:, : basis.radial.n] for d in range(2))
    slope, ratio = slope / (2 * basis.c), u / (2 * basis.c * np.asarray(r)[:, None])
    kappa = jnp.asarray(kappas)[:, None]
    a, b, d = balanced(psi, kappas)
    P = a @ u.T + b @ slope.T - (kappa * b) @ ratio.T
    Q = b @ u.T + d @ slope.T + (kappa * d) @ ratio.T
    return P, Q


def spinor_values(
    basis: SpinorBasis, psi: jax.Array, r: Any, theta: Any
) -> tuple[np.ndarray, jax.Array]:
    """m and the four components at each (θ, r), as `SpinorBasis.spinor_values` says."""
    values = basis.radial_values(psi, r)
    x, edge = np.cos(np.atleast_1d(theta)), round(basis.mu_max + 0.5)
    m = np.arange(-edge, edge + 1)
    components = []
    for radial, kappa, phase in ((values[0], basis.kappas, 1), (values[1], -basis.kappas, 1j)):
        table = spinor_table(kappa, basis.mus, x)  # (2, channels, θ)
        for spin, shift in enumerate((-0.5, 0.5)):
            place = np.rint(basis.mus + shift).astype(int) + edge
            sums = jnp.zeros((len(m), len(x), len(r)), jnp.result_type(psi, jnp.complex64))
            products = table[spin][:, :, None] * (phase * radial / np.asarray(r))[:, None, :]
            components.append(sums.at[place].add(products))
    return m, jnp.stack(components)


def density(basis: SpinorBasis, psi: jax.Array, kappas: Any = None) -> jax.Array:
    """dP/dr = Σ_κμ (|P|² + |Q|²) at the samples of the splines."""
    P, Q = radial_values(basis, psi, basis.radial.samples, kappas)
    return jnp.sum(jnp.abs(P) ** 2 + jnp.abs(Q) ** 2, axis=0)


def at_places(basis: SpinorBasis, psi: jax.Array, x: Any, y: Any, z: Any) -> jax.Array:
    """The four components at places of any shape, (4, …); zero beyond rmax."""
    r, cosine, phi = spherical_coordinates(x, y, z)
    flat, turn = r.reshape(-1), phi.reshape(-1)
    components = []
    halves = zip(radial_values(basis, psi, flat), (1, -1), (1, 1j), strict=True)
    for radial, sign, phase in halves:
        table = spinor_table(sign * basis.kappas, basis.mus, cosine.reshape(-1))
        for spin, shift in enumerate((-0.5, 0.5)):
            orders = np.rint(basis.mus + shift)[:, None]
            waves = table[spin] * np.exp(1j * orders * turn) / math.sqrt(2 * math.pi)
            components.append(phase * jnp.sum(radial / flat * waves, axis=0))
    return jnp.stack(components).reshape(4, *r.shape)
