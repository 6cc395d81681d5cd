"""Decaying states: complex energies E − iΓ/2 of a Hamiltonian on a complex-scaled coordinate.

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
from zitter.bases.spherical.basis import SphericalBasis
from zitter.eigensolvers.base import Eigensolver
from zitter.eigensolvers.sparse import as_sparse, sparse_metric
from zitter.linalg.base import Unsupported


class Resonances(Eigensolver):
    """The states whose complex energies are closest to `near`, on a `SphericalBasis`.

    Rates are Γ = −2 Im E. Use `RadialBSplines(…, scaling=ExteriorScaling(…))`.
    """

    near: complex = eqx.field(static=True)

    def __init__(self, near: float | complex):
        self.near = complex(near)

    def check(self, H, n):
        if not isinstance(H.basis, SphericalBasis):
            raise Unsupported(f"Resonances needs a SphericalBasis, not a {type(H.basis).__name__}")
        if n > H.basis.size - 2:
            raise checks.InputError("n", f"must be below {H.basis.size - 1}, but is {n}")

    def solve(self, H, n):
        basis = H.basis
        assert isinstance(basis, SphericalBasis)
        matrix = as_sparse(H.operator).astype(complex)
        overlap = sparse_metric(basis).astype(complex)
        # ARPACK's own generalized mode wants a Hermitian S, so the inverse is applied here.
        factors = scipy.sparse.linalg.splu((matrix - self.near * overlap).tocsc())
        # SciPy's own type hints do not know this call.
        inverse = scipy.sparse.linalg.LinearOperator(
            matrix.shape,
            lambda v: factors.solve(overlap @ v),
            dtype=complex,  # type: ignore
        )
        found: Any = scipy.sparse.linalg.eigs(inverse, n, which="LM", tol=1e-14)  # type: ignore
        values, vectors = found
        vectors = vectors[:, np.argsort(-np.abs(values))]
        # Rayleigh quotients of a complex symmetric pair: (cᵀHc)/(cᵀSc), without conjugation.
        images = (matrix @ vectors, overlap @ vectors)
        top, bottom = (np.einsum("in,in->n", vectors, image) for image in images)
        states = jnp.asarray(vectors.T).reshape(n, *basis.shape)
        norms = jnp.stack([basis.norm(state) for state in states])
        states = states / norms[:, None, None]
        return top / bottom, states, {"solver": "ARPACK, shift-invert"}
