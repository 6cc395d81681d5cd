"""Operators of a prolate spheroidal basis: small matrices along ξ and η between diagonal scalings.

    kinetic energy   Oc = D∘[A(D∘c) + (D∘c)Bᵀ],              D = [a³(ξ²−η²)]^{−1/2}
    momentum         Oc = −i D∘[(A(D∘c))∘η + ξ∘((D∘c)Bᵀ)],   A, B antisymmetric

The matrix of size N_ξN_η is never formed. A is stored by elements, whose last node is the first of
the next; complex states meet real matrices as twice as many real columns.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from zitter.bases.prolate.matrices import dense
from zitter.linalg.base import Operator, real_like

ROUNDS = 24  # of the power iteration behind `bounds`; 1 % above the largest eigenvalue by then


class Separable(Operator):
    """D(A⊗1 + 1⊗B)D: kinetic energy, with potentials that separate on the diagonals of A and B."""

    scale: jax.Array
    xi: jax.Array
    eta: jax.Array

    def __init__(self, scale: Any, xi: Any, eta: Any):
        self.scale, self.xi, self.eta = jnp.asarray(scale), jnp.asarray(xi), jnp.asarray(eta)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.scale.shape

    @property
    def hermitian(self) -> bool:
        return self.real

    def apply(self, psi: jax.Array) -> jax.Array:
        if self.real and jnp.iscomplexobj(psi):
            image = self._scaled_sum(jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1))
            return jax.lax.complex(image[:, 0], image[:, 1])
        return self._scaled_sum(psi[:, None])[:, 0]

    def _scaled_sum(self, psi: jax.Array) -> jax.Array:
        """For states as (N_ξ, planes, N_η)."""
        scale = self.scale[:, None]
        b = scale * psi
        return scale * (along_xi(self.xi, b) + along_eta(self.eta, b))

    def scaled(self, factor: Any) -> Separable:
        factor = real_like(factor, self.scale)
        return Separable(self.scale, factor * self.xi, factor * self.eta)

    def merged(self, other: Operator) -> Separable | None:
        if isinstance(other, Separable):
            return Separable(self.scale, self.xi + other.xi, self.eta + other.eta)
        return None

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """From above by |O| and a positive vector; from below by the eigenvalues of A and B, since
        ⟨c|O|c⟩ = ⟨b|A⊗1 + 1⊗B|b⟩ with |b|² ≤ |c|² max D²."""
        high = largest(jnp.abs(self.scale), jnp.abs(self.xi), jnp.abs(self.eta))
        matrix = jnp.real(by_elements(self.xi))
        lowest = [jnp.linalg.eigvalsh(m)[0] for m in (matrix, jnp.real(self.eta))]
        low = jnp.minimum(lowest[0] + lowest[1], 0.0) * jnp.max(jnp.abs(self.scale)) ** 2
        return jnp.maximum(low, -high), high

    def as_sparse(self) -> Any:
        xi, eta = sparse.csr_array(dense(np.asarray(self.xi))), np.asarray(self.eta)
        inner = sparse.kron(xi, sparse.identity(len(self.eta)))
        inner = inner + sparse.kron(sparse.identity(self.shape[0]), eta)
        scale = sparse.diags_array(np.asarray(self.scale).reshape(-1))
        return scale @ inner @ scale


class Momentum(Operator):
    """−i∂_z: the field (η(ξ²−1), ξ(1−η²)) has no divergence and ends at the edges of space, so the
    antisymmetric form needs no further term and is Hermitian to the last bit."""

    scale: jax.Array
    xi: jax.Array
    eta: jax.Array
    nodes: tuple[jax.Array, jax.Array]

    def __init__(self, scale: Any, xi: Any, eta: Any, nodes: tuple[Any, Any]):
        self.scale, self.xi, self.eta = jnp.asarray(scale), jnp.asarray(xi), jnp.asarray(eta)
        self.nodes = (jnp.asarray(nodes[0]), jnp.asarray(nodes[1]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.scale.shape

    @property
    def hermitian(self) -> bool:
        return not self._turned

    @property
    def _turned(self) -> bool:
        """Whether the matrices themselves are complex."""
        return any(jnp.iscomplexobj(x) for x in (self.scale, self.xi, self.eta))

    @property
    def dtype(self) -> Any:
        return jnp.result_type(self.scale, self.xi, jnp.complex64)

    def apply(self, psi: jax.Array) -> jax.Array:
        if self._turned or not jnp.iscomplexobj(psi):
            return -1j * self._slope(psi[:, None])[:, 0]
        slope = self._slope(jnp.stack([jnp.real(psi), jnp.imag(psi)], axis=1))
        return jax.lax.complex(slope[:, 1], -slope[:, 0])

    def _slope(self, psi: jax.Array) -> jax.Array:
        scale, (xi, eta) = self.scale[:, None], self.nodes
        b = scale * psi
        return scale * (along_xi(self.xi, b) * eta + xi[:, None, None] * along_eta(self.eta, b))

    def scaled(self, factor: Any) -> Momentum:
        factor = real_like(factor, self.scale)
        return Momentum(self.scale, factor * self.xi, factor * self.eta, self.nodes)

    def merged(self, other: Operator) -> Momentum | None:
        if isinstance(other, Momentum):
            return Momentum(self.scale, self.xi + other.xi, self.eta + other.eta, self.nodes)
        return None

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        nodes = (jnp.abs(self.nodes[0]), jnp.abs(self.nodes[1]))
        high = largest(jnp.abs(self.scale), jnp.abs(self.xi), jnp.abs(self.eta), nodes)
        return -high, high

    def as_sparse(self) -> Any:
        xi, eta = (np.asarray(x) for x in self.nodes)
        along = sparse.kron(sparse.csr_array(dense(np.asarray(self.xi))), sparse.diags_array(eta))
        along = along + sparse.kron(sparse.diags_array(xi), np.asarray(self.eta))
        scale = sparse.diags_array(np.asarray(self.scale).reshape(-1))
        return -1j * (scale @ along @ scale)


def along_xi(blocks: jax.Array, b: jax.Array) -> jax.Array:
    """A b over the first axis of (N_ξ, planes, N_η), element by element; joints add."""
    elements, n = blocks.shape[:2]
    x = b.reshape(elements, n - 1, -1)
    following = jnp.concatenate([x[1:, :1], jnp.zeros_like(x[:1, :1])])
    image = blocks @ jnp.concatenate([x, following], axis=1)
    return image[:, :-1].at[1:, 0].add(image[:-1, -1]).reshape(b.shape)


def along_eta(matrix: jax.Array, b: jax.Array) -> jax.Array:
    """b Bᵀ over the last axis."""
    return (b.reshape(-1, b.shape[-1]) @ matrix.T).reshape(b.shape)


def by_elements(blocks: jax.Array) -> jax.Array:
    """The full matrix along ξ."""
    size = blocks.shape[0] * (blocks.shape[1] - 1)
    return along_xi(blocks, jnp.eye(size, dtype=blocks.dtype)[:, None])[:, 0]


@jax.jit
def largest(
    scale: jax.Array, xi: jax.Array, eta: jax.Array, nodes: tuple[Any, Any] | None = None
) -> jax.Array:
    """A bound of the largest |eigenvalue| from the moduli of all entries: max (|O|v)/v of any v > 0
    (Collatz, Math. Z. 48, 221 (1942)), v from a few rounds of the power method."""
    left = (1.0, 1.0) if nodes is None else (nodes[1], nodes[0][:, None, None])

    def image(v):
        b = scale[:, None] * v
        return scale[:, None] * (along_xi(xi, b) * left[0] + left[1] * along_eta(eta, b))

    def improve(_, v):
        new = image(v)
        # A little of everything keeps v positive, and the quotient finite, far from the nuclei.
        return new / jnp.max(new) + 1e-3 * v

    v = jax.lax.fori_loop(0, ROUNDS, improve, jnp.ones_like(scale)[:, None])
    return jnp.max(image(v) / v)
