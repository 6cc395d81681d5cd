"""What many tests do with walkers, each compiled as one program."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc import Wavefunction
from zitter.qmc.energies import local_energy


@eqx.filter_jit
def begin(psi: Wavefunction, r):
    """Walkers at positions (walkers, d, N)."""
    return jax.vmap(psi.start)(r)


@eqx.filter_jit
def local_energies(psi: Wavefunction, walkers, dtype=jnp.float64):
    key = jax.random.PRNGKey(0)
    return jax.vmap(lambda walker: local_energy(psi, walker, key, dtype))(walkers)


@eqx.filter_jit
def answers(psi, r, electron, points):
    """All that one walker is asked for."""
    walker = psi.start(r)
    opened, seat = psi.alone(walker, electron)
    ratio = psi.ratio(opened, seat, points[:, 0], True)
    return {
        "walker": (walker.phase, walker.log),
        "derivatives": tuple(psi.derivatives(walker)),
        "gradient": psi.gradient(opened, seat),
        "ratio": (ratio.phase, ratio.log, ratio.gradient),
        "ratios": psi.ratios(opened, seat, points),
        "recalled": psi.recall(psi.keep(walker, True)).log,
    }


def scattered(psi: Wavefunction, size: float = 0.1, seed: int = 0) -> Wavefunction:
    """The same wave function with parameters that are all different from zero."""
    noise = jax.random.normal(jax.random.PRNGKey(seed), psi.parameters.shape, jnp.float64)
    return psi.with_parameters(psi.parameters + size * noise)
