"""Coupling to light in the dipole approximation (electron charge −1).

    length gauge     H_I = E(t)·r
    velocity gauge   H_I = (A(t)·p + A(t)²/2)/m,    ψ_length = exp(iA·r) ψ_velocity

On a line the field acts along the only axis. Otherwise it acts along the pulse's polarization.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis, Refused
from zitter.fields import Field, FieldSum, polarization
from zitter.fields.free_form import FreeForm
from zitter.fields.pulse import CarrierPulse
from zitter.hamiltonian import Contribution, Driven, Hamiltonian
from zitter.keywords import caller
from zitter.linalg.base import Operator
from zitter.terms.base import Term, unsupported
from zitter.terms.kinetic import ORDERS, Order


class Component(eqx.Module):
    """t ↦ the component along a direction (or, for None, the linear amplitude) of A or E."""

    field: Field
    electric: bool = eqx.field(static=True)
    direction: tuple[float, ...] | None = eqx.field(static=True)

    def __call__(self, t: Any) -> jax.Array:
        if self.direction is None:
            return self.field.electric_field(t) if self.electric else self.field.vector_potential(t)
        vector = (
            self.field.electric_field_xyz(t)
            if self.electric
            else self.field.vector_potential_xyz(t)
        )
        return jnp.sum(vector * jnp.asarray(self.direction, vector.dtype), axis=-1)


class Ponderomotive(eqx.Module):
    """t ↦ A(t)²/2, the part of the velocity gauge that only turns the phase."""

    field: Field

    def __call__(self, t: Any) -> jax.Array:
        if self.field.is_linear:
            return 0.5 * self.field.vector_potential(t) ** 2
        return 0.5 * jnp.sum(self.field.vector_potential_xyz(t) ** 2, axis=-1)


def components(field: Field, basis: Basis, electric: bool) -> list[tuple[Component, np.ndarray]]:
    """Pairs (time factor, unit vector over a particle's axes) that add up to the field."""
    dimension = basis.dimension
    if dimension == 1:
        if not field.is_linear:
            raise checks.InputError(
                "pulse", "must be linearly polarized on a line, but is elliptic"
            )
        return [(Component(field, electric, None), np.ones(1))]
    if field.is_linear:
        direction = field.polarization
        if direction is None:
            unit = np.eye(dimension)[-1]
        else:
            unit = np.asarray(direction, float)
            if np.any(unit[dimension:]):
                raise checks.InputError(
                    "polarization", f"must lie in the grid's {dimension} axes, but is {direction}"
                )
            unit = unit[:dimension]
        return [(Component(field, electric, None), unit)]
    for vector in _directions(field):
        if np.any(np.abs(vector[dimension:]) > 1e-12):
            raise checks.InputError(
                "polarization",
                f"must keep the field in the grid's {dimension} axes, but it has a part along "
                f"({', '.join(f'{v:g}' for v in vector)}); without polarization it is along z",
            )
    return [
        (Component(field, electric, (*unit, *(0.0,) * (3 - dimension))), np.asarray(unit))
        for unit in _axes(field, basis)
    ]


def _axes(field: Field, basis: Basis) -> list[tuple[float, ...]]:
    """x, y and z as far as light has a part along them, or two of its plane where these are fewer:
    so a basis knows the plane. On a lattice what is along one axis is one row of numbers, and what
    is not fills the lattice.
    """
    axes = np.eye(basis.dimension)
    units = [axes[a] for a in range(basis.dimension) if _has_part_along(field, a)]
    if len(units) == 3 and basis.lattice is None and _is_known(field):
        plane = polarization.plane_of(np.stack(_directions(field)))
        units = units if plane is None else list(plane)
    return [tuple(float(x) for x in unit) for unit in units]


def gauges(H: Hamiltonian) -> set[str]:
    """ "length" and "velocity", as far as the light in H is written so."""
    factors = [piece.factor for piece in H.changing if isinstance(piece, Driven)]
    return {
        "length" if factor.electric else "velocity"
        for factor in factors
        if isinstance(factor, Component)
    }


def _directions(field: Field) -> list[np.ndarray]:
    """Every direction in which a field, or one that it is a sum of, has a component."""
    if isinstance(field, FieldSum):
        return [vector for part in field.fields for vector in _directions(part)]
    major = polarization.major_axis(field.polarization)
    return [major] if field.is_linear else [major, polarization.minor_axis(field.polarization)]


def _has_part_along(field: Field, axis: int) -> bool:
    """Whether a field ever has; taken for granted of elliptic kinds that are not known here."""
    return not _is_known(field) or any(abs(vector[axis]) > 1e-12 for vector in _directions(field))


def _is_known(field: Field) -> bool:
    """Whether `_directions` are all that a field ever has."""
    if isinstance(field, FieldSum):
        return all(_is_known(part) for part in field.fields)
    return field.is_linear or isinstance(field, CarrierPulse | FreeForm)


def _coupled(
    term: LengthGauge | VelocityGauge, basis: Basis, word: Callable[[np.ndarray], Operator]
) -> list[Driven]:
    """Time factor by time factor the operator along its direction."""
    electric = isinstance(term, LengthGauge)
    try:
        return [
            Driven(factor, word(unit)) for factor, unit in components(term.pulse, basis, electric)
        ]
    except Refused as refusal:
        raise unsupported(term, basis, basis.light_advice or refusal.advice) from None


class LengthGauge(Term):
    """E(t)·r for each particle."""

    moves: ClassVar[bool] = False
    pulse: Field

    def __init__(self, pulse: Field):
        self.pulse = checks.instance("pulse", pulse, Field)

    @property
    def light(self) -> Field:
        return self.pulse

    def discretize(self, basis: Basis) -> list[Contribution]:
        if basis.periodic:
            warnings.warn(
                "E(t)·r of LengthGauge jumps where a periodic basis closes on itself: use "
                'VelocityGauge, or boundary = "zero"',
                stacklevel=caller(),
            )
        return [*_coupled(self, basis, basis.position)]


class VelocityGauge(Term):
    """(A(t)·p + A(t)²/2)/m for each particle; `order` as in `Kinetic`, for grids.

    On atomic bases A²/2 is left out: it turns the phase of the whole state and nothing else.
    """

    moves: ClassVar[bool] = False
    needs_local: ClassVar[bool] = True
    pulse: Field
    mass: Any
    order: Order = eqx.field(static=True)

    def __init__(self, pulse: Field, order: Order = "spectral", mass: float | str = 1.0):
        self.pulse = checks.instance("pulse", pulse, Field)
        self.mass = checks.mass(mass)
        self.order = checks.choice("order", order, ORDERS)

    @property
    def light(self) -> Field:
        return self.pulse

    def discretize(self, basis: Basis) -> list[Contribution]:
        def velocity(unit):
            return basis.momentum(unit, self.order).scaled(1 / self.mass)

        pieces: list[Contribution] = [*_coupled(self, basis, velocity)]
        if not basis.carries_phase:
            return pieces
        places = basis.places()
        inverse_mass = jnp.full((1,) * len(places.shape), places.particles / self.mass)
        return [*pieces, Driven(Ponderomotive(self.pulse), basis.multiply(inverse_mass))]
