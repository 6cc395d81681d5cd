"""exp(−iτO)ψ in the Krylov space of ψ (Park & Light, J. Chem. Phys. 85, 5870 (1986))."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.linalg.base import Operator, real_like
from zitter.propagators.base import (
    ErrorSum,
    Exponential,
    require_orthonormal,
    scheme_or_default,
)
from zitter.propagators.schemes import Midpoint, TimeScheme

Apply = Callable[[jax.Array], jax.Array]


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

    def long_step(self, H):
        return True

    def exponential(self, operator, psi, tau, state):
        found, error = evolved(operator, psi, real_like(tau, psi), order=self.order)
        return found, state.plus(error)

    def report(self, state):
        return {"error_estimate": state.total, "order": self.order}


@eqx.filter_custom_jvp
def evolved(operator: Operator, psi: jax.Array, tau: jax.Array, *, order: int):
    """(e^{−iτO}ψ, an estimate of its error)."""
    times = jnp.stack([tau])
    states, error = at_times(operator.apply, operator.hermitian, psi, times, order)
    return states[0], error


@evolved.def_jvp
def _derivative(primals, tangents, *, order):
    """d(e^{−iτO}ψ) = e^{−iτO}dψ − i ∫₀^τ ds e^{−i(τ−s)O} dO e^{−isO}ψ − i dτ O e^{−iτO}ψ

    The derivative of the recurrence itself is lost where the space of ψ is invariant under O, which
    light would leave: at an eigenstate without field. It would also have to remember all vectors.
    The integral is Gauss', and each vector has a space of its own. (The derivative of this one
    leaves out that of O in the outer exponential.)
    """
    operator, psi, tau = primals
    d_operator, d_psi, d_tau = tangents
    result, error = evolved(operator, psi, tau, order=order)
    change = jnp.zeros_like(psi) if d_psi is None else d_psi.astype(psi.dtype)
    passed: Any = 0.0
    if any(eqx.is_array(leaf) for leaf in jax.tree.leaves(d_operator)):
        nodes, weights = np.polynomial.legendre.leggauss(max(2, order // 3))
        places = [real_like(0.5 * (x + 1), psi) for x in nodes]
        times = tau * jnp.stack(places)
        states, _ = at_times(operator.apply, operator.hermitian, psi, times, order)
        for place, weight, state in zip(places, 0.5 * weights, states, strict=True):
            _, moved = eqx.filter_jvp(
                lambda o, state=state: o.apply(state), (operator,), (d_operator,)
            )
            change = _carried(operator, change, (place - passed) * tau, order)
            change = change - 1j * (real_like(weight, psi) * tau) * moved.astype(psi.dtype)
            passed = place
    change = _carried(operator, change, (1 - passed) * tau, order)
    if d_tau is not None:
        change = change - 1j * d_tau * operator.apply(result)
    return (result, error), (change.astype(psi.dtype), jnp.zeros_like(error))


def _carried(operator: Operator, change: jax.Array, tau: jax.Array, order: int) -> jax.Array:
    """e^{−iτO} as a linear map whose transpose is e^{−iτOᵀ}: none of the recurrence's steps is
    linear, though their result is. JAX knows such maps as solutions of linear equations."""

    def transposed(image: jax.Array) -> jax.Array:
        if operator.hermitian:
            return jnp.conj(operator.apply(jnp.conj(image)))
        return jax.linear_transpose(operator.apply, image)(image)[0]

    def through(apply: Apply) -> Any:
        times = jnp.stack([tau])
        return lambda _, b: at_times(apply, operator.hermitian, b, times, order)[0][0]

    return jax.lax.custom_linear_solve(
        lambda x: x, change, through(operator.apply), through(transposed)
    )


def at_times(
    apply: Apply, hermitian: bool, psi: jax.Array, times: jax.Array, order: int
) -> tuple[jax.Array, jax.Array]:
    """e^{−iτO}ψ for each τ of a list, from one space, and the error at the last."""
    m = min(order, psi.size)
    if hermitian:
        vectors, alpha, beta, norm = lanczos_basis(apply, psi, m)
        # In double, which costs nothing for so small a matrix: where its eigenvectors are not quite
        # orthogonal, each step loses norm.
        exact = (alpha.astype(jnp.float64), beta[:-1].astype(jnp.float64))
        columns = [exponential_column(tau.astype(jnp.float64), *exact) for tau in times]
        last = beta[-1]
    else:
        vectors, h, norm = arnoldi_basis(apply, psi, m)
        columns = [jax.scipy.linalg.expm(-1j * tau * h[:m])[:, 0] for tau in times]
        last = jnp.abs(h[m, m - 1])
    error = last * jnp.abs(columns[-1][-1] * times[-1])
    columns = norm * jnp.stack(columns).astype(psi.dtype)
    states = jnp.tensordot(columns, vectors, axes=1)
    return states.astype(psi.dtype), error


def lanczos_basis(apply: Apply, psi: jax.Array, m: int):
    """m orthonormal vectors, diagonal α and side diagonal β of the projection, and ‖ψ‖.

    O q_j = β_{j−1} q_{j−1} + α_j q_j + β_j q_{j+1}
    """
    norm = jnp.sqrt(jnp.real(jnp.vdot(psi, psi)))

    def extend(carry, _):
        previous, current, beta, scale = carry
        w = apply(current) - beta * previous
        alpha = jnp.real(jnp.vdot(current, w))
        w = w - alpha * current
        following, beta, scale = _normalized(w, jnp.maximum(scale, jnp.abs(alpha)))
        return (current, following, beta, scale), (current, alpha, beta)

    zero = jnp.zeros_like(norm)
    start = (jnp.zeros_like(psi), psi / _or_one(norm), zero, zero)
    _, (vectors, alpha, beta) = jax.lax.scan(extend, start, length=m)
    return vectors, alpha, beta, norm


def arnoldi_basis(apply: Apply, psi: jax.Array, m: int):
    """m orthonormal vectors, the projection's m+1 rows h (the last one beyond it), and ‖ψ‖."""
    norm = jnp.sqrt(jnp.real(jnp.vdot(psi, psi)))
    flat = psi.reshape(-1)

    def extend(carry, j):
        vectors, scale = carry  # rows not yet filled are zero, and add nothing below
        w = apply(vectors[j].reshape(psi.shape)).reshape(-1)
        column = jnp.zeros(m + 1, psi.dtype)
        for _ in range(2):  # Gram–Schmidt, twice: the second round removes rounding of the first
            overlaps = vectors.conj() @ w
            w = w - overlaps @ vectors
            column = column + overlaps
        following, beta, scale = _normalized(w, jnp.maximum(scale, jnp.max(jnp.abs(column))))
        return (vectors.at[j + 1].set(following), scale), column.at[j + 1].set(beta)

    start = jnp.zeros((m + 1, flat.size), psi.dtype).at[0].set(flat / _or_one(norm))
    (vectors, _), columns = jax.lax.scan(extend, (start, jnp.zeros_like(norm)), jnp.arange(m))
    return vectors[:m].reshape(m, *psi.shape), columns.T, norm


def _or_one(norm: jax.Array) -> jax.Array:
    """A state may be zero where it is the derivative of another."""
    return jnp.where(norm > 0, norm, 1)


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
