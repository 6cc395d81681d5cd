"""Finite differences on a uniform grid: (Oψ)_i = Σ_axes Σ_k c_k ψ_{i+k}.

The padded copy is kept from being fused away (`optimization_barrier`): reading plain shifted
slices of it lets the CPU vectorise, and is two to three times faster than the fused form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse

from zitter.linalg.banded import Banded
from zitter.linalg.base import Operator, Unsupported, keeps_hermitian, real_like, total
from zitter.linalg.layouts import Layout
from zitter.linalg.slabs import Slabs


class Stencil(Operator):
    """One row of 2p+1 coefficients for each axis, for zero or periodic boundary."""

    coefficients: jax.Array  # (axes, 2p + 1)
    shape: tuple[int, ...] = eqx.field(static=True)
    periodic: bool = eqx.field(static=True)
    assumed_hermitian: bool = eqx.field(static=True)
    layout: Slabs | None

    def __init__(
        self,
        coefficients: Any,
        shape: tuple[int, ...],
        periodic: bool,
        assumed_hermitian: bool = True,
        layout: Slabs | None = None,
    ):
        """A symmetric real or an antisymmetric imaginary row makes the operator Hermitian."""
        self.coefficients = jnp.asarray(coefficients)
        self.shape = shape
        self.periodic = periodic
        self.assumed_hermitian = assumed_hermitian
        self.layout = layout  # of a grid that lies in slabs on many devices

    @property
    def half_width(self) -> int:
        return self.coefficients.shape[1] // 2

    @property
    def hermitian(self) -> bool:
        return self.assumed_hermitian

    def apply(self, psi: jax.Array) -> jax.Array:
        p, layout = self.half_width, self.layout
        mode = "wrap" if self.periodic else "constant"
        if layout is None:
            return _differences(self.coefficients, psi, jnp.pad(psi, p, mode=mode))

        def local(slab, coefficients):
            wide = layout.with_halo(slab, p, self.periodic)
            padded = jnp.pad(wide, [(0, 0)] + [(p, p)] * (slab.ndim - 1), mode=mode)
            return layout.without_padding(_differences(coefficients, slab, padded))

        return layout.local(local, psi, self.coefficients)

    def divided(self, layout: Layout) -> Operator:
        if not isinstance(layout, Slabs):
            return Operator.divided(self, layout)
        layout.check_halo(self.half_width)
        hermitian = self.assumed_hermitian
        return Stencil(self.coefficients, layout.shape, self.periodic, hermitian, layout)

    def scaled(self, factor: Any) -> Stencil:
        coefficients = real_like(factor, self.coefficients) * self.coefficients
        hermitian = self.assumed_hermitian and keeps_hermitian(factor)
        return Stencil(coefficients, self.shape, self.periodic, hermitian, self.layout)

    def merged(self, other: Operator) -> Stencil | None:
        if not isinstance(other, Stencil) or other.periodic != self.periodic:
            return None
        p = max(self.half_width, other.half_width)
        mine, its = (
            jnp.pad(s.coefficients, ((0, 0), (p - s.half_width, p - s.half_width)))
            for s in (self, other)
        )
        both = self.assumed_hermitian and other.assumed_hermitian
        return Stencil(mine + its, self.shape, self.periodic, both, self.layout)

    def symbol(self, axis: int, theta: Any) -> jax.Array:
        """Σ_k c_k e^{ikθ}, real for a Hermitian row: the eigenvalue on a plane wave."""
        p = self.half_width
        waves = np.exp(1j * np.outer(theta, np.arange(-p, p + 1)))
        return jnp.real(waves @ self.coefficients[axis])

    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """The extremes of the symbol on a fine set of plane waves, summed over the axes."""
        theta = np.linspace(-np.pi, np.pi, 2049)
        values = [self.symbol(axis, theta) for axis in range(len(self.shape))]
        low, high = total(v.min() for v in values), total(v.max() for v in values)
        margin = 1e-6 * (high - low)  # the fine set may miss the very extreme
        return low - margin, high + margin

    def as_banded(self) -> Banded:
        if self.layout is not None:
            raise Unsupported("banded methods need the whole line on one device")
        if len(self.shape) != 1:
            raise Unsupported(
                f"banded matrices need a 1D basis, but this grid has {len(self.shape)} axes"
            )
        if self.periodic:
            raise Unsupported("banded methods need the boundary 'zero', but this grid is periodic")
        n, p = self.shape[0], self.half_width
        j, k = np.arange(n), np.arange(-p, p + 1)[:, None]
        inside = (j + k >= 0) & (j + k < n)
        bands = jnp.where(inside, self.coefficients[0][:, None], 0)
        return Banded(bands, self.assumed_hermitian)

    def as_sparse(self) -> Any:
        if self.layout is not None:
            raise Unsupported("sparse matrices need the whole grid on one device")
        return total(self._sparse_along(axis) for axis in range(len(self.shape)))

    def _sparse_along(self, axis: int) -> Any:
        """The differences along one axis; the points before and after it stay what they are."""
        p, n = self.half_width, self.shape[axis]
        steps = np.arange(-p, p + 1)
        row = np.asarray(self.coefficients)[axis]
        if self.periodic:
            steps, row = np.concatenate([steps - n, steps, steps + n]), np.tile(row, 3)
        inside = np.abs(steps) < n
        lines = [c * np.ones(n - abs(k)) for k, c in zip(steps[inside], row[inside], strict=True)]
        matrix = sparse.diags(lines, steps[inside].tolist(), shape=(n, n))  # type: ignore[arg-type]
        before = sparse.identity(math.prod(self.shape[:axis]))
        after = sparse.identity(math.prod(self.shape[axis + 1 :]))
        return sparse.kron(sparse.kron(before, matrix), after)

    def axis_matrices(self) -> list[np.ndarray]:
        p, matrices = self.half_width, []
        rows = np.real(np.asarray(self.coefficients, dtype=np.complex128))
        shape = self.shape if self.layout is None else self.layout.whole
        for row, n in zip(rows, shape, strict=True):
            matrix = total(row[p + k] * np.eye(n, k=k) for k in range(-p, p + 1))
            if self.periodic:
                matrix = matrix + total(
                    row[p + k] * (np.eye(n, k=k - n) + np.eye(n, k=k + n)) for k in range(-p, p + 1)
                )
            matrices.append(matrix)
        return matrices

    def inverse_masses(self, spacing: Sequence[float]) -> np.ndarray:
        offsets = np.arange(-self.half_width, self.half_width + 1)
        return -np.real(np.asarray(self.coefficients)) @ offsets**2 * np.asarray(spacing) ** 2


def _differences(coefficients: jax.Array, psi: jax.Array, padded: jax.Array) -> jax.Array:
    """Σ_axes Σ_k c_k ψ_{i+k}, from ψ with p points more on every side."""
    p = coefficients.shape[1] // 2
    padded = jax.lax.optimization_barrier(padded)
    inner = [slice(p, p + n) for n in psi.shape]
    result = jnp.sum(coefficients[:, p]) * psi
    for axis, n in enumerate(psi.shape):
        for k in (*range(-p, 0), *range(1, p + 1)):
            window = list(inner)
            window[axis] = slice(p + k, p + k + n)
            result = result + coefficients[axis, p + k] * padded[tuple(window)]
    return result


def second_derivative(order: int) -> np.ndarray:
    """Central weights of d²/dx² at unit spacing, error O(h^order), order 2, 4, 6 or 8.

    c_k = 2(−1)^{k+1} (p!)² / (k² (p−k)! (p+k)!),  c_0 = −2 Σ c_k,  p = order/2.
    """
    p = order // 2
    weights = np.zeros(order + 1)
    for k in range(1, p + 1):
        ratio = np.prod([(p - j) / (p + k - j) for j in range(k)])  # (p!)²/((p−k)!(p+k)!)
        weights[p + k] = weights[p - k] = 2 * (-1) ** (k + 1) * ratio / k**2
    weights[p] = -weights.sum()
    return weights


def first_derivative(order: int) -> np.ndarray:
    """Central weights of d/dx at unit spacing: c_k = (−1)^{k+1} (p!)² / (k (p−k)! (p+k)!)."""
    p = order // 2
    weights = np.zeros(order + 1)
    for k in range(1, p + 1):
        ratio = np.prod([(p - j) / (p + k - j) for j in range(k)])
        weights[p + k] = (-1) ** (k + 1) * ratio / k
        weights[p - k] = -weights[p + k]
    return weights
