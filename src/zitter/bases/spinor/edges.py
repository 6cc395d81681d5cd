"""The end of a spinor basis: its last κ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.bases.edges import Edge

if TYPE_CHECKING:
    from zitter.bases.spinor.basis import SpinorBasis
    from zitter.bases.spinor.divided import DividedSpinorBasis


class LastKappa(Edge):
    """κ = ±kappa_max, from which light would lead on."""

    basis: SpinorBasis | DividedSpinorBasis = eqx.field(static=True)
    name: ClassVar[str] = "last_kappa_population"
    throughout: ClassVar[bool] = True

    def population(self, psi: Any) -> jax.Array:
        kappas, weights = self.basis.kappa_weights(jnp.asarray(psi))
        return jnp.sum(weights[abs(kappas) == self.basis.kappa_max])

    def sentence(self, population: float, limit: float) -> str:
        return (
            f"kappa_max = {self.basis.kappa_max} is too small: the last κ holds {population:.1e} "
            f"of the probability (limit {limit:.0e})"
        )
