"""The local energy HΨ/Ψ: the sum over the terms that a system lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from zitter import checks, runtime
from zitter.qmc.energies.base import EnergyTerm
from zitter.qmc.spread import over_walkers

if TYPE_CHECKING:
    from zitter.qmc.wavefunction import Walker, Wavefunction

# Memory that measuring local energies may take: on a CPU what its caches hold.
PAIR_BYTES = {"cpu": 2**25, "gpu": 2**31}
PAIR_TABLES = 12  # arrays of N × N numbers it takes for each walker


def local_energy(
    psi: Wavefunction,
    walker: Walker,
    key: Any,
    dtype: Any = jnp.float64,
    terms: Sequence[EnergyTerm] | None = None,
) -> dict[str, Any]:
    """The parts of HΨ/Ψ by name, and their sum as "energy"; real parts of complex ones.

    `terms` are those of the system unless given.
    """
    parts = energy_parts(psi, walker, key, dtype, terms=terms)
    return {"energy": sum(parts.values()), **parts}


def energy_parts(
    psi: Wavefunction,
    walker: Walker,
    key: Any,
    dtype: Any,
    sees_psi: bool | None = None,
    terms: Sequence[EnergyTerm] | None = None,
) -> dict[str, Any]:
    """Parts by name: all of them, or those of the terms that do or do not see Ψ."""
    parts: dict[str, Any] = {}
    for position, term in enumerate(psi.system.energies if terms is None else terms):
        if sees_psi is None or term.sees_psi == sees_psi:
            found = term.evaluate(psi, walker, jax.random.fold_in(key, position), dtype)
            twice = sorted(parts.keys() & found.keys())
            if twice:
                raise checks.InputError("terms", f"must have names of their own, but share {twice}")
            parts |= found
    return parts


def local_energies(
    psi: Wavefunction,
    walkers: Walker,
    key: Any,
    dtype: Any = jnp.float64,
    terms: Sequence[EnergyTerm] | None = None,
) -> dict[str, Any]:
    """`local_energy` of many walkers, of as many at once as their tables of pairs allow."""
    n = psi.system.electrons
    allowed = PAIR_BYTES.get(runtime.settings().device.platform, PAIR_BYTES["gpu"])
    at_once = max(1, allowed // (PAIR_TABLES * 8 * n * n))

    def measured(shared, each):
        psi, terms = shared
        one = lambda walker, key: local_energy(psi, walker, key, dtype, terms)  # noqa: E731
        if at_once >= each[0].r.shape[0]:
            return jax.vmap(one)(*each)
        return jax.lax.map(lambda entry: one(*entry), each, batch_size=at_once)

    keys = jax.random.split(key, walkers.r.shape[0])
    return over_walkers(measured, (psi, terms), (walkers, keys))
