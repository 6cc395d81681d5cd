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


def scattered(psi: Wavefunction, size: float = 0.1, seed: int = 0) -> Wavefunction:
    """The same wave function with parameters that are all different from zero."""
    noise = jax.random.normal(jax.random.PRNGKey(seed), psi.parameters.shape, jnp.float64)
    return psi.with_parameters(psi.parameters + size * noise)
