"""What many tests do with walkers, each compiled as one program."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc import Wavefunction
from zitter.qmc.energies import local_energy

KEY = jax.random.PRNGKey(0)


@eqx.filter_jit
def begin(psi: Wavefunction, r):
    """Walkers at positions (walkers, d, N)."""
    return jax.vmap(psi.start)(r)


@eqx.filter_jit
def local_energies(psi: Wavefunction, walkers, dtype=jnp.float64):
    return jax.vmap(lambda walker: local_energy(psi, walker, KEY, dtype))(walkers)
