"""What is measured along a run.

An observable with `every` = 1 is evaluated inside the compiled loop at each record. One with a
larger `every`, or one that needs the host (`on_host`), is evaluated between segments, at each
`every`-th record.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.grid.basis import Grid
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported


class Observable(eqx.Module):
    """A number or an array made from ψ(t)."""

    every: eqx.AbstractVar[int]
    name: eqx.AbstractClassVar[str]
    long_name: eqx.AbstractClassVar[str]
    units: eqx.AbstractClassVar[str]

    def __check_init__(self):
        checks.integer("every", self.every, 1)

    @property
    def on_host(self) -> bool:
        return False

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
    return tuple(_ready(f"observables.{i}", o, H, eigenstates) for i, o in enumerate(observables))


def _ready(key: str, observable: Observable, H: Hamiltonian, eigenstates: Any) -> Observable:
    try:
        return observable.prepare(H, eigenstates)
    except checks.InputError as error:
        raise error.under(key) from None
    except Unsupported as error:
        raise checks.InputError(key, f"must suit this model, but {error}") from None


def require_basis(observable: Observable, H: Hamiltonian, *kinds: type[Basis]) -> None:
    if not isinstance(H.basis, kinds):
        *others, last = (kind.__name__ for kind in kinds)
        names = f"{', '.join(others)} or {last}" if others else last
        raise Unsupported(
            f"{type(observable).__name__} needs a {names}, not a {type(H.basis).__name__}"
        )


def require_grid(observable: Observable, H: Hamiltonian) -> Grid:
    if not isinstance(H.basis, Grid):
        raise Unsupported(
            f"{type(observable).__name__} is defined on grids, not on a {type(H.basis).__name__}"
        )
    return H.basis


def vector_dims(basis: Basis) -> tuple[tuple[str, np.ndarray | None], ...]:
    """A vector in space has the axis `component`; on a line it is a number."""
    on_a_line = isinstance(basis, Grid) and basis.dimension == 1
    return () if on_a_line else (("component", None),)


def as_vector(values: list[jax.Array]) -> jax.Array:
    import jax.numpy as jnp

    return values[0] if len(values) == 1 else jnp.stack(values)
