"""Several fields at once: `pulse1 + pulse2`, `0.5 * pulse`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zitter import checks
from zitter.fields import polarization as directions
from zitter.fields.base import Field, shown


@final
class FieldSum(Field):
    """A(t) = Σᵢ cᵢ Aᵢ(t): several colors, pump and probe, or a rescaled pulse.

    Each has its own polarization, ellipticity and `start`: two circular pulses of opposite sense
    are bicircular light. Fields of different polarization add as vectors; such a sum has no single
    component, so only `vector_potential_xyz` and `electric_field_xyz` are defined for it.
    """

    fields: tuple[Field, ...]
    factors: tuple[Any, ...]

    def __init__(self, fields: Sequence[Field], factors: Sequence[float] | None = None):
        if isinstance(fields, Field) or len(fields) == 0:
            raise checks.InputError("fields", f"must be a list of fields, but is {fields!r}")
        if factors is None:
            self._check_named_once(fields)
            factors = (1.0,) * len(fields)
        if len(factors) != len(fields):
            raise checks.InputError(
                "factors", f"must be as many as fields ({len(fields)}), but are {len(factors)}"
            )
        flat: list[tuple[Field, Any]] = []
        for field, factor in zip(fields, factors, strict=True):
            factor = checks.scalar("factors", factor)
            checks.instance("fields", field, Field)
            # Sums of sums are kept flat, so that `a + b + c` reads and costs as one sum.
            inner = field.terms if isinstance(field, FieldSum) else ((field, np.float64(1.0)),)
            flat.extend((part, factor * weight) for part, weight in inner)
        self.fields = tuple(field for field, _ in flat)
        self.factors = tuple(factor for _, factor in flat)

    @staticmethod
    def _check_named_once(fields: Sequence[Field]) -> None:
        """Equal ones may be meant, such as two without a delay; with factors whatever is given."""
        seen: dict[int, int] = {}
        for later, field in enumerate(fields):
            earlier = seen.setdefault(id(field), later)
            if earlier != later:
                raise checks.InputError(
                    f"fields.{later}",
                    f"must differ from those before it, but is fields.{earlier} once more: factors "
                    "make a field stronger",
                )

    @property
    def terms(self) -> tuple[tuple[Field, Any], ...]:
        """The pairs (field, factor)."""
        return tuple(zip(self.fields, self.factors, strict=True))

    @property
    def free(self) -> tuple[str, ...]:
        return tuple(f"fields.{i}.{name}" for i, f in enumerate(self.fields) for name in f.free)

    @property
    def duration(self) -> Any:
        ends = [field.duration for field in self.fields]
        larger = jnp.maximum if checks.is_traced(ends) else np.maximum
        return reduce(larger, ends)

    @property
    def kinks(self) -> tuple[Any, ...]:
        return tuple(kink for field in self.fields for kink in field.kinks)

    def scaled(self, factor: Any) -> FieldSum:
        return FieldSum([field.scaled(factor) for field in self.fields], self.factors)

    @property
    def polarization(self) -> tuple[float, ...] | None:
        if not self._shares_axis:
            axes = ", ".join(str(field.polarization) for field in self.fields)
            raise checks.InputError(
                "polarization",
                f"must be the same for all fields to add single components, but is {axes}; "
                "use vector_potential_xyz and electric_field_xyz",
            )
        return self.fields[0].polarization

    @property
    def is_linear(self) -> bool:
        return all(field.is_linear for field in self.fields) and self._shares_axis

    @property
    def _shares_axis(self) -> bool:
        # Elliptic fields may share the major axis; `fields` is flat, so none of them raises here.
        first, *others = (directions.major_axis(field.polarization) for field in self.fields)
        return all(np.array_equal(first, other) for other in others)

    def _potential(self, t: Array) -> Array:
        _ = self.polarization  # refuses the sum of different directions
        return reduce(add, (factor * field._potential(t) for field, factor in self.terms))

    def _potential_xyz(self, t: Array) -> Array:
        return reduce(add, (factor * field._potential_xyz(t) for field, factor in self.terms))

    def describe(self) -> str:
        lines = (f"  {shown(factor)} × {field.describe()}" for field, factor in self.terms)
        return "\n".join(("FieldSum of", *lines))
