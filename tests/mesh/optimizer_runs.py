"""Optimizations on one device and on several: where tables lie, sums over them, and steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import zitter as zt
from mesh.walker_runs import wavefunction
from zitter import qmc
from zitter.qmc.optimizers import optimization, sums, tables

METHODS = {
    "linear": qmc.LinearMethod(1),
    "reconfiguration": qmc.StochasticReconfiguration(1),
    "variance": qmc.VarianceMinimization(1),
}


def main(counts: list[int], names: list[str], walkers: int = 24) -> dict:
    """How far matrices and parameters lie from those found on one device, as parts of them."""
    found: dict[str, Any] = {}
    for devices in (1, *counts):
        zt.configure(mesh={"walkers": devices})
        rows = {"sums": matrices(devices, walkers)}
        for name in names:
            first, last = qmc.optimize(poor(), METHODS[name], walkers, draws=8).history
            assert not np.array_equal(first.parameters, last.parameters)
            rows[name] = [last.parameters]
        for name, values in rows.items():
            found.setdefault(name, []).append(values)
    return {
        name: max(
            float(np.max(np.abs(a - b)) / np.max(np.abs(b)))
            for many in runs[1:]
            for a, b in zip(many, runs[0], strict=True)
        )
        for name, runs in found.items()
    }


def poor() -> Any:
    """A wave function that every method improves."""
    psi = wavefunction("")
    return psi.with_parameters(0.5 * psi.parameters)


def matrices(devices: int, walkers: int) -> list[np.ndarray]:
    """All sums over half of the samples; a table's rows are divided among the devices."""
    psi = poor()
    now = optimization.Source(psi, walkers, 8, 2, 0, False).sampled(psi, 2, "")
    table = tables.tabulate(psi, now.draws)
    for slopes in table.pieces:
        for leaf in slopes:
            shares = [shard.data.shape[0] for shard in leaf.addressable_shards]
            assert shares == [leaf.shape[0] // devices] * devices, shares
    for leaf in now.draws.data.fixed.addressable_shards:
        assert leaf.data.shape == (16, walkers // devices)
    half = table.part(now.walker % 2 == 0)
    energy = tables.limited(half.energy)
    log, slope = sums.log_covariance(half, energy), sums.energy_covariance(half)
    directions = np.eye(len(log.mean))[:, :-1] / np.sqrt(np.diag(log.matrix))[:, None]
    return [*log, *slope, sums.hamiltonian(half, energy, log.mean, directions)]
