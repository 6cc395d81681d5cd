"""Explicit updates of a block of states in imaginary time, by the kernel that fits."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator
from zitter.linalg.kernels import explicit_update
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import diagonal_of, without_diagonal


class Update(eqx.Module):
    """What one update needs: V and T, or the weights of the seven-point kernel."""

    potential: jax.Array
    weights: jax.Array | None
    kinetic: Operator
    dtau: jax.Array

    @classmethod
    def of(cls, H: Hamiltonian, dtau: float) -> Update:
        kinetic, potential = without_diagonal(H.operator), diagonal_of(H.operator)
        assert kinetic is not None
        weights = None
        if (
            isinstance(kinetic, Stencil)
            and not kinetic.periodic
            and (kinetic.layout is None or kinetic.layout.share > 1)
            and kinetic.half_width == 1
            and len(H.shape) == 3
        ):
            weights = -2 * dtau * kinetic.coefficients[:, 0]
        return cls(potential, weights, kinetic, jnp.asarray(dtau, potential.dtype))

    def factor(self, shift: jax.Array) -> jax.Array:
        """g = 1/(2 + δτV), V counted from `shift`."""
        # Early energies may be far off; g has to stay positive where the potential is deepest.
        shift = jnp.minimum(shift, jnp.min(self.potential) + 1 / self.dtau)
        return 1 / (2 + self.dtau * (self.potential - shift))

    def before_overflow(self, shift: float) -> int:
        """The even number of updates after which no number is too large, by b where V is lowest."""
        lowest, dtau = float(jnp.min(self.potential)), float(self.dtau)
        depth = dtau * (min(shift, lowest + 1 / dtau) - lowest)
        growth = np.log((2 + depth) / (2 - depth)) if depth > 0 else 0.0
        most = 0.4 * float(np.log(jnp.finfo(self.potential.dtype).max))
        return max(2, 2 * int(most / max(2 * growth, 1e-6)))

    def apply(self, psi: jax.Array, shift: jax.Array, updates: Any) -> jax.Array:
        """An even number of updates of one state."""
        g = self.factor(shift)
        if self.weights is not None:
            layout = self.kinetic.layout if isinstance(self.kinetic, Stencil) else None
            if layout is not None:
                return explicit_update.advance_slabs(layout, psi, g, self.weights, updates)
            return explicit_update.advance_xla(psi, g, self.weights, updates)

        def once(psi):
            return (4 * g - 1) * psi - 2 * self.dtau * g * self.kinetic.apply(psi)

        return jax.lax.fori_loop(0, updates // 2, lambda _, psi: once(once(psi)), psi)


def advance(update: Update, block: jax.Array, shifts: jax.Array, updates: int) -> jax.Array:
    kernel = explicit_update.kernel_for(block)
    if update.weights is not None and kernel is not None:
        return jnp.stack(
            [
                kernel(psi, _factor(update, shift), update.weights, updates)
                for psi, shift in zip(block, shifts, strict=True)
            ]
        )
    return advance_compiled(update, block, shifts, jnp.asarray(updates))


_factor = eqx.filter_jit(Update.factor)


@eqx.filter_jit
def advance_compiled(
    update: Update, block: jax.Array, shifts: jax.Array, updates: Any
) -> jax.Array:
    return jax.lax.map(lambda one: update.apply(one[0], one[1], updates), (block, shifts))
