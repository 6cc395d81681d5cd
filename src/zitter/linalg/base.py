"""Linear maps on coefficient arrays.

`apply(psi)` is the contract, `as_matrix()` the universal test oracle. What a method may rely on is
said by tags (`hermitian`, `bounded_below`) and by the operator's type; an operator that cannot be
written in a requested form refuses with the reason.
"""

from __future__ import annotations

import abc
import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.remade import Remade

if TYPE_CHECKING:
    from zitter.linalg.banded import Banded
    from zitter.linalg.layouts import Layout
    from zitter.linalg.neighbors import Neighbors


class Unsupported(checks.ZitterError, TypeError):
    """An operator or basis that a method cannot treat; the text says why and what would do."""


class Operator(eqx.Module):
    """A linear map between arrays of `shape`."""

    shape: eqx.AbstractVar[tuple[int, ...]]

    @property
    @abc.abstractmethod
    def hermitian(self) -> bool:
        """Whether O† = O in the plain inner product of coefficient arrays."""

    @property
    def bounded_below(self) -> bool:
        """Whether the spectrum has a floor as the basis grows (false for Dirac)."""
        return True

    @abc.abstractmethod
    def apply(self, psi: jax.Array) -> jax.Array:
        """Oψ."""

    @abc.abstractmethod
    def scaled(self, factor: Any) -> Operator:
        """factor · O, of the same kind."""

    @abc.abstractmethod
    def merged(self, other: Operator) -> Operator | None:
        """self + other as one operator of this kind, or None if they do not combine."""

    @abc.abstractmethod
    def bounds(self) -> tuple[jax.Array, jax.Array]:
        """Numbers (low, high) that enclose the spectrum of a Hermitian operator."""

    def strength(self) -> jax.Array:
        """A bound of |⟨ψ|O|ψ⟩|/⟨ψ|ψ⟩, here for orthonormal coefficients."""
        parts = [self] if self.hermitian else [self, self.scaled(1j)]
        return total(jnp.maximum(*map(jnp.abs, part.bounds())) for part in parts)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def as_matrix(self) -> jax.Array:
        """The dense matrix, by applying the operator to every unit vector."""
        unit = jnp.eye(self.size, dtype=self.dtype).reshape(self.size, *self.shape)
        columns = jax.lax.map(self.apply, unit, batch_size=min(self.size, 256))
        return columns.reshape(self.size, self.size).T

    def added_to(self, matrix: jax.Array) -> jax.Array:
        """matrix + O, for building a dense sum piece by piece."""
        return matrix + self.as_matrix()

    def as_banded(self) -> Banded:
        raise Unsupported(
            f"{type(self).__name__} has no banded matrix; "
            "a banded method needs a 1D grid with zero boundary and Kinetic(order=2, 4, 6 or 8)"
        )

    def as_sparse(self) -> Any:
        """The matrix in SciPy's sparse form, for what is factorized on the host."""
        raise Unsupported(f"{type(self).__name__} has no sparse matrix")

    def axis_matrices(self) -> list[np.ndarray]:
        """The real parts of T_a in O = Σ_a T_a, each a matrix along one axis of coefficients."""
        raise Unsupported(f"{type(self).__name__} is not a sum of matrices along the axes")

    def inverse_masses(self, spacing: Sequence[float]) -> np.ndarray:
        """1/m along each axis of a lattice: twice the coefficient of k² at long waves."""
        raise Unsupported(f"{type(self).__name__} has no mass")

    def links(self) -> Neighbors | None:
        """The rows of ψ that each row of Oψ is made of; None where it may be all of them."""
        return None

    def kept(self, rows: np.ndarray) -> Operator:
        """O between some rows, which are linked to no others."""
        raise Unsupported(f"{type(self).__name__} cannot be cut to some rows")

    def divided(self, layout: Layout) -> Operator:
        """The same on arrays that lie on many devices; what is zero in the padding stays so."""
        raise Unsupported(
            f"{type(self).__name__} cannot be divided over the mesh axis {layout.axis!r}"
        )

    @property
    def dtype(self) -> Any:
        """The dtype of Oψ for a real ψ."""
        leaves = [x for x in jax.tree.leaves(self) if eqx.is_inexact_array(x)]
        return jnp.result_type(*leaves) if leaves else jnp.float64

    @property
    def real(self) -> bool:
        """Whether the matrix is real."""
        return not jnp.issubdtype(self.dtype, jnp.complexfloating)

    def astype(self, real_dtype: Any) -> Operator:
        return cast_reals(self, real_dtype)

    def __add__(self, other: Operator) -> Operator:
        from zitter.linalg.sums import add

        return add([self, other])

    def __rmul__(self, factor: Any) -> Operator:
        return self.scaled(factor)


def one_axis(operator: Operator) -> list[np.ndarray]:
    """`axis_matrices` of a matrix on a line, which is its own."""
    if len(operator.shape) == 1:
        return [np.real(np.asarray(operator.as_matrix()))]
    return Operator.axis_matrices(operator)


class Solver(Remade):
    """Factors of one matrix M."""

    @abc.abstractmethod
    def solve(self, image: jax.Array) -> jax.Array:
        """M⁻¹ of what an operator made of a state."""


def total(terms: Iterable[Any]) -> Any:
    """a + b + …, of at least one term (Python's `sum` would start from the number 0)."""
    return functools.reduce(operator.add, terms)


def cast_reals(tree: Any, real_dtype: Any) -> Any:
    """Every floating leaf of a pytree in the given precision; complex leaves follow."""
    real_dtype = np.dtype(real_dtype)
    complex_dtype = np.result_type(real_dtype, np.complex64)

    def cast(leaf):
        if not eqx.is_inexact_array(leaf):
            return leaf
        wanted = complex_dtype if jnp.issubdtype(leaf.dtype, jnp.complexfloating) else real_dtype
        return jnp.asarray(leaf).astype(wanted)

    return jax.tree.map(cast, tree)


def keeps_hermitian(factor: Any) -> bool:
    """Whether factor · O is Hermitian when O is: a factor of complex type may turn it."""
    return not jnp.iscomplexobj(factor)


def real_like(value: Any, array: Any) -> jax.Array:
    """A scalar cast to the real precision of `array`, so that it does not promote it."""
    wanted = jnp.finfo(jnp.result_type(array)).dtype
    value = jnp.asarray(value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        return value.astype(jnp.result_type(wanted, jnp.complex64))
    return value.astype(wanted)
