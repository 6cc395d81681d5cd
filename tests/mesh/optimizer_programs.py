"""What the compiler makes of an optimization: collectives, and memory on each device."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import zitter as zt
from mesh import devices
from mesh.walker_runs import wavefunction
from zitter import segments
from zitter.qmc import spread
from zitter.qmc.optimizers import source as drawing
from zitter.qmc.optimizers import sums, tables
from zitter.qmc.walk import variational

WALKERS, DRAWS = 64, 16


def main(counts: list[int], parameters: int, samples: int) -> list[dict]:
    return [programs(count, parameters, samples) for count in counts]


def programs(count: int, parameters: int, samples: int) -> dict:
    """Collectives of each program, and the bytes of one that sums over a whole table."""
    zt.configure(mesh={"walkers": count})
    psi = wavefunction("")
    source: Any = drawing.Source(psi, WALKERS, DRAWS, 1, 0, False)
    places = spread.placed(jnp.zeros(WALKERS, int), False)
    data = tables._taken(source.data, places)
    step = variational.Context(psi, jnp.ones((), jnp.int32), jnp.asarray(False), (), jnp.float64)
    state = drawing.Drawing(source.state, source.data, jnp.zeros((), jnp.int32))
    drawn = segments.compiled(drawing.step, step, state, DRAWS)
    table = tables.Slopes(*(shaped((samples, parameters)) for _ in range(2)))
    each = [shaped((samples,), kind) for kind in (bool, float, bool)]
    shared = (jnp.zeros(parameters), jnp.zeros((parameters, parameters)), jnp.zeros(()))
    summing = lambda *given: sums._summed(sums._projected, *given)  # noqa: E731
    square = shaped((count, parameters, parameters))
    found = {
        "draw": drawn.call,
        "take": compiled(tables._taken, source.data, places),
        "energies": compiled(tables._energies, psi, psi.parameters, data),
        "derivatives": compiled(tables._derivatives, psi, psi.parameters, data),
        "sums": compiled(summing, shared, table, each),
        "over devices": compiled(sums._over_devices, square),
    }
    return {
        "devices": count,
        "collectives": {k: devices.collectives(p.as_text()) for k, p in found.items()},
        "bytes": devices.bytes_of(found["sums"]),
    }


def compiled(function: Any, *arguments: Any) -> Any:
    known = lambda x: eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct)  # noqa: E731
    arrays, static = eqx.partition(arguments, known)
    call = jax.jit(lambda arrays: function(*eqx.combine(arrays, static)))
    return call.lower(arrays).compile()


def shaped(shape: tuple[int, ...], kind: Any = float) -> jax.ShapeDtypeStruct:
    """An array cut along its first axis, not made."""
    mesh = spread.mesh(False)
    place = None if mesh is None else jax.NamedSharding(mesh, jax.P("walkers"))
    return jax.ShapeDtypeStruct(shape, jnp.dtype(kind), sharding=place)
