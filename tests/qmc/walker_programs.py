"""What many tests do with walkers, each compiled as one program."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc import SlaterJastrow


@eqx.filter_jit
def begin(psi: SlaterJastrow, r):
    """Walkers at positions (walkers, d, N)."""
    return jax.vmap(psi.start)(r)


@eqx.filter_jit
def local_energies(psi: SlaterJastrow, walkers, dtype=jnp.float64):
    return jax.vmap(lambda walker: psi.local_energy(walker, dtype))(walkers)
