"""Operators of a prolate spheroidal basis: small matrices along ξ and η between diagonal scalings.

    kinetic energy   Oc = D∘[A(D∘c) + (D∘c)Bᵀ],              D = [a³(ξ²−η²)]^{−1/2}
    momentum         Oc = −i D∘[(A(D∘c))∘η + ξ∘((D∘c)Bᵀ)],   A, B antisymmetric

The matrix of size N_ξN_η is never formed. A is stored by elements, whose last node is the first of
the next; complex states meet real matrices as twice as many real columns. On many devices each has
some elements of A, with D = 0 in the padding.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
from jax.sharding import PartitionSpec

from zitter.bases.prolate.elements import Elements, later, sooner
from zitter.bases.prolate.matrices import dense
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.layouts import Layout

ROUNDS = 24  # of the power iteration behind `bounds`; 1 % above the largest eigenvalue by then


class Separable(Operator):
    """D(A⊗1 + 1⊗B)D: kinetic energy, with potentials that separate on the diagonals of A and B."""

    scale: jax.Array
    xi: jax.Array
    eta: jax.Array
    layout: Elements | None

    def __init__(self, scale: Any, xi: Any, eta: Any, layout: Elements | None = None):
        self.scale, self.xi, self.eta = jnp.asarray(scale), jnp.asarray(xi), jnp.asarray(eta)
        self.layout = layout

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
        return scaled_sum(self.scale, self.xi, self.eta, None, psi, self.layout)

    def scaled(self, factor: Any) -> Separable:
        factor = real_like(factor, self.scale)
        return Separable(self.scale, factor * self.xi, factor * self.eta, self.layout)

    def merged(self, other: Operator) -> Separable | None:
        if isinstance(other, Separable):
            return Separable(self.scale, self.xi + other.xi, self.eta + other.eta, self.layout)
        return None

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Elements):
            return Operator.divided(self, layout)
        return Separable(layout.divide(self.scale), layout.divide_matrix(self.xi), self.eta, layout)

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """From above by |O| and a positive vector; from below by the eigenvalues of A and B, since
        ⟨c|O|c⟩ = ⟨b|A⊗1 + 1⊗B|b⟩ with |b|² ≤ |c|² max D²."""
        high = largest(self.scale, self.xi, self.eta, None, self.layout)
        there = slice(None if self.layout is None else self.layout.count)
        matrix = jnp.real(by_elements(self.xi[there]))
        lowest = [jnp.linalg.eigvalsh(m)[0] for m in (matrix, jnp.real(self.eta))]
        low = jnp.minimum(lowest[0] + lowest[1], 0.0) * jnp.max(jnp.abs(self.scale)) ** 2
        return jnp.maximum(low, -high), high

    def as_sparse(self) -> Any:
        _require_one_device(self.layout)
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
    nodes: tuple[jax.Array, jax.Array]  # as column and row
    layout: Elements | None

    def __init__(
        self,
        scale: Any,
        xi: Any,
        eta: Any,
        nodes: tuple[Any, Any],
        layout: Elements | None = None,
    ):
        self.scale, self.xi, self.eta = jnp.asarray(scale), jnp.asarray(xi), jnp.asarray(eta)
        self.nodes = (jnp.asarray(nodes[0]), jnp.asarray(nodes[1]))
        self.layout = layout

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
        return scaled_sum(self.scale, self.xi, self.eta, self.nodes, psi, self.layout)

    def scaled(self, factor: Any) -> Momentum:
        factor = real_like(factor, self.scale)
        return Momentum(self.scale, factor * self.xi, factor * self.eta, self.nodes, self.layout)

    def merged(self, other: Operator) -> Momentum | None:
        if isinstance(other, Momentum):
            xi, eta = self.xi + other.xi, self.eta + other.eta
            return Momentum(self.scale, xi, eta, self.nodes, self.layout)
        return None

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Elements):
            return Operator.divided(self, layout)
        nodes = (layout.divide(self.nodes[0]), self.nodes[1])
        return Momentum(
            layout.divide(self.scale), layout.divide_matrix(self.xi), self.eta, nodes, layout
        )

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        high = largest(self.scale, self.xi, self.eta, self.nodes, self.layout)
        return -high, high

    def as_sparse(self) -> Any:
        _require_one_device(self.layout)
        xi, eta = (np.asarray(x).reshape(-1) for x in self.nodes)
        along = sparse.kron(sparse.csr_array(dense(np.asarray(self.xi))), sparse.diags_array(eta))
        along = along + sparse.kron(sparse.diags_array(xi), np.asarray(self.eta))
        scale = sparse.diags_array(np.asarray(self.scale).reshape(-1))
        return -1j * (scale @ along @ scale)


def _require_one_device(layout: Elements | None) -> None:
    if layout is not None:
        raise Unsupported("sparse matrices need all elements on one device")


def scaled_sum(
    scale: jax.Array,
    xi: jax.Array,
    eta: jax.Array,
    nodes: tuple[jax.Array, jax.Array] | None,
    psi: jax.Array,
    layout: Elements | None,
) -> jax.Array:
    """D∘[A(D∘ψ)∘y + x∘((D∘ψ)Bᵀ)] for states as (N_ξ, planes, N_η); x = y = 1 without `nodes`."""

    def image(scale, xi, x, psi, eta, y, _=()):
        b = scale[:, None] * psi
        along, across = along_xi(xi, b, layout), along_eta(eta, b)
        if nodes is not None:
            along, across = along * y, x[:, None] * across
        return scale[:, None] * (along + across)

    x, y = ((), ()) if nodes is None else nodes
    if layout is None:
        return image(scale, xi, x, psi, eta, y)
    return layout.over(image, PartitionSpec(layout.axis), (scale, xi, x, psi), (eta, y))


def along_xi(blocks: jax.Array, b: jax.Array, layout: Elements | None = None) -> jax.Array:
    """A b over the first axis of (N_ξ, planes, N_η), element by element; joints add."""
    elements, n = blocks.shape[:2]
    x = b.reshape(elements, n - 1, -1)
    image = blocks @ jnp.concatenate([x, sooner(x[:, :1], layout)], axis=1)
    return image[:, :-1].at[:, 0].add(later(image[:, -1], layout)).reshape(b.shape)


def along_eta(matrix: jax.Array, b: jax.Array) -> jax.Array:
    """b Bᵀ over the last axis."""
    return (b.reshape(-1, b.shape[-1]) @ matrix.T).reshape(b.shape)


def by_elements(blocks: jax.Array) -> jax.Array:
    """The full matrix along ξ."""
    size = blocks.shape[0] * (blocks.shape[1] - 1)
    return along_xi(blocks, jnp.eye(size, dtype=blocks.dtype)[:, None])[:, 0]


@eqx.filter_jit
def largest(
    scale: jax.Array,
    xi: jax.Array,
    eta: jax.Array,
    nodes: tuple[jax.Array, jax.Array] | None,
    layout: Elements | None,
) -> jax.Array:
    """A bound of the largest |eigenvalue| from the moduli of all entries: max (|O|v)/v of any v > 0
    (Collatz, Math. Z. 48, 221 (1942)), v from a few rounds of the power method."""
    scale, xi, eta, nodes = jax.tree.map(jnp.abs, (scale, xi, eta, nodes))

    def image(v):
        return scaled_sum(scale, xi, eta, nodes, v, layout)

    def improve(_, v):
        new = image(v)
        # A little of everything keeps v positive, and the quotient finite, far from the nuclei.
        return new / jnp.max(new) + 1e-3 * v

    v = jax.lax.fori_loop(0, ROUNDS, improve, jnp.ones_like(scale)[:, None])
    return jnp.max(image(v) / v)
