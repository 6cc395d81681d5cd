"""How long a sweep takes, part by part, and what its memory traffic alone would take."""

from __future__ import annotations

import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc.jastrow import P, U
from zitter.qmc.sweep import GaussianSteps, sweep
from zitter.qmc.systems import ElectronGas
from zitter.qmc.wavefunction import SlaterJastrow, Walker


@eqx.filter_jit
def _sweeps(psi: SlaterJastrow, walkers: Walker, width: Any, count: int, dtype: Any) -> Walker:
    def body(i, walkers):
        key = jax.random.fold_in(jax.random.PRNGKey(0), i)
        return sweep(psi, GaussianSteps(width), walkers, key, dtype)[0]

    return jax.lax.fori_loop(0, count, body, walkers)


@eqx.filter_jit
def _ewald(psi: SlaterJastrow, r: Any, dtype: Any) -> Any:
    return jax.vmap(lambda x: psi.system.potential(x, dtype)["coulomb"])(r)


@eqx.filter_jit
def _energy(psi: SlaterJastrow, walkers: Walker, dtype: Any) -> Any:
    return jax.vmap(lambda w: psi.local_energy(w, dtype)["energy"])(walkers)


@eqx.filter_jit
def _start(psi: SlaterJastrow, r: Any, dtype: Any) -> Walker:
    return jax.vmap(lambda x: psi.start(x, dtype))(r)


def best_seconds(run: Any, repeats: int = 3) -> float:
    """The shortest of a few runs, after one that compiles."""
    jax.block_until_ready(run())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return min(times)


def split(
    gas: ElectronGas, walkers: int, dtype: Any = jnp.float64, sweeps: int = 2, stars: int = 5
) -> dict[str, float]:
    """Seconds per sweep of all walkers: with every subset of u and p, and of the energy's parts.

    The cost of u and p is what a sweep takes longer with them than without.
    """
    r = gas.start(jax.random.PRNGKey(1), walkers)
    width = jnp.asarray(0.4 * gas.length)
    found: dict[str, float] = {}
    kinds = {"bare": [], "u": [U()], "p": [P(stars)], "u_p": [U(), P(stars)]}
    for name, terms in kinds.items():
        psi = SlaterJastrow(gas, terms)
        state = _start(psi, r, dtype)
        seconds = best_seconds(lambda p=psi, s=state: _sweeps(p, s, width, sweeps, dtype).r)
        found[f"sweep_{name}"] = seconds / sweeps
        if name == "u_p":
            found["energy"] = best_seconds(lambda p=psi, s=state: _energy(p, s, dtype))
            found["ewald"] = best_seconds(lambda p=psi, s=state: _ewald(p, s.r, dtype))
            found["bytes_per_walker"] = bytes_of(state) / walkers
    found["u"] = found["sweep_u"] - found["sweep_bare"]
    found["p"] = found["sweep_p"] - found["sweep_bare"]
    found["p_share"] = (found["sweep_u_p"] - found["sweep_u"]) / found["sweep_u_p"]
    return found


def bytes_of(tree: Any) -> int:
    return sum(x.nbytes for x in jax.tree.leaves(tree) if hasattr(x, "nbytes"))


def determinant_traffic(psi: SlaterJastrow, walkers: int) -> float:
    """Bytes a sweep must move for the inverses: each block reads M twice and writes it once."""
    n, blocks = psi.slater.orbitals.count, len(psi.slater.blocks().spin)
    return 3.0 * blocks * n * n * 8 * walkers
