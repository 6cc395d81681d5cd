"""exp(−iτO)ψ in the Krylov space of ψ (Park & Light, J. Chem. Phys. 85, 5870 (1986))."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.operators.base import Operator, real_like
from zitter.propagators.base import (
    ErrorSum,
    Exponential,
    require_orthonormal,
    scheme_or_default,
)
from zitter.propagators.schemes import Midpoint, TimeScheme


class Lanczos(Exponential):
    """O is projected on span{ψ, Oψ, …, O^{m−1}ψ}, m = `order`, and exponentiated there.

    A Hermitian O gives a tridiagonal projection by three-term recurrence; one that absorbs is
    treated by Arnoldi's full orthogonalisation. The error estimate is β_m |(e^{−iτT})_{m1}| τ.
    """

    order: int = eqx.field(static=True)
    scheme: TimeScheme

    def __init__(self, order: int = 12, scheme: TimeScheme = Midpoint()):
        self.order = checks.integer("order", order, 2, 100)
        self.scheme = scheme_or_default(scheme)

    def prepare(self, H, t, dt):
        require_orthonormal("Lanczos", H)
        return self

    def init(self, H, psi, t, dt):
        return ErrorSum.zero()

    def exponential(self, operator, psi, tau, state):
        project = lanczos_basis if operator.hermitian else arnoldi_basis
        vectors, small, norm, last = project(operator, psi, self.order)
        tau = real_like(tau, small)
        column = jax.scipy.linalg.expm(-1j * tau * small)[:, 0]
        error = last * jnp.abs(column[-1] * tau)
        result = jnp.tensordot(norm * column, vectors, axes=(0, 0))
        return result.reshape(psi.shape).astype(psi.dtype), state.plus(error)

    def report(self, state):
        return {"error_estimate": state.total, "order": self.order}


def lanczos_basis(operator: Operator, psi: jax.Array, m: int):
    """m orthonormal vectors, the tridiagonal projection T, ‖ψ‖ and β_m.

    O q_j = β_{j−1} q_{j−1} + α_j q_j + β_j q_{j+1}
    """
    norm = _norm(psi)
    tiny = jnp.finfo(norm.dtype).tiny
    vectors, diagonal, off = [psi / norm], [], []
    for j in range(m):
        w = operator.apply(vectors[j])
        if j > 0:
            w = w - off[j - 1] * vectors[j - 1]
        alpha = jnp.real(jnp.vdot(vectors[j], w))
        w = w - alpha * vectors[j]
        beta = _norm(w)
        diagonal.append(alpha)
        off.append(beta)
        # An invariant subspace (β = 0) ends the recurrence: zero vectors add nothing.
        if j + 1 < m:
            vectors.append(w / jnp.maximum(beta, tiny))
    inner = jnp.stack(off[:-1])
    small = jnp.diag(jnp.stack(diagonal)) + jnp.diag(inner, 1) + jnp.diag(inner, -1)
    return jnp.stack(vectors), small, norm, off[-1]


def arnoldi_basis(operator: Operator, psi: jax.Array, m: int):
    """m orthonormal vectors, the Hessenberg projection, ‖ψ‖ and h_{m+1,m}."""
    norm = _norm(psi)
    tiny = jnp.finfo(norm.dtype).tiny
    vectors = [psi / norm]
    columns = []
    for j in range(m):
        w = operator.apply(vectors[j])
        column = []
        for q in vectors:
            h = jnp.vdot(q, w)
            w = w - h * q
            column.append(h)
        beta = _norm(w)
        padded = jnp.stack([*column, beta.astype(w.dtype)] + [jnp.zeros((), w.dtype)] * (m - j - 1))
        columns.append(padded)
        if j + 1 < m:
            vectors.append(w / jnp.maximum(beta, tiny))
    hessenberg = jnp.stack(columns, axis=1)
    return jnp.stack(vectors), hessenberg[:m], norm, jnp.abs(hessenberg[m, m - 1])


def _norm(psi: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.real(jnp.vdot(psi, psi)))
