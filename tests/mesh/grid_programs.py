"""What the compiler makes of steps on a grid in slabs: collectives, and memory on each device."""

from __future__ import annotations

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import zitter as zt
from mesh import devices
from zitter import runtime, solve
from zitter.hamiltonian import Hamiltonian
from zitter.solve import needs


def main(counts: list[int], shape: list[int], orders) -> list[dict]:
    if orders == "run":
        return [estimate(n, tuple(shape)) for n in counts]
    return [step(n, tuple(shape), order) for order in orders for n in counts]


def estimate(count: int, shape: tuple[int, ...]) -> dict:
    """What a whole run would take on each device, as `--dry-run` tells."""
    zt.configure(mesh={"space": count})
    grid = zt.Grid(shape, 0.4, "periodic")
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=1)
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(pulse)])
    H = zt.discretize(model, grid)
    plan = solve.prepare(
        H, jnp.complex128, (0.0, 1.0), 0.02, zt.SplitOperator(), [zt.Norm(), zt.Dipole()]
    )
    return {"devices": count, "bytes": needs.memory_of_run(plan)}


def step(count: int, shape: tuple[int, ...], order) -> dict:
    """One step of SplitOperator, or of Taylor's series with differences: its loop counts once."""
    method = zt.SplitOperator() if order == "spectral" else zt.Taylor(4)
    # Nothing of its size is made here, so that no machine is too small for it.
    with mock.patch.object(runtime, "memory_limit", return_value=None):
        grid = zt.Grid(shape, 0.4, "periodic")
    mesh = runtime.make_mesh({"space": count}, jax.devices()[0])
    basis = grid if mesh is None else grid.divided(mesh)
    kinetic = basis.divide_operator(grid.kinetic(1.0, order))

    def advance(values, psi):
        potential = type(grid.multiply(0.0))(values, basis.shape)
        H = Hamiltonian(basis, kinetic + potential)
        state = method.init(H, psi, 0.0, 0.01)
        return method.step(H, psi, 0.0, 0.01, state)[0]

    place = None if basis.slabs is None else basis.slabs.sharding()
    shapes = (
        jax.ShapeDtypeStruct(basis.shape, dtype, sharding=place)
        for dtype in (jnp.float64, jnp.complex128)
    )
    compiled = jax.jit(advance, donate_argnums=1).lower(*shapes).compile()
    return {
        "devices": count,
        "order": order,
        "collectives": devices.collectives(compiled.as_text()),
        "bytes": devices.bytes_of(compiled),
        "slab": 16 * int(np.prod(basis.shape)) // count,
    }
