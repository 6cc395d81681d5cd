"""What a term of the energy can do."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp

if TYPE_CHECKING:
    from zitter.qmc.wavefunction import Seat, Walker, Wavefunction


class Transitions(NamedTuple):
    """Where a term can take one electron: `points` (d, M), and ⟨r'|term|r⟩ Re Ψ'/Ψ for each."""

    points: Any
    amplitudes: Any  # (M,)


class EnergyTerm(eqx.Module):
    """A term of the Hamiltonian, evaluated as (term Ψ)/Ψ on walkers.

    It may ask Ψ for derivatives and ratios. One that does not, a potential V(R), says so:
    optimizers then evaluate it once for each sample, whatever parameters they try.
    """

    sees_psi: eqx.AbstractClassVar[bool]
    takes_ratios: ClassVar[bool] = False  # whether it asks for ratios, and not for derivatives only
    moves_electrons: ClassVar[bool] = False  # whether it is nonlocal: has `transitions`

    @abc.abstractmethod
    def evaluate(
        self, psi: Wavefunction, walker: Walker, key: Any, dtype: Any = jnp.float64
    ) -> dict[str, Any]:
        """Real parts of one walker by name, for `psi` as it is now.

        `key` is for terms that are sampled; the same key gives the same points, so that energies
        under other parameters are correlated.
        """

    @property
    def sites(self) -> int:
        """How many parts `transitions` has: from most places few of them lead anywhere."""
        return 1

    def reaches(self, place: Any, site: int) -> Any:
        """Whether that part has transitions from a `place` (d,)."""
        return jnp.ones((), bool)

    def transitions(
        self,
        psi: Wavefunction,
        opened: Any,
        seat: Seat,
        site: int,
        key: Any,
        dtype: Any = jnp.float64,
    ) -> Transitions:
        """Where part `site` of a nonlocal term can take the electron at a seat.

        The sum over all sites and electrons is its energy.
        """
        raise NotImplementedError(f"{type(self).__name__} moves no electrons")

    def displaced(self, carry: Callable[[Any], Any]) -> EnergyTerm:
        """The term with nuclei moved, carry(places (n, d)), where it stands on any."""
        return self

    def by_determinants(self) -> EnergyTerm:
        """A nonlocal term as it acts on the determinants alone, so that J is not in it."""
        return self
