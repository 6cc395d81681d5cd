"""Expectation values of vectors on atomic bases: ⟨r⟩, ⟨p⟩ and the force on the electron.

All have three components; with a single m only z can differ from zero.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.base import Basis
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported
from zitter.terms import atomic

AtomicBasis = SphericalBasis | EigenBasis


def mean_position(basis: AtomicBasis, psi: jax.Array) -> jax.Array:
    return _vector(basis, psi, lambda unit: _mean(basis, psi, atomic.position(basis, unit)))


def mean_momentum(basis: AtomicBasis, psi: jax.Array) -> jax.Array:
    return _vector(basis, psi, lambda unit: _mean(basis, psi, atomic.momentum(basis, unit)))


def force(H: Hamiltonian, psi: jax.Array) -> jax.Array:
    """d⟨p⟩/dt = i⟨[H₀, p]⟩ = −2 Im⟨H₀ψ|pψ⟩, exactly the slope of the discrete ⟨p⟩ without light."""
    basis = H.basis
    assert isinstance(basis, AtomicBasis)
    pulled = basis.solve_overlap(H.fixed.apply(psi))

    def along(unit):
        image = atomic.momentum(basis, unit).astype(jnp.finfo(psi.dtype).dtype).apply(psi)
        return -2 * jnp.imag(basis.braket(pulled, image))

    return _vector(basis, psi, along)


def inside(basis: SphericalBasis, psi: jax.Array, radius: float) -> jax.Array:
    """The probability within a sphere; its radius is moved to the nearest knot."""
    knots = np.asarray(basis.radial.knots)
    edge = float(knots[np.argmin(np.abs(knots - radius))])
    bands = jnp.asarray(atomic.radial_bands(basis.radial, "inside", edge))
    weights = atomic.radial_blocks(basis, bands).astype(jnp.finfo(psi.dtype).dtype)
    return jnp.real(jnp.vdot(psi, weights.apply(psi)))


def _mean(basis: AtomicBasis, psi: jax.Array, operator: Operator) -> jax.Array:
    operator = operator.astype(jnp.finfo(psi.dtype).dtype)
    return jnp.real(basis.braket(psi, operator.apply(psi)))


def require_whole_state(basis: Basis) -> None:
    if isinstance(basis, SphericalBasis) and basis.radial.scaling is not None:
        raise Unsupported(
            "mean values of r, p and forces need all of the state, but beyond the radius of "
            "ExteriorScaling it is not that of the electron; record Ionization or Surface within "
            "it, or absorb by ComplexAbsorber instead"
        )


def _vector(basis: AtomicBasis, psi: jax.Array, along) -> jax.Array:
    require_whole_state(basis)
    if isinstance(basis, SphericalBasis) and basis.m == "all":
        return jnp.stack([along(unit) for unit in np.eye(3)])
    z = along(np.eye(3)[2])
    return jnp.stack([jnp.zeros_like(z), jnp.zeros_like(z), z])
