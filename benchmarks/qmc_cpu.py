"""How long do Ewald energies and VMC sweeps take per walker on one core, beside PyQMC's?

Ewald energy of the simple cubic gas at N = 246, ours in double precision with two tolerances, and
PyQMC's Ewald of the same electrons in the same run, with the error of each; there is a ratio only
to those of ours that are at least as accurate. Then walker-sweeps per second at N = 54: ours for
the gas with u and p (plain and drifted moves), PyQMC's for 54 electrons of hydrogen in the same
cell (27 Bloch orbitals of each spin in a minimal Gaussian basis, one- and two-body Jastrow, drifted
moves); these are other wave functions, so that no ratio is formed. All take turns on one core, best
of three after a call that compiles; tables are made before.

    taskset -c 0 python benchmarks/qmc_cpu.py --json FILE        (PyQMC: pip install zitter[bench])
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, fastest
from records import finish, record

import zitter as zt
from zitter.qmc.walk.dynamics import DriftDiffusion, Dynamics, GaussianSteps
from zitter.qmc.walk.sweep import sweep


def ewald_rows(n: int, walkers: int) -> list[dict[str, Any]]:
    """Ours with the default tolerance, and with one that is as accurate as PyQMC's."""
    gas = zt.qmc.ElectronGas(n, 1.0)
    r = gas.start(jax.random.PRNGKey(0), walkers)
    exact = float(zt.qmc.Ewald(gas.cell, 1e-13).energy(r[0]))
    actions: dict[str, Callable[[], Any]] = {}
    for tolerance in (1e-6, 1e-8):
        energy = jax.jit(jax.vmap(zt.qmc.Ewald(gas.cell, tolerance).energy))
        actions[f"zitter, tolerance {tolerance:g}"] = lambda f=energy: f(r)
    actions["PyQMC"] = _pyqmc_ewald(gas, r)
    times = fastest(actions)
    errors = {
        name: abs(float(np.asarray(action())[0]) - exact) / n for name, action in actions.items()
    }
    rows = []
    for name, seconds in times.items():
        row: dict[str, Any] = {
            "what": f"{name}: Ewald energy",
            "N": n,
            "walkers": walkers,
            "ms_per_walker": 1e3 * seconds / walkers,
            "error_per_electron": errors[name],
        }
        if errors[name] <= errors["PyQMC"]:
            row["PyQMC_takes_times"] = times["PyQMC"] / seconds
        rows.append(row)
    return rows


def _pyqmc_ewald(gas: Any, r: Any) -> Callable[[], Any]:
    import pyscf.pbc.gto as gto
    from pyqmc.configurations.coord import PeriodicConfigs
    from pyqmc.observables.ewald import Ewald

    edge = np.asarray(gas.cell.vectors)
    # It wants nuclei; one of charge 1 adds next to nothing beside the electrons.
    cell = gto.M(a=edge, atom="H 0 0 0", unit="B", basis="sto-3g", spin=1, verbose=0)
    configs = PeriodicConfigs(np.moveaxis(np.asarray(r), 1, 2), edge)
    ewald = Ewald(cell)
    return lambda: ewald.energy(configs)[0]


def sweep_rows(n: int, ours: int, theirs: int) -> list[dict[str, Any]]:
    gas = zt.qmc.ElectronGas(n, 1.0)
    psi = zt.qmc.SlaterJastrow(gas, [zt.qmc.U(), zt.qmc.P()])
    state = jax.jit(jax.vmap(psi.start))(gas.start(jax.random.PRNGKey(0), ours))
    actions = {
        "zitter, plain moves": _sweep(psi, GaussianSteps(jnp.asarray(0.4)), state),
        "zitter, drifted moves": _sweep(psi, DriftDiffusion(jnp.asarray(0.02)), state),
        "PyQMC, drifted moves": _pyqmc_sweep(float(gas.cell.vectors[0][0]), theirs),
    }
    times = fastest(actions)
    rows = []
    for name, seconds in times.items():
        walkers = theirs if name.startswith("PyQMC") else ours
        rows.append(
            {
                "what": f"{name}: VMC sweep",
                "N": n,
                "walkers": walkers,
                "walker_sweeps_per_second": walkers / seconds,
            }
        )
    return rows


KEY = jax.random.PRNGKey(1)


def _sweep(psi: Any, dynamics: Dynamics, state: Any) -> Callable[[], Any]:
    run = eqx.filter_jit(lambda psi, dynamics, state: sweep(psi, dynamics, state, KEY)[0].r)
    return lambda: run(psi, dynamics, state)


def _pyqmc_sweep(edge: float, walkers: int) -> Callable[[], Any]:
    """54 hydrogen atoms on 3 × 3 × 3 body-centred cubic cells; orbitals after one SCF cycle."""
    import pyqmc.api
    import pyscf.pbc.gto as gto
    import pyscf.pbc.scf as scf
    from pyqmc.method.mc import vmc_worker
    from pyqmc.pbc.supercell import get_supercell

    a = edge / 3
    atoms = [["H", (0, 0, 0)], ["H", (a / 2, a / 2, a / 2)]]
    cell = gto.M(a=np.eye(3) * a, atom=atoms, unit="B", basis="sto-3g", verbose=0)
    mean_field = scf.KRHF(cell, cell.make_kpts([3, 3, 3])).density_fit()
    mean_field.max_cycle = 1
    mean_field.kernel()
    whole = get_supercell(cell, 3 * np.eye(3, dtype=int))
    psi, _ = pyqmc.api.generate_wf(whole, mean_field)
    configs = pyqmc.api.initial_guess(whole, walkers)
    return lambda: vmc_worker(psi, configs, 0.02, 1, {})[1].configs


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure()
    rows = [*ewald_rows(246, 8), *sweep_rows(54, 64, 64)]
    result = record("qmc_cpu", "Ewald and VMC per walker", rows, "pyqmc", "pyscf")
    finish(result, options.json)


if __name__ == "__main__":
    main()
