"""(1 + zH₀)⁻¹ of what separates, through a Kronecker sum.

    1 + zH₀ = D [A_z⊗1 + 1⊗B_z] D,    A_z = a³(ξ²−1) + zA,    B_z = a³(1−η²) + zB

B_z is diagonalized once, B_z = W β W⁻¹ (W⁻¹ and not Wᵀ: for equal charges B_z is close to pairwise
degenerate, and WᵀW is not one). What is left is one system A_z + β_k along ξ for each k. Nodes
inside an element meet other elements only through the joints: they are eliminated, the joints are
solved for, and the nodes inside follow. On many devices each has the factors of its own elements
and its rows of the inverse among the joints, and a number for each joint and k goes to all.
"""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from zitter import checks
from zitter.bases.prolate.elements import Elements, later, sooner
from zitter.bases.prolate.operators import Separable
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.resolvents import Resolvents, Solver
from zitter.linalg.sums import add, parts_of

NEGLIGIBLE = 1e-11  # of a potential in double: what its own rounding leaves over,
ROUNDING = 1e-14  # … and, of the largest V/D², that of the separation


def separate(
    operator: Operator, scale: np.ndarray, size: tuple[int, int], layout: Elements | None = None
) -> tuple[Separable | None, Operator | None]:
    """(kinetic energy with all of V that separates, the rest); `size` = (elements, their nodes).

    `scale` is that of the whole basis, on which potentials of many devices are separated as well.
    """
    spread = lambda part: part if layout is None else part.divided(layout)  # noqa: E731
    known = [part for part in parts_of(operator) if isinstance(part, Separable)]
    rest = [part for part in parts_of(operator) if not isinstance(part, Separable | Diagonal)]
    for part in parts_of(operator):
        if isinstance(part, Diagonal):
            values = part.full() if layout is None else layout.join(part.full())
            # Separated in double; in single precision steps stay there.
            p, q, left = (x.astype(part.dtype) for x in separated(values, scale))
            # On the diagonal of each element, whose last node is counted in the next.
            along = jnp.pad(p.reshape(size[0], -1), ((0, 0), (0, 1)))[:, :, None] * np.eye(size[1])
            known.append(spread(Separable(scale, along, jnp.diag(q))))
            if checks.is_traced(left) or np.any(left):
                rest.append(spread(Diagonal(left, scale.shape)))
    found = add(known) if known else None
    assert found is None or isinstance(found, Separable)
    return found, add(rest) if rest else None


def separated(values: Any, scale: np.ndarray) -> tuple[Any, Any, Any]:
    """V = D²∘(p_i + q_k) + rest, the rest as small as it can be in the mean square.

    A Coulomb potential of two charges in the foci leaves none: V/D² = −a²[(Z₁+Z₂)ξ + (Z₂−Z₁)η].
    """
    xp: Any = jnp if checks.is_traced(values) else np  # NumPy needs no compilation
    values = xp.asarray(values)
    own = max(NEGLIGIBLE, 8 * float(jnp.finfo(values.dtype).eps))
    weights = np.abs(scale) ** 4
    rows = weights / np.sum(weights, axis=1, keepdims=True)
    # Without the p_i: normal equations for q, to which a constant may be added.
    normal = np.diag(np.sum(weights, axis=0)) - weights.T @ rows
    inverse = np.linalg.pinv(normal, hermitian=True)
    left = values / scale**2
    p, q = xp.zeros(len(left), left.dtype), xp.zeros(left.shape[1], left.dtype)
    for _ in range(3):  # the equations lose digits, which the repetition brings back
        mean = xp.sum(rows * left, axis=1)
        step = inverse @ xp.sum(weights * (left - mean[:, None]), axis=0)
        p, q = p + mean - rows @ step, q + step
        left = values / scale**2 - p[:, None] - q
    product = xp.abs(values / scale**2)
    rounding = own * product + ROUNDING * xp.max(product)
    return p, q, xp.where(xp.all(xp.abs(left) <= rounding), 0.0, left * scale**2)


class Spheroidal(Resolvents):
    """The family 1 + zH₀ of one separable H₀."""

    operator: Separable
    weights: tuple[jax.Array, jax.Array]  # a³(ξ²−1) in elements, a³(1−η²)

    def at(self, z: Any) -> Solver:
        precision = jnp.promote_types(jnp.asarray(z).dtype, jnp.complex64)
        z = jnp.asarray(z, jnp.complex128)  # factors are made once: digits are cheap here
        operator, layout = self.operator, self.operator.layout
        eta = jnp.diag(self.weights[1]) + z * operator.eta
        values, vectors = jnp.linalg.eig(eta)
        place = np.arange(operator.xi.shape[1] - 1)

        def condensed(xi, weights, z, values, _=()):
            xi = (z * xi).at[:, place, place].add(weights)
            return jax.vmap(lambda shift: _condensed(xi, shift, layout))(values)

        if layout is None:
            inside = condensed(operator.xi, self.weights[0], z, values)
        else:
            by_k = PartitionSpec(None, layout.axis)
            given = (operator.xi, self.weights[0])
            inside = layout.over(condensed, by_k, given, (z, values))
        scale = jnp.where(operator.scale == 0, 0, 1 / operator.scale)  # nothing in the padding
        factors = (scale, vectors.T, jnp.linalg.inv(vectors).T, inside, layout)
        return jax.tree.map(lambda x: x.astype(precision), _Factors(*factors))


class _Condensed(eqx.Module):
    """One system along ξ: nodes inside the elements, and the joints (the first node of each)."""

    inverse: jax.Array  # of what couples the nodes inside one element, (elements, n−2, n−2)
    left: jax.Array  # what a joint does inside the element after it, (elements, n−2)
    right: jax.Array  # … inside the element before it
    joints: jax.Array  # the inverse among the joints, (elements, elements)

    def solve(self, image: jax.Array, layout: Elements | None) -> jax.Array:
        rows = image.reshape(len(self.left), -1)
        inner = rows[:, 1:]
        # The matrix is symmetric: what joints do inside, the inside does to joints.
        pull = jnp.sum(self.right * inner, axis=1)
        joint = rows[:, 0] - jnp.sum(self.left * inner, axis=1) - later(pull, layout)
        joint = self.joints @ (joint if layout is None else layout.gathered(joint))
        following = sooner(joint, layout)
        inner = jnp.sum(self.inverse * inner[:, None, :], axis=2)
        inner = inner - self.left * joint[:, None] - self.right * following[:, None]
        return jnp.concatenate([joint[:, None], inner], axis=1).reshape(-1)


def _condensed(blocks: jax.Array, shift: jax.Array, layout: Elements | None) -> _Condensed:
    """Factors of the matrix with these element blocks plus a number."""
    n = blocks.shape[1]
    inverse = jax.vmap(_inverse)(blocks[:, 1:-1, 1:-1] + shift * jnp.eye(n - 2))
    left, right = (jnp.sum(inverse * blocks[:, 1:-1, k][:, None], axis=2) for k in (0, -1))
    own = blocks[:, 0, 0] - jnp.sum(blocks[:, 0, 1:-1] * left, axis=1) + shift
    before = blocks[:, -1, -1] - jnp.sum(blocks[:, -1, 1:-1] * right, axis=1)
    coupling = blocks[:, 0, -1] - jnp.sum(blocks[:, 0, 1:-1] * right, axis=1)
    ties = (own + later(before, layout), coupling)
    ties = ties if layout is None else map(layout.gathered, ties)
    joints = _inverse(_tridiagonal(*ties))
    if layout is None:
        return _Condensed(inverse, left, right, joints)
    factors = _Condensed(inverse, left, right, layout.own(joints))
    return jax.tree.map(layout.zero_outside, factors)


def _tridiagonal(own: jax.Array, coupling: jax.Array) -> jax.Array:
    """Among the joints; what the last element has is a coupling to the wall."""
    return jnp.diag(own) + jnp.diag(coupling[:-1], 1) + jnp.diag(coupling[:-1], -1)


def _inverse(matrix: jax.Array) -> jax.Array:
    """M⁻¹ by sweeps over the pivots, and one step of Newton's method for the digits they lose.

    Not by LAPACK: on the CPU two calls for many matrices at a time, as the factors for two values
    of z are, may wait for each other's threads for ever (jaxlib 0.10).
    """

    def sweep(j, m):
        row, column = m[j] / m[j, j], m[:, j]
        swept = (m - column[:, None] * row).at[j].set(row).at[:, j].set(-column / m[j, j])
        return swept.at[j, j].set(1 / m[j, j])

    found = jax.lax.fori_loop(0, len(matrix), sweep, matrix)
    return 2 * found - _product(found, _product(matrix, found))


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    """ab term by term: of many small matrices a library is handed each alone, which takes longer
    and, on the CPU, as much memory as they do."""
    terms = [a[:, k, None] * b[k] for k in range(len(b))]
    return functools.reduce(jnp.add, terms)


class _Factors(Solver):
    scale: jax.Array  # 1/D
    vectors: jax.Array  # Wᵀ
    inverse: jax.Array  # W⁻ᵀ
    inside: _Condensed  # one for each k
    layout: Elements | None

    def solve(self, image: jax.Array) -> jax.Array:
        layout = self.layout

        def solved(scale, image, vectors, inverse, inside):
            columns = ((scale * image) @ inverse).T
            rows = jax.vmap(lambda one, column: one.solve(column, layout))(inside, columns)
            return scale * (rows.T @ vectors)

        mine, shared = (self.scale, image), (self.vectors, self.inverse)
        if layout is None:
            return solved(*mine, *shared, self.inside)
        return layout.over(solved, PartitionSpec(layout.axis), mine, shared, self.inside)
