"""Molecules with pseudopotentials on one core: walker-sweeps per second beside PyQMC and jQMC.

H2 and CO (ccECP; orbitals of the tests' data) and benzene (30 electrons, ccECP, orbitals by PySCF
here). VMC: ten sweeps and one local energy, with one- and two-body Jastrow factors. DMC: ten steps
with T-moves. What counts is the time of the processor, the least of three turns on one core in
double precision; compilation and the making of wave functions are left out. The work is not the
same: PyQMC's moves of VMC drift, its quadrature has 6 points of which far ones are drawn at random,
ours has 12. So there are rates and no ratios. jQMC wants another version of JAX, and a library of
MPI (`pip install jqmc mpich` in an environment of its own): name a Python that has it.

    taskset -c 0 python benchmarks/matter_peers.py --json FILE [--jqmc PYTHON] [NAME…]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from common import arguments, fastest, noted
from records import finish, record

import zitter as zt
from zitter.qmc.streams import seeded
from zitter.qmc.walk import diffusion, variational

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "orbitals"
SWEEPS = 10
ROUNDS = 3
BENZENE = "\n".join(
    f"{symbol} {r * np.cos(np.pi * i / 3)} {r * np.sin(np.pi * i / 3)} 0"
    for symbol, r in (("C", 1.397), ("H", 2.481))
    for i in range(6)
)  # ångström
WALKERS = {"h2-pbe": 2000, "co": 500, "benzene": 64}
JQMC = """
    import json, shutil, sys, tempfile, time
    import jax
    import trexio
    jax.config.update("jax_enable_x64", True)
    from jqmc.hamiltonians import Hamiltonian_data
    from jqmc.jastrow_factor import Jastrow_data, Jastrow_one_body_data, Jastrow_two_body_data
    from jqmc.jqmc_mcmc import MCMC
    from jqmc.trexio_wrapper import read_trexio_file
    from jqmc.wavefunction import Wavefunction_data
    path, walkers, moves, rounds = sys.argv[1], *map(int, sys.argv[2:])
    whole = tempfile.mkdtemp() + "/orbitals.h5"  # it asks for spins of orbitals that have none
    shutil.copy(path, whole)
    with trexio.File(whole, "u", back_end=trexio.TREXIO_HDF5) as file:
        trexio.write_mo_spin(file, [0] * trexio.read_mo_num(file))
    structure, _, _, _, geminal, coulomb = read_trexio_file(whole, store_tuple=True)
    one = Jastrow_one_body_data.init_jastrow_one_body_data(
        jastrow_1b_param=1.0, structure_data=structure,
        core_electrons=tuple(coulomb.z_cores) if coulomb.ecp_flag else (0,) * structure.natom,
    )
    two = Jastrow_two_body_data.init_jastrow_two_body_data(jastrow_2b_param=1.0)
    jastrow = Jastrow_data(
        jastrow_one_body_data=one, jastrow_two_body_data=two, jastrow_three_body_data=None
    )
    psi = Wavefunction_data(jastrow_data=jastrow, geminal_data=geminal)
    hamiltonian = Hamiltonian_data(
        structure_data=structure, coulomb_potential_data=coulomb, wavefunction_data=psi
    )
    run = MCMC(hamiltonian_data=hamiltonian, num_walkers=walkers, num_mcmc_per_measurement=moves)
    found = []
    for _ in range(rounds + 1):
        times = []
        for count in (1, 4):
            start = time.process_time()
            run.run(num_mcmc_steps=count)
            times.append(time.process_time() - start)
        found.append((times[1] - times[0]) / 3)
    import importlib.metadata
    print(json.dumps([found[1:], importlib.metadata.version("jqmc")]))
"""


def mean_field(name: str, folder: Path) -> tuple[Any, Any, Path]:
    """(molecule, mean field, chkfile) of PySCF."""
    from pyscf import gto, lib, scf

    path = FOLDER / f"{name}.chk"
    if name == "benzene":
        path = folder / "benzene.chk"
        mol = gto.M(atom=BENZENE, basis="ccecp-ccpvdz", ecp="ccecp", verbose=0)
        found = scf.RHF(mol).density_fit()
        found.chkfile = str(path)
        found.kernel()
        return mol, found, path
    mol = lib.chkfile.load_mol(str(path))
    found = scf.RHF(mol)
    found.__dict__.update(lib.chkfile.load(str(path), "scf"))
    return mol, found, path


def ours(path: Path, walkers: int) -> dict[str, Callable[[], Any]]:
    psi = zt.qmc.from_pyscf(path, [zt.qmc.U(), zt.qmc.Chi()])
    state = variational.first_state(psi, walkers, seeded(0), jnp.float64)
    count = jnp.asarray(SWEEPS, jnp.int32)
    no = jnp.asarray(False)
    fixed = variational.Context(psi, count, no, (), jnp.float64)
    sample = eqx.filter_jit(variational.step)
    for _ in range(5):
        state, _ = sample(fixed, state)
    way = zt.qmc.TMoves()
    projecting = diffusion.Context(psi, jnp.asarray(0.02), count, no, (), jnp.float64, way)
    blank = diffusion.blank_state(state, jnp.asarray(-10.0))
    project = eqx.filter_jit(diffusion.step)
    return {
        "zitter: VMC": lambda: sample(fixed, state)[0].walkers.r,
        "zitter: DMC": lambda: project(projecting, blank)[0].walkers.r,
    }


def pyqmc(mol: Any, found: Any, walkers: int) -> dict[str, Callable[[], Any]]:
    from pyqmc.api import EnergyAccumulator, generate_wf, initial_guess
    from pyqmc.method.dmc import dmc_propagate
    from pyqmc.method.mc import vmc_worker

    psi, _ = generate_wf(mol, found)
    configs = initial_guess(mol, walkers)
    energy = EnergyAccumulator(mol)
    vmc_worker(psi, configs, 0.3, SWEEPS, {})

    def sample() -> Any:
        configs_now = vmc_worker(psi, configs, 0.3, SWEEPS, {})[1]
        psi.recompute(configs_now)
        return energy(configs_now, psi)["total"]

    def project() -> Any:
        weights = np.ones(walkers)
        made = dmc_propagate(
            psi, configs, weights, 0.02, 10.0, -10.0, -10.0, nsteps=SWEEPS,
            accumulators={"energy": energy},
        )  # fmt: skip
        return made[1].configs

    return {"PyQMC: VMC": sample, "PyQMC: DMC": project}


def jqmc(python: str, name: str, walkers: int, electrons: int) -> tuple[float, str]:
    """(least seconds of ten sweeps and a local energy, version); the record has their spread."""
    path = FOLDER / f"{name}.trexio.h5"
    numbers = [str(x) for x in (walkers, SWEEPS * electrons, ROUNDS)]
    command = [python, "-c", textwrap.dedent(JQMC), str(path), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr[-2000:])
    times, version = json.loads(done.stdout.splitlines()[-1])
    noted(times)
    return min(times), version


def rows_of(
    name: str, python: str | None, folder: Path, versions: dict[str, str]
) -> list[dict[str, Any]]:
    """`versions` gets those that this Python does not have."""
    mol, found, path = mean_field(name, folder)
    walkers = WALKERS[name]
    actions = ours(path, walkers) | pyqmc(mol, found, walkers)
    times = fastest(actions, ROUNDS, time.process_time)
    if python and name != "benzene":
        times["jQMC: VMC"], versions["jqmc"] = jqmc(python, name, walkers, mol.nelectron)
    return [
        {
            "molecule": name,
            "electrons": mol.nelectron,
            "walkers": walkers,
            "what": what,
            "walker_sweeps_per_second": walkers * SWEEPS / seconds,
        }
        for what, seconds in times.items()
    ]


def main() -> None:
    import tempfile

    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=list(WALKERS))
    parser.add_argument("--jqmc", help="a Python with jQMC")
    options = parser.parse_args()
    zt.configure()
    rows: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            rows += rows_of(name, options.jqmc, Path(folder), versions)
    question = "How many walker-sweeps per second on one core, beside PyQMC and jQMC?"
    made = record("matter_peers", question, rows, "pyqmc", "pyscf")
    made["versions"] |= versions
    finish(made, options.json)


if __name__ == "__main__":
    main()
