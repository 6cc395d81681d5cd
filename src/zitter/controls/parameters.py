"""The parameters of a pulse as one vector, and the pulse of a vector, held within its fluence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.fields import Field
from zitter.fields.carrier import Carrier
from zitter.fields.fluence import fluence

EXAMPLE = 'a FreeForm has some, others are named: parameters=["carrier.amplitude", "carrier.cep"]'
# The first step of a line search has length one: this part of each parameter's size.
SHARE = 0.1
SMALL = 0.01  # the size of what begins at zero
# What pulses refuse to be given beyond, by the last word of the name.
LIMITS = {"ellipticity": (-1.0, 1.0), "start": (0.0, np.inf)}


@dataclasses.dataclass(frozen=True)
class Parameters:
    """Leaves of a pulse by the ways to them ("coefficients", "fields.0.carrier.cep"), scaled."""

    pulse: Field
    names: tuple[str, ...]
    limit: float | None  # ∫|E|² dt at most

    @property
    def values(self) -> list[np.ndarray]:
        return [np.asarray(_at(self.pulse, name), float) for name in self.names]

    @property
    def scales(self) -> np.ndarray:
        """What one is in each component of the vector: a power of two, which rounds nothing."""
        sizes = [SHARE * (float(np.linalg.norm(value)) or SMALL / SHARE) for value in self.values]
        sizes = [2.0 ** round(np.log2(size)) for size in sizes]
        rows = [np.full(v.size, size) for v, size in zip(self.values, sizes, strict=True)]
        return np.concatenate(rows)

    @property
    def start(self) -> np.ndarray:
        return np.concatenate([np.ravel(value) for value in self.values]) / self.scales

    def pulse_of(self, vector: Any) -> Field:
        """The pulse, scaled down to the fluence allowed where it would have more."""
        vector = jnp.asarray(vector) * self.scales
        parts, first = [], 0
        for value in self.values:
            parts.append(vector[first : first + value.size].reshape(value.shape))
            first += value.size
        where = lambda pulse: [_at(pulse, name) for name in self.names]  # noqa: E731
        made = eqx.tree_at(where, self.pulse, parts)
        if self.limit is None:
            return made
        energy = fluence(made)
        # The inner choice keeps the slope finite where there is no field at all.
        over = energy > self.limit
        return made.scaled(jnp.where(over, jnp.sqrt(self.limit / jnp.where(over, energy, 1)), 1.0))

    def box(self, bounds: Mapping[str, Sequence[float]] | None) -> list[tuple[Any, Any]] | None:
        """Bounds for each component of the vector, as SciPy takes them."""
        bounds = bounds or {}
        for name in bounds:
            if name not in self.names:
                raise checks.InputError(
                    "bounds", f"must be for parameters ({', '.join(self.names)}), but name {name}"
                )
        rows: list[tuple[Any, Any]] = []
        for name, value in zip(self.names, self.values, strict=True):
            low, high = _pair(name, bounds.get(name))
            for x in np.ravel(value):
                if not low <= x <= high:
                    raise checks.InputError(
                        "bounds", f"must hold the start, but {name} begins at {x:g}"
                    )
                rows.append((low, high))
        return [(low / s, high / s) for (low, high), s in zip(rows, self.scales, strict=True)]


def chosen(pulse: Any, names: Sequence[str] | None, limit: float | None) -> Parameters:
    """Those that are named, or else those that a pulse offers."""
    checks.instance("pulse", pulse, Field)
    if isinstance(names, str):
        names = [names]
    wanted = tuple(pulse.free if names is None else names)
    if not wanted:
        raise checks.InputError(
            "parameters", f"must be given, as a {type(pulse).__name__} offers none: {EXAMPLE}"
        )
    if len(set(wanted)) < len(wanted):
        raise checks.InputError("parameters", f"must differ, but are {', '.join(wanted)}")
    for name in wanted:
        value = _at(pulse, name)
        if not eqx.is_array_like(value) or isinstance(value, bool):
            raise checks.InputError("parameters", f"must be numbers, but {name} is {value!r}")
        _require_both_components(pulse, name)
    if limit is not None:
        limit = float(checks.positive("fluence", limit))
    return Parameters(pulse, wanted, limit)


def _at(pulse: Any, name: str) -> Any:
    """The part of a pulse that a name leads to; numbers count the fields of a sum."""
    try:
        return reduce(_part, str(name).split("."), pulse)
    except (AttributeError, IndexError, ValueError, TypeError):
        kind = type(pulse).__name__
        raise checks.InputError(
            "parameters", f"must be parts of the pulse, but a {kind} has no {name}; {EXAMPLE}"
        ) from None


def _require_both_components(pulse: Any, name: str) -> None:
    """Refuse the ellipticity of linear light, which has no component on the minor axis."""
    *way, last = name.split(".")
    owner = reduce(_part, way, pulse)
    if last == "ellipticity" and isinstance(owner, Carrier) and owner.is_linear:
        raise checks.InputError(
            "parameters", f"must not begin as linear light to vary {name}: give the pulse an "
            "ellipticity that is not zero, 1e-3"
        )  # fmt: skip


def _part(thing: Any, name: str) -> Any:
    if isinstance(thing, tuple | list):
        return thing[int(name)]
    known = {field.name for field in dataclasses.fields(thing)}
    if name not in known:
        raise AttributeError(name)
    return getattr(thing, name)


def _pair(name: str, given: Any) -> tuple[float, float]:
    least, most = LIMITS.get(name.split(".")[-1], (-np.inf, np.inf))
    if given is None:
        return least, most
    if isinstance(given, str) or np.size(given) != 2:
        raise checks.InputError("bounds", f"must be pairs (low, high), but {name} has {given!r}")
    low, high = (float(x) for x in given)
    if not low < high:
        raise checks.InputError("bounds", f"must rise, but {name} has {low:g} … {high:g}")
    if low < least or high > most:
        raise checks.InputError(
            "bounds", f"must lie within {least:g} … {most:g}, but {name} has {low:g} … {high:g}"
        )
    return low, high
