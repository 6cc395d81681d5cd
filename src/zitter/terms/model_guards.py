"""What a model surely does not mean: refused or warned of before anything is computed."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.fields import FieldSum
from zitter.hamiltonian import Driven, Moving, TimeDependent
from zitter.keywords import caller

if TYPE_CHECKING:
    from zitter.bases.base import Basis
    from zitter.hamiltonian import Hamiltonian
    from zitter.terms.base import Model, Term


def check_terms(model: Model) -> None:
    """Refuse a term that stands there twice, a second kinetic energy of the same particles, and
    light that is coupled in two gauges.
    """
    _check_alone(model)
    if checks.is_traced(model):
        return
    for later, term in enumerate(model.terms):
        for earlier, other in enumerate(model.terms[:later]):
            name = type(term).__name__
            if type(other) is type(term) and _equal(other, term):
                raise checks.InputError(
                    f"terms[{later}]",
                    f"must differ from those before it, but is the same {name} as terms[{earlier}]",
                )
            if _same_light(other, term):
                again = "one gauge" if type(other) is not type(term) else "once"
                raise checks.InputError(
                    f"terms[{later}]",
                    f"must not couple light that is there already, but {name} takes a pulse of "
                    f"{type(other).__name__}: {again} is enough",
                )


def check_masses(model: Model, basis: Basis) -> None:
    """A core that stands for a pole is made for the particle that moves in it."""
    moving = {float(m) for t in model.terms if (m := t.moving_mass) is not None and _known(m)}
    for position, term in enumerate(model.terms):
        mass = term.core_mass(basis)
        if mass is not None and _known(mass) and moving and float(mass) not in moving:
            raise checks.InputError(
                f"terms[{position}].mass",
                f"must be that of the kinetic energy, {moving.pop():g}, since the core on a grid "
                f"is made for it, but is {float(mass):g}",
            )


def _known(mass: Any) -> bool:
    return not checks.is_traced(mass) and np.ndim(mass) == 0


def _check_alone(model: Model) -> None:
    seen: dict[type, int] = {}
    for later, term in enumerate(model.terms):
        earlier = seen.setdefault(type(term), later)
        if term.alone and earlier != later:
            name = type(term).__name__
            raise checks.InputError(
                f"terms[{later}]",
                f"must differ from those before it, but {name} acts on the same particles as the "
                f"{name} in terms[{earlier}]: one is enough",
            )


def check_finite(position: int, term: Term, pieces: Any) -> None:
    """Refuse operators that are infinite or undefined somewhere.

    What depends on time has other numbers, too, such as when it ends: never, for a static field.
    """
    fixed = [
        piece.operator if isinstance(piece, Driven) else piece
        for piece in pieces
        if isinstance(piece, Driven) or not isinstance(piece, TimeDependent)
    ]
    bad = sum(_bad_places(leaf) for leaf in jax.tree.leaves(fixed))
    if bad:
        places = "1 place" if bad == 1 else f"{bad} places"
        raise checks.InputError(
            f"terms[{position}]",
            f"must be finite on the basis, but {type(term).__name__} is not at {places}",
        )


def check_start(H: Hamiltonian, t: float) -> None:
    """Refuse a first moment at which what changes with time is not finite."""
    if any(_bad_places(leaf) for leaf in _changing(H, t)):
        raise checks.InputError("t", f"must begin where H is finite, but at {t:g} it is not")


def first_spoilt(H: Hamiltonian, times: np.ndarray) -> float | None:
    """The first of these times at which what changes with time is not finite, if any is."""
    bad = np.asarray(_spoilt(H, times)) if H.changing else np.zeros(len(times), bool)
    return float(times[np.argmax(bad)]) if np.any(bad) else None


@eqx.filter_jit
def _spoilt(H: Hamiltonian, times: Any) -> jax.Array:
    def at(t: Any) -> jax.Array:
        leaves = [leaf for leaf in _changing(H, t) if eqx.is_inexact_array(leaf)]
        return jnp.any(jnp.stack([False, *(jnp.any(~jnp.isfinite(leaf)) for leaf in leaves)]))

    return jax.lax.map(at, jnp.asarray(times))


def _changing(H: Hamiltonian, t: Any) -> list[Any]:
    """The numbers of H at t that are made anew for each time."""
    parts = [part.factor(t) for part in H.changing if isinstance(part, Driven)]
    return jax.tree.leaves([parts, [p.at(t) for p in H.changing if isinstance(p, Moving)]])


def warn_without_motion(model: Model | None) -> None:
    """A particle without kinetic energy stays where it is: hardly anybody means that."""
    if model is not None and not any(term.moves for term in model.terms):
        warnings.warn(
            "the model holds no kinetic energy, so that nothing moves: add Kinetic() to its terms",
            stacklevel=caller(),
        )


def _bad_places(leaf: Any) -> int:
    if not eqx.is_inexact_array(leaf) and not isinstance(leaf, np.ndarray | np.inexact):
        return 0
    if checks.is_traced(leaf) or np.dtype(leaf.dtype).kind not in "fc":
        return 0
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        return 0
    with jax.ensure_compile_time_eval():  # what is known stays known while others are traced
        return int(np.size(leaf) - jnp.count_nonzero(jnp.isfinite(leaf)))


def _equal(one: Any, other: Any) -> bool:
    """To rounding: 0.1 µm and 100 nm are one wavelength, Z = 1 and Z = [1] one charge."""
    try:
        if bool(eqx.tree_equal(one, other)):
            return True
        if type(one) is not type(other):
            return False
        ones, others = (jax.tree.leaves(each, is_leaf=_is_none) for each in (one, other))
        statics = [eqx.partition(each, _is_number)[1] for each in (one, other)]
        return (
            len(ones) == len(others)
            and all(map(_close, ones, others))
            and bool(eqx.tree_equal(*statics))
        )
    except (TypeError, ValueError):  # static parts that cannot be compared
        return False


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _is_number(leaf: Any) -> bool:
    return eqx.is_inexact_array_like(leaf)


def _close(one: Any, other: Any) -> bool:
    if not (_is_number(one) and _is_number(other)):
        return bool(eqx.tree_equal(one, other))
    one, other = np.squeeze(one), np.squeeze(other)
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-12, atol=0.0))


def _pulses(term: Term) -> Sequence[Any]:
    """Those that its light is the sum of."""
    light = term.light
    if light is None:
        return ()
    return light.fields if isinstance(light, FieldSum) else (light,)


def _same_light(one: Term, other: Term) -> bool:
    return any(_equal(*pair) for pair in itertools.product(_pulses(one), _pulses(other)))
