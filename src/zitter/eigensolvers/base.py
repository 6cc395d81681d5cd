"""What an eigensolver is: the lowest states of a Hermitian H, with residuals."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported


class Factors(NamedTuple):
    """A factorization that is most of a search: how many operations it takes, how many numbers the
    factors have, which each solution goes through once, and bytes with the matrix itself."""

    operations: float
    numbers: int
    memory: int


class Eigensolver(eqx.Module):
    """A method for Hφ = Eφ."""

    @property
    def divides(self) -> bool:
        """Whether it works with states on many devices; otherwise it takes one device."""
        return False

    @property
    def keeps_rounds(self) -> bool:
        """Whether `solve` takes `rounds`, so that it can be stopped and continued."""
        return False

    def check(self, H: Hamiltonian, n: int) -> None:
        if H.basis.complex_scaled:
            raise Unsupported(
                f"{type(self).__name__} needs a Hermitian Hamiltonian, which exterior scaling does "
                "not leave; use Resonances(near=…)"
            )
        if not H.operator.hermitian:
            raise Unsupported(
                f"{type(self).__name__} needs a Hermitian Hamiltonian; use H.static, "
                "which leaves absorbers out"
            )

    def memory(self, H: Hamiltonian, n: int) -> int | None:
        """Bytes at its peak, with H, as far as shapes tell; None where nobody knows."""
        return None

    def rounds_grow(self, ratio: float) -> float:
        """How many times more rounds it needs on a grid whose spacing is `ratio` times smaller."""
        return 1.0

    def few_rounds(self, count: int) -> Eigensolver | None:
        """The same solver that gives up after `count` rounds; None for one that has no rounds."""
        return None

    def factors(self, H: Hamiltonian) -> Factors | None:
        """What it factorizes, where that is most of its work."""
        return None

    def factorize(self, H: Hamiltonian) -> None:
        """Do that alone."""

    @property
    def on_other_bases(self) -> Eigensolver | None:
        """What finds the same states elsewhere, to compare with; None for whatever is best."""
        return None

    @abc.abstractmethod
    def solve(self, H: Hamiltonian, n: int) -> tuple[Any, Any, dict[str, Any]]:
        """(energies, states of unit norm in the basis' metric, information)."""


def check_orthonormal(solver: Eigensolver, H: Hamiltonian) -> None:
    if not H.basis.orthonormal:
        raise Unsupported(
            f"{type(solver).__name__} needs an orthonormal basis such as a Grid; use Direct"
        )


def residual_norms(H: Hamiltonian, energies: Any, states: jax.Array) -> np.ndarray:
    """‖Hφ − Eφ‖ for each state."""
    # By number: states that lie on many processes cannot be gone through.
    return np.asarray(
        [_residual(H, jnp.asarray(energy), states[i]) for i, energy in enumerate(energies)]
    )


@eqx.filter_jit
def _residual(H: Hamiltonian, energy: jax.Array, state: jax.Array) -> jax.Array:
    return H.basis.norm(H.apply(state) - energy.astype(state.dtype) * state)
