"""Decaying states: complex energies E − iΓ/2 where H absorbs or its coordinate is complex.

    (H₀ + F z) c = E S c,    complex symmetric matrices, solved by shift-invert Arnoldi (ARPACK)

With exterior complex scaling outgoing waves are square-integrable and a resonance is an ordinary
eigenvalue; it does not move with the scaling angle, the discretized continuum does.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.sparse.linalg

from zitter import checks
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.matrices import matrices
from zitter.linalg.base import Unsupported
from zitter.linalg.shift_invert import factorized


class Resonances(Eigensolver):
    """The states whose complex energies are closest to `near`.

    Rates are Γ = −2 Im E. Use `RadialBSplines(…, scaling=ExteriorScaling(…))`: with an absorber
    instead, E depends on it.
    """

    near: complex = eqx.field(static=True)

    def __init__(self, near: float | complex):
        self.near = complex(near)

    def check(self, H, n):
        if not H.basis.complex_scaled and H.operator.hermitian:
            raise Unsupported(
                "Resonances needs a Hamiltonian whose states decay, by ExteriorScaling in a "
                "SphericalBasis or by an absorber; use Direct(near=…)"
            )
        if n > H.basis.size - 2:
            raise checks.InputError("n", f"must be below {H.basis.size - 1}, but is {n}")

    def solve(self, H, n):
        basis = H.basis
        matrix, overlap = matrices(H, "Resonances")
        solve = factorized(matrix, overlap, self.near)

        def metric(v):
            return v if overlap is None else overlap @ v

        # ARPACK's own generalized mode wants a Hermitian S, so the inverse is applied here.
        # SciPy's own type hints do not know this call.
        inverse = scipy.sparse.linalg.LinearOperator(
            matrix.shape,
            lambda v: solve(metric(v)),
            dtype=complex,  # type: ignore
        )
        found: Any = scipy.sparse.linalg.eigs(inverse, n, which="LM", tol=1e-14)  # type: ignore
        values, vectors = found
        vectors = vectors[:, np.argsort(-np.abs(values))]
        # Rayleigh quotients of a complex symmetric pair: (cᵀHc)/(cᵀSc), without conjugation.
        images = (matrix @ vectors, metric(vectors))
        top, bottom = (np.einsum("in,in->n", vectors, image) for image in images)
        states = jnp.asarray(vectors.T).reshape(n, *basis.shape)
        states = jnp.stack([basis.normalize(state) for state in states])
        return top / bottom, states, {"solver": "ARPACK, shift-invert"}
