"""Physics that discretizes itself: a model is a list of terms, a term becomes operators."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Iterable
from typing import Any, ClassVar

import equinox as eqx
import jax

from zitter import checks
from zitter.bases.base import Basis, Refused
from zitter.hamiltonian import (
    Absorbing,
    Contribution,
    Hamiltonian,
    Mask,
    Origin,
    TimeDependent,
)
from zitter.keywords import caller
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.sums import add
from zitter.terms import model_guards

SMOOTH_ORDER = 4  # counted where errors fall faster than any power, in the long run


class Term(eqx.Module):
    """One piece of physics: kinetic energy, a potential, light, an absorber."""

    local: ClassVar[bool] = True  # false for a potential that does not commute with r
    needs_local: ClassVar[bool] = False  # true for light that is right beside local ones only
    moves: ClassVar[bool] = True  # false for what leaves a particle at rest where it is
    alone: ClassVar[bool] = False  # true for what all particles have once, whatever its numbers
    # (l, number of states of that l below) of the shell whose electron it describes.
    valence: ClassVar[Any] = None

    @property
    def light(self) -> Any:
        """The pulse that it couples to all of the particles, None where it is no such coupling."""
        return None

    @abc.abstractmethod
    def discretize(self, basis: Basis) -> list[Contribution]:
        """The operators this term becomes on a basis, or `Unsupported` with the reason."""

    def lattice_order(self, basis: Basis) -> float:
        """The power of the spacing with which the error of this term falls on a lattice."""
        return SMOOTH_ORDER

    @property
    def moving_mass(self) -> Any:
        """The mass of the particle that it moves, None where it moves none."""
        return None

    def core_mass(self, basis: Basis) -> Any:
        """The mass that it takes the particle to have, None where that is nothing to it."""
        return None


def unsupported(term: Term, basis: Basis, advice: str = "") -> Unsupported:
    where = checks.with_article(type(basis).__name__)
    text = f"{type(term).__name__} cannot be written on {where}"
    return Unsupported(f"{text}: {advice}" if advice else text)


class Model(eqx.Module):
    """The physics, free of any basis: `zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)])`."""

    terms: tuple[Term, ...]

    def __init__(self, terms: Iterable[Term]):
        if isinstance(terms, Term | str | bytes | dict) or not isinstance(terms, Iterable):
            raise checks.InputError(
                "terms", f"must be a list of Terms, but is {checks.shown(terms)}"
            )
        self.terms = tuple(terms)
        if not self.terms:
            raise checks.InputError("terms", "must hold at least one term, but is empty")
        for i, term in enumerate(self.terms):
            checks.instance(f"terms[{i}]", term, Term)

    @property
    def valence(self) -> tuple[int, int] | None:
        """(l, number of states of that l below) of the shell that a term names, if any does."""
        shells = {term.valence for term in self.terms if term.valence is not None}
        if len(shells) > 1:
            raise checks.InputError(
                "terms", f"must name one valence shell (l, states below), but name {sorted(shells)}"
            )
        return shells.pop() if shells else None


def discretize(model: Model, basis: Basis) -> Hamiltonian:
    """Write a model on a basis."""
    checks.instance("model", model, Model)
    checks.instance("basis", basis, Basis)
    model_guards.check_terms(model)
    model_guards.check_masses(model, basis)
    _warn_of_nonlocal(model)
    fixed: list[Operator] = []
    changing: list[TimeDependent] = []
    absorbers: list[Operator] = []
    masks: list[jax.Array] = []
    for position, term in enumerate(model.terms):
        try:
            pieces = term.discretize(basis)
        except Refused as refusal:  # said in the name of the term that asked
            raise unsupported(term, basis, refusal.advice) from None
        model_guards.check_finite(position, term, pieces)
        for piece in pieces:
            match piece:
                case Operator():
                    fixed.append(piece)
                case TimeDependent():
                    changing.append(piece)
                case Absorbing():
                    absorbers.append(piece.operator)
                case Mask():
                    masks.append(piece.log_rate)
    if not fixed:
        raise checks.InputError("terms", "must hold a time-independent term, such as Kinetic()")
    return Hamiltonian(
        basis,
        add(fixed),
        tuple(changing),
        add(absorbers) if absorbers else None,
        Mask(sum(masks[1:], masks[0])) if masks else None,
        # What is being traced has no values that could be kept.
        Origin(None if checks.is_traced(model) else model),
    )


def _warn_of_nonlocal(model: Model) -> None:
    """[V_l, r] ≠ 0 belongs to the velocity: A·p alone is then another coupling than E·r."""
    nonlocal_terms = [type(term).__name__ for term in model.terms if not term.local]
    light = [type(term).__name__ for term in model.terms if term.needs_local]
    if nonlocal_terms and light:
        warnings.warn(
            f"{nonlocal_terms[0]} depends on l, so that {light[0]} leaves a part of the light out "
            "(about 1 % of the dipoles): use LengthGauge",
            stacklevel=caller(),
        )
