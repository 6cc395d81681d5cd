"""The contract of every laser field, and fields along one fixed direction.

A(t) is the only thing a field defines. E(t) = −dA/dt is its derivative by forward differentiation,
so the two gauges see the same pulse by construction.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zitter import checks, runtime
from zitter.fields import polarization as directions

if TYPE_CHECKING:
    from zitter.fields.sum import FieldSum

RESIDUAL_SHARE = 1e-4  # of the largest A: what may be left behind by rounding and tables

NUMBERS = (jax.Array, np.ndarray, np.generic, float, int)


class Field(eqx.Module):
    """A laser field in atomic units, in dipole approximation.

    E(t) = 0 outside 0 ≤ t ≤ `duration`; A(t) = 0 before, and constant (`residual_vector_potential`)
    after. `t` may be a number, an array or a traced value; results have its dtype.
    """

    # Names of what may be optimized without being named; sums have those of their fields.
    free: ClassVar[Any] = ()
    # NumPy scalars then leave `np.float64(2) * pulse` to `__rmul__`.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def duration(self) -> Any:
        """The time at which the field is over, delays included."""

    @property
    def kinks(self) -> tuple[Any, ...]:
        """Times at which the field or one of its derivatives jumps."""
        return (self.duration,)

    @property
    @abstractmethod
    def polarization(self) -> tuple[float, ...] | None:
        """Unit vector of the (major) axis; None: along the only axis of a 1D grid, else z."""

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether the scalar component along `polarization` is the whole field."""

    @abstractmethod
    def _potential(self, t: Array) -> Array:
        """A(t) along the polarization axis, in the dtype of `t`."""

    @abstractmethod
    def _potential_xyz(self, t: Array) -> Array:
        """A(t) as a vector in the last axis."""

    @abstractmethod
    def describe(self) -> str:
        """The numbers people quote: peak intensity, wavelength, duration, …"""

    def vector_potential(self, t: Any) -> Float[Array, "*times"]:
        """A(t) along `polarization` (for elliptic light: the component on the major axis)."""
        t, field = self._in_dtype_of(t)
        return field._potential(t)

    def electric_field(self, t: Any) -> Float[Array, "*times"]:
        """E(t) = −dA/dt along `polarization`."""
        t, field = self._in_dtype_of(t)
        return -_slope(field._potential, t)

    def vector_potential_xyz(self, t: Any) -> Float[Array, "*times 3"]:
        """A(t) as Cartesian vectors."""
        t, field = self._in_dtype_of(t)
        return field._potential_xyz(t)

    def electric_field_xyz(self, t: Any) -> Float[Array, "*times 3"]:
        """E(t) = −dA/dt as Cartesian vectors."""
        t, field = self._in_dtype_of(t)
        return -_slope(field._potential_xyz, t)

    @property
    def residual_vector_potential(self) -> Array:
        """A(`duration`) along `polarization`: zero for light that propagates, −∫E dt in general.

        What is left shifts every momentum measured after the pulse. Not a number for a field
        that never ends.
        """
        return self.vector_potential(self.duration)

    @property
    def residual_vector_potential_xyz(self) -> Array:
        """A(`duration`) as a Cartesian vector: all that is left of light that turns."""
        return self.vector_potential_xyz(self.duration)

    @property
    def residual_share(self) -> float:
        """|A(`duration`)| over the largest |A(t)|, for a pulse that ends and is not traced."""
        A = self.vector_potential_xyz(np.linspace(0.0, float(self.duration), 2049))
        peak = float(np.max(np.linalg.norm(A, axis=-1)))
        left = float(np.linalg.norm(self.residual_vector_potential_xyz))
        return left / peak if peak > 0 else 0.0

    def scaled(self, factor: Any) -> Field:
        """The same pulse with A and E times a factor."""
        return factor * self

    def __add__(self, other: Field) -> FieldSum:
        from zitter.fields.sum import FieldSum  # a sum is itself a Field

        return FieldSum((self, other), (1.0, 1.0)) if isinstance(other, Field) else NotImplemented

    def __rmul__(self, factor: Any) -> FieldSum:
        from zitter.fields.sum import FieldSum

        return FieldSum((self,), (factor,))

    def __mul__(self, factor: Any) -> FieldSum:
        return self.__rmul__(factor)

    def __neg__(self) -> FieldSum:
        return self.__rmul__(-1.0)

    def __sub__(self, other: Field) -> FieldSum:
        return self + (-other) if isinstance(other, Field) else NotImplemented

    def __repr__(self) -> str:
        # JAX and equinox also fill modules with placeholders, and print those in their errors.
        numbers = all(isinstance(leaf, NUMBERS) for leaf in jax.tree.leaves(self))
        return self.describe() if numbers else f"<{type(self).__name__}>"

    def _in_dtype_of(self, t: Any) -> tuple[Array, Field]:
        runtime.settings()  # a plain number is a double, whether or not a basis was made before
        # Parameters are float64; without the cast they would promote single-precision runs.
        t = jnp.asarray(t)
        if not jnp.issubdtype(t.dtype, jnp.floating):
            t = t.astype(jnp.result_type(float))
        return t, jax.tree.map(lambda leaf: jnp.asarray(leaf, t.dtype), self)


class LinearField(Field):
    """A field along one fixed direction."""

    axis: eqx.AbstractVar[tuple[float, ...] | None]

    @property
    def polarization(self) -> tuple[float, ...] | None:
        return self.axis

    @property
    def is_linear(self) -> bool:
        return True

    def _potential_xyz(self, t: Array) -> Array:
        direction = jnp.asarray(directions.major_axis(self.axis), t.dtype)
        return self._potential(t)[..., None] * direction


def held(s: Array, length: Array) -> Array:
    """`s` kept within [0, length]: whatever is computed from it is constant outside, slope zero.

    Unlike `jnp.clip` the slope is 1, not 1/2, on the edges themselves.
    """
    return jnp.where(s < 0, 0.0, jnp.where(s > length, length, s))


def check_beginning(key: str, potential: np.ndarray) -> None:
    """Refuse samples of A that would jump from the zero before the pulse."""
    if abs(potential[0]) > RESIDUAL_SHARE * np.max(np.abs(potential)):
        raise checks.InputError(
            key, f"must begin at zero, as A is before a pulse, but begins at {potential[0]:g}"
        )


def shown(value: Any, factor: float = 1.0) -> str:
    """Four digits of a parameter; traced and batched parameters have no number to show."""
    if checks.is_traced(value):
        return "traced"
    return f"{float(value) * factor:.4g}" if np.ndim(value) == 0 else f"[{np.size(value)} values]"


def _slope(function: Any, t: Array) -> Array:
    return jax.jvp(function, (t,), (jnp.ones_like(t),))[1]
