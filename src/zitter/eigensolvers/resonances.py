"""Decaying states: complex energies E − iΓ/2 where H absorbs or its coordinate is complex.

    (H₀ + F z) c = E S c,    complex symmetric matrices, solved by shift-invert Arnoldi (ARPACK)

With exterior complex scaling outgoing waves are square-integrable and a resonance is an ordinary
eigenvalue; it does not move with the scaling angle, the discretized continuum does.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.matrices import factors_near, matrices, memory_near, require_matrices
from zitter.linalg.base import Unsupported
from zitter.linalg.shift_invert import all_at_once, factorized, nearest_decaying

NOTHING = 1e-3  # of c†Sc


class Resonances(Eigensolver):
    """The states whose complex energies are closest to `near`.

    Rates are Γ = −2 Im E. Use `RadialBSplines(…, scaling=ExteriorScaling(…))`: with an absorber
    instead, E depends on it.
    """

    near: complex = eqx.field(static=True)

    def __init__(self, near: float | complex | str):
        if isinstance(near, complex | np.complexfloating):
            self.near = complex(*(checks.scalar("near", part) for part in (near.real, near.imag)))
        else:
            self.near = complex(checks.scalar("near", near, "energy"))

    def check(self, H, n):
        if not H.basis.complex_scaled and H.operator.hermitian:
            raise Unsupported(
                "Resonances needs a Hamiltonian whose states decay, by ExteriorScaling in a "
                "SphericalBasis or by an absorber; use Direct(near=…)"
            )
        if n > H.basis.size:
            raise checks.InputError("n", f"must be at most {H.basis.size}, but is {n}")
        require_matrices(H, "Resonances", n)

    def memory(self, H, n):
        if all_at_once(H.basis.size, n):
            # H, LAPACK's copy of it, states, and work; S and its copy likewise.
            return (4 if H.basis.orthonormal else 6) * 16 * H.basis.size**2
        return memory_near(H, n)

    def factors(self, H):
        return factors_near(H)

    def factorize(self, H):
        factorized(*matrices(H, "Resonances"), self.near, H.shape)

    @property
    def on_other_bases(self):
        return self

    def solve(self, H, n):
        basis = H.basis
        matrix, overlap = matrices(H, "Resonances")
        energies, vectors = nearest_decaying(matrix, overlap, n, self.near, H.shape)
        # Rayleigh quotients of a complex symmetric pair: (cᵀHc)/(cᵀSc), without conjugation. In
        # velocity gauge H is not symmetric, and cᵀSc may be nothing.
        images = (matrix @ vectors, vectors if overlap is None else overlap @ vectors)
        top, bottom = (np.einsum("in,in->n", vectors, image) for image in images)
        whole = np.einsum("in,in->n", vectors.conj(), images[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            energies = np.where(np.abs(bottom) > NOTHING * np.abs(whole), top / bottom, energies)
        states = jnp.asarray(vectors.T).reshape(n, *basis.shape)
        states = jnp.stack([basis.normalize(state) for state in states])
        return energies, states, {"solver": "ARPACK, shift-invert"}
