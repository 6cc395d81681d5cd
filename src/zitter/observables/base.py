"""What is measured along a run.

An observable with `every` = 1 is evaluated inside the compiled loop at each record. One with a
larger `every`, or one that needs the host (`on_host`), is evaluated between segments, at each
`every`-th record, and at the end.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis, Refused
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported


class Observable(eqx.Module):
    """A number or an array made from ψ(t)."""

    every: eqx.AbstractVar[int]
    name: eqx.AbstractClassVar[str]
    long_name: eqx.AbstractClassVar[str]
    units: eqx.AbstractClassVar[str]
    # Whether its numbers are parts of the probability, each ‖Pψ‖² of a projection P.
    of_probability: ClassVar[bool] = False

    def __check_init__(self):
        checks.integer("every", self.every, 1)

    @property
    def on_host(self) -> bool:
        return False

    @property
    def levels(self) -> int:
        """How many eigenstates of H(t) are found each time it is evaluated."""
        return 0

    def prepare(self, H: Hamiltonian, eigenstates: Callable[..., Any]) -> Observable:
        """Checked and made ready for this Hamiltonian."""
        return self

    @abc.abstractmethod
    def evaluate(self, H: Hamiltonian, psi: jax.Array, t: Any) -> Any: ...

    def dims(self, H: Hamiltonian) -> tuple[tuple[str, np.ndarray | None], ...]:
        """Names and coordinates of the value's axes."""
        return ()

    def facts(self, H: Hamiltonian) -> dict[str, Any]:
        """What must be known to use the values later, for the solution's `info`."""
        return {}


def prepared(
    observables: Sequence[Observable], H: Hamiltonian, eigenstates: Callable[..., Any]
) -> tuple[Observable, ...]:
    """All made ready; what does not suit H is refused under its place in the list."""
    return tuple(ready(f"observables.{i}", o, H, eigenstates) for i, o in enumerate(observables))


def ready(key: str, observable: Observable, H: Hamiltonian, eigenstates: Any) -> Observable:
    """One made ready; what does not suit H is refused under its key."""
    try:
        return observable.prepare(H, eigenstates)
    except checks.InputError as error:
        raise error.under(key) from None
    except Unsupported as error:
        raise checks.InputError(key, f"must suit this model, but {error}") from None


def require(observable: Observable, H: Hamiltonian, word: Callable[[jax.Array], Any]) -> None:
    """That the basis of H knows a word of ψ; what it refuses is said in the observable's name."""
    try:
        jax.eval_shape(word, jax.ShapeDtypeStruct(H.basis.shape, jnp.complex128))
    except Refused as refusal:
        where = checks.with_article(type(H.basis).__name__)
        text = f"{type(observable).__name__} cannot be measured on {where}"
        advice = f": {refusal.advice}" if refusal.advice else ""
        raise Unsupported(text + advice) from None


def vector_dims(basis: Basis) -> tuple[tuple[str, np.ndarray | None], ...]:
    """A vector in space has the axis `component`; on a line it is a number."""
    return () if basis.dimension == 1 else (("component", None),)
