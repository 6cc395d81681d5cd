"""The separable part of a Hamiltonian on a product of axes: what can be inverted exactly.

    H ≈ h_x + h_y + h_z − c,     h_a = T_a + v_a(x_a)

The v_a are the mean fields of the best product state φ_x φ_y φ_z (Hartree's equations),
v_x(x) = ⟨φ_y φ_z|V|φ_y φ_z⟩ and c = 2⟨V⟩ in three dimensions. Each h_a is a small matrix with
h_a = Q_a λ_a Q_aᵀ, so that (H_sep − σ)⁻¹ is three small matrix products, a division and three
products back (Lynch, Rice and Thomas, Numer. Math. 6, 185 (1964)): the preconditioner of `LOBPCG`.
The lowest products of the columns of Q span a small space whose Ritz vectors start the iteration.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zitter import runtime
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import total
from zitter.linalg.slabs import Slabs
from zitter.linalg.spectral import along_axis
from zitter.linalg.sums import answers, diagonal_of

MEAN_FIELD_ROUNDS = 6
START_SPACE = 216  # functions in the space of the start vectors: one small dense eigenproblem


class Separable(eqx.Module):
    """Σ_a Q_a λ_a Q_aᵀ + constant, with what is needed to invert it."""

    vectors: tuple[jax.Array, ...]
    values: tuple[jax.Array, ...]
    constant: jax.Array
    missing: jax.Array  # V − V_sep where that is positive, else 0
    layout: Slabs | None  # of a grid that lies in slabs on many devices

    def symbol(self) -> jax.Array:
        """The eigenvalues, on the grid of quantum numbers."""
        values = self.values
        if self.layout is not None and not self._line:
            values = [self.layout.turned_row(v, axis) for axis, v in enumerate(values)]
        return _sum_over_axes(values) + self.constant

    @property
    def _line(self) -> bool:
        """Whether there is no second axis to cut: then all levels are on every device."""
        return len(self.vectors) == 1

    def forward(self, psi: jax.Array) -> jax.Array:
        if self.layout is None or self._line:
            psi = psi if self.layout is None else self.layout.join(psi)
            return _to_levels(psi, tuple(range(psi.ndim)), *self.vectors)
        return self.layout.forward(_to_levels, psi, *self.vectors)

    def backward(self, phi: jax.Array) -> jax.Array:
        if self.layout is None or self._line:
            psi = _from_levels(phi, tuple(range(phi.ndim)), *self.vectors)
            return psi if self.layout is None else self.layout.divide(psi)
        return self.layout.backward(_from_levels, phi, *self.vectors)

    def solve(self, rhs: jax.Array, shift: Any, floor: Any) -> jax.Array:
        """(H_sep − shift)⁻¹ rhs, eigenvalues below `floor` above the shift counted as `floor`."""
        denominator = jnp.maximum(self.symbol() - shift, floor)
        return self.backward(self.forward(rhs) / denominator)


def _to_levels(psi: jax.Array, axes: tuple[int, ...], *vectors: jax.Array) -> jax.Array:
    for axis in axes:
        psi = along_axis(vectors[axis].T, psi, axis)
    return psi


def _from_levels(phi: jax.Array, axes: tuple[int, ...], *vectors: jax.Array) -> jax.Array:
    for axis in axes:
        phi = along_axis(vectors[axis], phi, axis)
    return phi


def _sum_over_axes(rows: Any) -> Any:
    """Σ_a row_a(x_a) on the whole grid."""
    ndim = len(rows)
    return total(v.reshape([-1 if b == a else 1 for b in range(ndim)]) for a, v in enumerate(rows))


def kinetic_matrices(H: Hamiltonian) -> list[np.ndarray] | None:
    """T_a of H = Σ_a T_a + V as small real matrices, None where no part of H is such a sum.

    Parts that are none are left out: a preconditioner may be approximate.
    """
    found = answers(H.operator, lambda part: part.axis_matrices())
    return [total(along) for along in zip(*found, strict=True)] if found else None


def _kinetic(H: Hamiltonian) -> list[np.ndarray]:
    found = kinetic_matrices(H)
    assert found is not None  # `can_separate` has asked
    return found


def separate(H: Hamiltonian) -> Separable:
    """The mean-field approximation of H around the best product state."""
    kinetic, potential = _kinetic(H), diagonal_of(H.operator)
    ndim = len(kinetic)
    fields = [
        runtime.to_host(v)[: len(t)]
        for v, t in zip(_lowest_potentials(potential), kinetic, strict=True)
    ]
    densities = [_lowest(t, v) ** 2 for t, v in zip(kinetic, fields, strict=True)]
    for _ in range(MEAN_FIELD_ROUNDS if ndim > 1 else 1):
        for axis in range(ndim):
            field = _mean_field_along(axis, potential, densities)
            densities[axis] = _lowest(kinetic[axis], field) ** 2
    return separate_around(H, densities)


def separate_for(H: Hamiltonian, states: jax.Array) -> Separable:
    """The same around several states: the mean fields of their average density."""
    pairs = zip(_marginals(states), H.basis.whole, strict=True)
    return separate_around(H, [runtime.to_host(m / m.sum())[:n] for m, n in pairs])


@eqx.filter_jit
def _marginals(states: jax.Array) -> list[jax.Array]:
    """The average density of several states along each axis."""
    density, ndim = jnp.abs(states) ** 2, states.ndim
    return [jnp.sum(density, axis=tuple(b for b in range(ndim) if b != a)) for a in range(1, ndim)]


@eqx.filter_jit
def _lowest_potentials(potential: jax.Array) -> list[jax.Array]:
    """For each axis the lowest potential over the other coordinates."""
    ndim = potential.ndim
    return [jnp.min(potential, axis=tuple(b for b in range(ndim) if b != a)) for a in range(ndim)]


def separate_around(H: Hamiltonian, densities: list[np.ndarray]) -> Separable:
    """V ≈ Σ_a v_a(x_a) − (d − 1)⟨V⟩, the best such sum for weights of product form."""
    kinetic, potential = _kinetic(H), diagonal_of(H.operator)
    fields = [_mean_field_along(axis, potential, densities) for axis in range(len(kinetic))]
    mean = float(fields[-1] @ densities[-1])
    pairs = [scipy.linalg.eigh(t + np.diag(v)) for t, v in zip(kinetic, fields, strict=True)]
    constant = -(len(kinetic) - 1) * mean
    rows = [_lengthened(v, n, "edge") for v, n in zip(fields, H.shape, strict=True)]
    return Separable(
        tuple(jnp.asarray(q) for _, q in pairs),
        tuple(jnp.asarray(v) for v, _ in pairs),
        jnp.asarray(constant),
        jnp.maximum(potential - (_sum_over_axes(rows) + constant), 0),
        H.basis.slabs,
    )


def _lowest(kinetic: np.ndarray, field: np.ndarray) -> np.ndarray:
    """The ground state along one axis."""
    return scipy.linalg.eigh(kinetic + np.diag(field), subset_by_index=(0, 0))[1][:, 0]


def _mean_field_along(axis: int, potential: jax.Array, densities: list[np.ndarray]) -> np.ndarray:
    """`_mean_field` of a potential that may be padded, where there is no density."""
    padded = [_lengthened(d, n) for d, n in zip(densities, potential.shape, strict=True)]
    return runtime.to_host(_mean_field(potential, padded, axis))[: len(densities[axis])]


def _lengthened(rows: np.ndarray, length: int, mode: Any = "constant") -> np.ndarray:
    """Rows as many as the padded axis of a grid has points."""
    widths = [(0, length - len(rows))] + [(0, 0)] * (rows.ndim - 1)
    return np.pad(rows, widths, mode=mode)


@eqx.filter_jit
def _mean_field(potential: jax.Array, densities: list[Any], axis: int) -> jax.Array:
    """v_a(x_a): the potential averaged over the product density of the other axes."""
    for other in reversed(range(len(densities))):
        if other != axis:
            potential = jnp.tensordot(potential, densities[other], axes=(other, 0))
    return potential


def start_vectors(H: Hamiltonian, separable: Separable, count: int) -> jax.Array:
    """The lowest `count` Ritz vectors of H among products of the lowest functions of each axis."""
    shape = H.basis.whole
    ndim = len(shape)
    kept = [min(n, max(2, int(START_SPACE ** (1 / ndim)))) for n in shape]
    while np.prod(kept) < 2 * count and any(k < n for k, n in zip(kept, shape, strict=True)):
        kept = [min(n, 2 * k) for k, n in zip(kept, shape, strict=True)]
    kinetic = _kinetic(H)
    short = [np.asarray(q)[:, :k] for q, k in zip(separable.vectors, kept, strict=True)]
    padded = [_lengthened(q, n) for q, n in zip(short, H.shape, strict=True)]
    block = runtime.to_host(_projected(diagonal_of(H.operator), [jnp.asarray(q) for q in padded]))
    size = int(np.prod(kept))
    # [a, a', b, b', …] → [a, b, …, a', b', …]
    order = [*range(0, 2 * ndim, 2), *range(1, 2 * ndim, 2)]
    matrix = block.reshape([k for k in kept for _ in range(2)]).transpose(order).reshape(size, size)
    for axis, (t, q) in enumerate(zip(kinetic, short, strict=True)):
        factors = [np.eye(k) for k in kept]
        factors[axis] = q.T @ t @ q
        product = factors[0]
        for factor in factors[1:]:
            product = np.kron(product, factor)
        matrix = matrix + product
    _, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T), subset_by_index=(0, count - 1))
    return _expand(H.basis, jnp.asarray(vectors.T.reshape(count, *kept)), padded)


@eqx.filter_jit
def _projected(potential: jax.Array, short: list[jax.Array]) -> jax.Array:
    """⟨ab…|V|a'b'…⟩ with the pairs aa', bb', … as axes."""
    for q in short:
        n, k = q.shape
        pairs = (q[:, :, None] * q[:, None, :]).reshape(n, k * k)
        potential = jnp.tensordot(potential, pairs, axes=(0, 0))
    return potential


@eqx.filter_jit
def _expand(basis: Basis, coefficients: jax.Array, short: list[np.ndarray]) -> jax.Array:
    for axis, q in enumerate(short):
        coefficients = along_axis(jnp.asarray(q), coefficients, axis + 1)
    return basis.keep(coefficients)
