"""Whole arrays on a mesh: how they come to the host, and that no device holds one."""

from __future__ import annotations

import math
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import zitter as zt
from zitter import runtime, solve
from zitter.solve import course, needs

DEVICES = 4
PORTION = 4096  # bytes


def main(what: str) -> dict:
    return {"gather": gather, "carry": carry, "needs": estimate}[what]()


def carry() -> dict:
    """A packet on grids, from H to the solution: at every stage, the most that one device holds of
    any array, as a share of ψ."""
    zt.configure(mesh={"space": DEVICES})
    return {str(shape): stages(shape) for shape in ((16, 12, 10), (13, 12, 10))}


def stages(shape: tuple[int, ...]) -> dict[str, float]:
    grid, found = zt.Grid(shape, 0.5), {}

    def look(stage: str) -> None:
        held = (x.sharding.shard_shape(x.shape) for x in jax.live_arrays() if x.ndim >= len(shape))
        found[stage] = max(math.prod(part) for part in held) / grid.size

    H = zt.discretize(model(), grid)
    look("H")
    psi = zt.WavePacket(width=1.0).on(grid)
    look("psi")
    begun = course.begin

    def watched(context, psi):
        look("begin")
        return begun(context, psi)

    with mock.patch.object(course, "begin", watched):
        end = zt.evolve(H, np.asarray(psi), (0.0, 0.04), 0.02, zt.SplitOperator(), step_check=True)
    look("end")
    assert np.shape(end.final) == shape
    return found


def model() -> zt.Model:
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=1)
    terms = [zt.Kinetic(), zt.SoftCoulomb(), zt.Potential(expression="0.1 * x**2 * y")]
    return zt.Model([*terms, zt.ComplexAbsorber(width=1.0), zt.LengthGauge(pulse)])


def estimate() -> dict:
    """Bytes that `--dry-run` tells, as multiples of ψ: what the run holds alone, and in all."""
    found = {}
    for shape, count in (((24, 16, 16), 1), ((24, 16, 16), DEVICES), ((23, 15, 17), DEVICES)):
        zt.configure(mesh={"space": count})
        H = zt.discretize(model(), zt.Grid(shape, 0.5))
        plan = solve.prepare(H, jnp.complex128, (0.0, 1.0), 0.02, zt.SplitOperator())
        taken = plan.program.memory, needs.memory_of_run(plan)
        found[f"{shape[0]} on {count}"] = [n / (16 * math.prod(shape)) for n in taken]
    return found


def gather() -> dict:
    """Arrays cut in several ways, fetched as from other processes, in portions of `PORTION`."""
    mesh = zt.configure(mesh={"rows": 2, "columns": 4}).mesh
    assert mesh is not None
    sent, same = [], []
    copied = runtime._copied

    def watched(array, sharding):
        sent.append(array.nbytes)
        return copied(array, sharding)

    cuts = [(("rows", "columns"),), ("rows", "columns"), (None, "columns"), (None, None, "rows")]
    with (
        mock.patch.object(runtime, "PORTION", PORTION),
        mock.patch.object(runtime, "_copied", watched),
    ):
        for dtype in (jnp.complex128, jnp.int32):
            known = np.arange(16 * 12 * 10).reshape(16, 12, 10).astype(dtype)
            for axes in cuts:
                array = jax.device_put(known, NamedSharding(mesh, PartitionSpec(*axes)))
                same.append(bool(np.array_equal(runtime._gathered(array), known)))
    return {"same": same, "most": max(sent), "times": len(sent), "refused": refused()}


def refused() -> str:
    """A device that a mesh would leave out."""
    try:
        zt.configure(device="cpu:5", mesh={"space": 2})
    except zt.InputError as error:
        return str(error)
    return ""
