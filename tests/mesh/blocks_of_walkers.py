"""What the compiler makes of blocks of Monte Carlo: collectives, and memory on each device."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

import zitter as zt
from mesh import devices
from zitter import qmc
from zitter.qmc import spread
from zitter.qmc.streams import seeded
from zitter.qmc.walk import branching, diffusion, variational


def main(counts: list[int], electrons: int, walkers: int) -> list[dict]:
    return [program(n, electrons, walkers) for n in counts]


def program(count: int, electrons: int, walkers: int) -> dict:
    """One block of DMC, compiled and not run; walkers are shapes."""
    zt.configure(mesh={"walkers": count})
    gas = qmc.ElectronGas(electrons, 2.0, allow_open_shell=True)
    psi = qmc.SlaterJastrow(gas, [qmc.U(order=4)])
    first = lambda: variational.first_state(psi, walkers, seeded(0), jnp.float64)  # noqa: E731
    blank = lambda: diffusion.blank_state(first(), jnp.zeros(()))  # noqa: E731
    state = placed(eqx.filter_eval_shape(blank), walkers)
    context = diffusion.Context(
        psi, jnp.asarray(0.01), jnp.asarray(10), jnp.asarray(False), (), jnp.float64
    )
    fixed, static = eqx.partition(context, eqx.is_array)

    def block(fixed, state):
        return diffusion.step(eqx.combine(fixed, static), state)

    compiled = jax.jit(block, donate_argnums=1).lower(fixed, state).compile()
    one = sum(leaf.dtype.itemsize * leaf.size for leaf in jax.tree.leaves(state.walkers))
    return {
        "devices": count,
        "collectives": devices.collectives(compiled.as_text()),
        "bytes": devices.bytes_of(compiled),
        "walker": one // walkers,
        "batch": branching.batch_size(walkers, count),
    }


def placed(state, walkers: int):
    """The shapes of a state with walkers cut over the mesh."""
    mesh = spread.mesh(False)
    if mesh is None:
        return state

    def put(x):
        cut = x.ndim > 0 and x.shape[0] == walkers
        axes = jax.P("walkers") if cut else jax.P()
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=jax.NamedSharding(mesh, axes))

    return jax.tree.map(put, state)
