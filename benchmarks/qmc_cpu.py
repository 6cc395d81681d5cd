"""How long do Ewald energies and VMC sweeps take per walker on one core, beside PyQMC's?

Ewald energy of the simple cubic gas at N = 246, ours in double precision with the default
tolerance, and PyQMC's Ewald of the same cell in the same run. Where PyQMC is not installed the row
says so and no ratio is given. Then walker-sweeps per second of VMC at N = 54 with u and p.

    taskset -c 0 python benchmarks/qmc_cpu.py --json FILE
"""

from __future__ import annotations

import os

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, finish, median_seconds, record

import zitter as zt
from zitter.qmc import timing


def ewald_row(n: int, walkers: int) -> tuple[dict[str, Any], float]:
    gas = zt.qmc.ElectronGas(n, 1.0)
    r = gas.start(jax.random.PRNGKey(0), walkers)
    energy = jax.jit(jax.vmap(gas.ewald.energy))
    seconds = median_seconds(lambda: energy(r)) / walkers
    tight = zt.qmc.Ewald(gas.cell, 1e-13)
    error = float(jnp.abs(energy(r)[0] - tight.energy(r[0])) / n)
    row = {
        "what": "zitter Ewald energy",
        "N": n,
        "ms_per_walker": 1e3 * seconds,
        "error_per_electron": error,
    }
    return row, seconds


def pyqmc_row(n: int, walkers: int, ours: float) -> dict[str, Any]:
    """PyQMC's Ewald class on the same cell and the same electrons."""
    try:
        import pyqmc.pbc.ewald as ewald
        import pyscf.pbc.gto as gto
        from pyqmc.configurations.coord import PeriodicConfigs
    except ImportError as error:
        return {"what": "PyQMC Ewald energy", "N": n, "result": f"not measured: {error}"}
    gas = zt.qmc.ElectronGas(n, 1.0)
    edge = float(gas.cell.vectors[0, 0])
    cell = gto.M(a=np.eye(3) * edge, atom="H 0 0 0; H 1 1 1", unit="B", basis="sto-3g")
    cell.nelectron = n
    r = np.moveaxis(np.asarray(gas.start(jax.random.PRNGKey(0), walkers)), 1, 2)
    configs = PeriodicConfigs(r, np.eye(3) * edge)
    peer = ewald.Ewald(cell)
    seconds = median_seconds(lambda: np.asarray(peer.energy(configs)[0]), 3) / walkers
    return {
        "what": "PyQMC Ewald energy",
        "N": n,
        "ms_per_walker": 1e3 * seconds,
        "ratio_to_zitter": seconds / ours,
    }


def sweep_row(n: int, walkers: int) -> dict[str, Any]:
    found = timing.split(zt.qmc.ElectronGas(n, 1.0), walkers)
    return {
        "what": "VMC sweep with u and p, and energy",
        "N": n,
        "walker_sweeps_per_second": walkers / found["sweep_u_p"],
        "with_energy_per_second": walkers / (found["sweep_u_p"] + found["energy"]),
        "share_of_p": found["p_share"],
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure()
    row, seconds = ewald_row(246, 16)
    peer = pyqmc_row(246, 4, seconds)
    rows = [row, peer, sweep_row(54, 64)]
    peers = ("pyqmc",) if "ratio_to_zitter" in peer else ()
    finish(record("qmc_cpu", "Ewald and VMC per walker", rows, *peers), options.json)


if __name__ == "__main__":
    main()
