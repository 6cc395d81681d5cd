"""exp(−iτO)ψ in the Krylov space of ψ (Park & Light, J. Chem. Phys. 85, 5870 (1986))."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.linalg.base import Operator, real_like
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
        m = min(self.order, operator.size)
        tau = real_like(tau, psi)
        if operator.hermitian:
            vectors, alpha, beta, norm = lanczos_basis(operator, psi, m)
            column, last = exponential_column(tau, alpha, beta[:-1]), beta[-1]
        else:
            vectors, h, norm = arnoldi_basis(operator, psi, m)
            column, last = jax.scipy.linalg.expm(-1j * tau * h[:m])[:, 0], jnp.abs(h[m, m - 1])
        error = last * jnp.abs(column[-1] * tau)
        result = jnp.tensordot(norm * column, vectors, axes=(0, 0))
        return result.astype(psi.dtype), state.plus(error)

    def report(self, state):
        return {"error_estimate": state.total, "order": self.order}


def lanczos_basis(operator: Operator, psi: jax.Array, m: int):
    """m orthonormal vectors, diagonal α and side diagonal β of the projection, and ‖ψ‖.

    O q_j = β_{j−1} q_{j−1} + α_j q_j + β_j q_{j+1}
    """
    norm = jnp.sqrt(jnp.real(jnp.vdot(psi, psi)))

    def extend(carry, _):
        previous, current, beta, scale = carry
        w = operator.apply(current) - beta * previous
        alpha = jnp.real(jnp.vdot(current, w))
        w = w - alpha * current
        following, beta, scale = _normalized(w, jnp.maximum(scale, jnp.abs(alpha)))
        return (current, following, beta, scale), (current, alpha, beta)

    zero = jnp.zeros_like(norm)
    start = (jnp.zeros_like(psi), psi / norm, zero, zero)
    _, (vectors, alpha, beta) = jax.lax.scan(extend, start, length=m)
    return vectors, alpha, beta, norm


def arnoldi_basis(operator: Operator, psi: jax.Array, m: int):
    """m orthonormal vectors, the projection's m+1 rows h (the last one beyond it), and ‖ψ‖."""
    norm = jnp.sqrt(jnp.real(jnp.vdot(psi, psi)))
    flat = psi.reshape(-1)

    def extend(carry, j):
        vectors, scale = carry  # rows not yet filled are zero, and add nothing below
        w = operator.apply(vectors[j].reshape(psi.shape)).reshape(-1)
        column = jnp.zeros(m + 1, psi.dtype)
        for _ in range(2):  # Gram–Schmidt, twice: the second round removes rounding of the first
            overlaps = vectors.conj() @ w
            w = w - overlaps @ vectors
            column = column + overlaps
        following, beta, scale = _normalized(w, jnp.maximum(scale, jnp.max(jnp.abs(column))))
        return (vectors.at[j + 1].set(following), scale), column.at[j + 1].set(beta)

    start = jnp.zeros((m + 1, flat.size), psi.dtype).at[0].set(flat / norm)
    (vectors, _), columns = jax.lax.scan(extend, (start, jnp.zeros_like(norm)), jnp.arange(m))
    return vectors[:m].reshape(m, *psi.shape), columns.T, norm


def _normalized(w: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """w/‖w‖, ‖w‖ and the largest coefficient so far.

    An invariant subspace (‖w‖ mere rounding) ends the recurrence: zero vectors add nothing, while
    normalized noise would have derivatives of any size.
    """
    square = jnp.real(jnp.vdot(w, w))
    ended = square <= (4 * jnp.finfo(square.dtype).eps * scale) ** 2
    beta = jnp.where(ended, 0, jnp.sqrt(jnp.where(ended, 1, square)))
    return w * jnp.where(ended, 0, 1 / jnp.where(ended, 1, beta)), beta, jnp.maximum(scale, beta)


@jax.custom_jvp
def exponential_column(tau: jax.Array, alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """First column of exp(−iτT), T tridiagonal with diagonal α and side diagonal β, by its
    eigenvectors: unitary whatever τ."""
    energies, vectors = jnp.linalg.eigh(_tridiagonal(alpha, beta))
    return vectors @ (jnp.exp(-1j * tau * energies) * vectors[0])


@exponential_column.defjvp
def _exponential_column_jvp(primals, tangents):
    """d exp(−iτT) = Q (Φ ∘ Q†dTQ) Q†,  Φ_ab = −iτ e^{−iτ(λ_a+λ_b)/2} sinc(τ(λ_a−λ_b)/2).

    Unlike derivatives of eigenvectors this is smooth where eigenvalues meet.
    """
    (tau, alpha, beta), (d_tau, d_alpha, d_beta) = primals, tangents
    small, change = _tridiagonal(alpha, beta), _tridiagonal(d_alpha, d_beta)
    energies, vectors = jnp.linalg.eigh(small)
    column = vectors @ (jnp.exp(-1j * tau * energies) * vectors[0])
    mean = 0.5 * (energies[:, None] + energies)
    gap = 0.5 * (energies[:, None] - energies)
    phi = -1j * tau * jnp.exp(-1j * tau * mean) * jnp.sinc(tau * gap / jnp.pi)
    slope = vectors @ ((phi * (vectors.T @ change @ vectors)) @ vectors[0])
    return column, slope - 1j * d_tau * (small @ column)


def _tridiagonal(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    return jnp.diag(alpha) + jnp.diag(beta, 1) + jnp.diag(beta, -1)
