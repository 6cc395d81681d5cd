"""What a term of the energy can do."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax.numpy as jnp

if TYPE_CHECKING:
    from zitter.qmc.wavefunction import Walker, Wavefunction


class EnergyTerm(eqx.Module):
    """A term of the Hamiltonian, evaluated as (term Ψ)/Ψ on walkers.

    It may ask Ψ for derivatives and ratios. One that does not, a potential V(R), says so:
    optimizers then evaluate it once for each sample, whatever parameters they try.
    """

    sees_psi: eqx.AbstractClassVar[bool]
    takes_ratios: ClassVar[bool] = False  # whether it asks for ratios, and not for derivatives only

    @abc.abstractmethod
    def evaluate(
        self, psi: Wavefunction, walker: Walker, key: Any, dtype: Any = jnp.float64
    ) -> dict[str, Any]:
        """Real parts of one walker by name, for `psi` as it is now.

        `key` is for terms that are sampled; the same key gives the same points, so that energies
        under other parameters are correlated.
        """
