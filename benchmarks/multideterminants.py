"""How does the cost of a sweep and of an energy grow with the number of determinants?

Random expansions over `ORBITALS` orbitals of plane waves in a cell with `ELECTRONS`: single and
double excitations of each spin, the determinants pairs of such strings. Moves are drifted, as in
DMC. Beside them stands one determinant of the same orbitals, with its delayed updates. Projected is
the same expansion with all its determinants computed at every move, by what one costs.

    taskset -c 0 python benchmarks/multideterminants.py --json FILE
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, median_seconds
from records import finish, record

import zitter as zt
from zitter.qmc.energies import local_energies
from zitter.qmc.walk.dynamics import DriftDiffusion
from zitter.qmc.walk.sweep import sweep

ELECTRONS, ORBITALS, WALKERS = 14, 19, 64
COUNTS = (2, 10, 100, 1000, 5000)
KEY = jax.random.PRNGKey(0)


def strings(n: int, orbitals: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """The lowest, then singles and doubles from it in random order."""
    found = []
    for k in (1, 2):
        for holes in itertools.combinations(range(n), k):
            for particles in itertools.combinations(range(n, orbitals), k):
                found.append(tuple(sorted({*range(n)} - {*holes} | {*particles})))
    return [tuple(range(n)), *(found[i] for i in rng.permutation(len(found)))]


def expansion(count: int) -> zt.qmc.Determinants:
    rng = np.random.default_rng(0)
    n = ELECTRONS // 2
    listed = strings(n, ORBITALS, rng)
    each = min(len(listed), max(2, int(np.ceil(np.sqrt(count)))))
    pairs = list(itertools.product(listed[:each], listed[:each]))[:count]
    c = np.concatenate([[1.0], 0.1 * rng.normal(size=len(pairs) - 1)])
    return zt.qmc.Determinants(c.tolist(), [up for up, _ in pairs], [down for _, down in pairs])


def measured(psi: Any) -> dict[str, Any]:
    """Microseconds for each walker."""
    walkers = eqx.filter_jit(lambda psi, r: jax.vmap(psi.start)(r))(
        psi, psi.system.start(KEY, WALKERS)
    )
    steps = DriftDiffusion(jnp.asarray(0.01))
    walk = eqx.filter_jit(lambda psi, w: sweep(psi, steps, w, KEY)[0])
    energy = eqx.filter_jit(lambda psi, w: local_energies(psi, w, KEY))
    scale = 1e6 / WALKERS
    return {
        "us_sweep": scale * median_seconds(lambda: walk(psi, walkers)),
        "us_energy": scale * median_seconds(lambda: energy(psi, walkers)),
        "bytes_per_walker": sum(x.nbytes for x in jax.tree.leaves(walkers)) // WALKERS,
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure()
    gas = zt.qmc.ElectronGas(ELECTRONS, 1.0)
    orbitals = zt.qmc.PlaneWaves(gas.cell, ORBITALS)
    one = measured(zt.qmc.SlaterJastrow(gas, orbitals=orbitals))
    projected = []
    rows = [{"determinants": 1, "strings": 1, **one}]
    for count in COUNTS:
        psi: Any = zt.qmc.SlaterJastrow(gas, orbitals=orbitals, determinants=expansion(count))
        found = measured(psi)
        strings_of_a_spin = int(np.shape(psi.slater.excitations.C)[0])
        times = found["us_sweep"] / one["us_sweep"]
        rows.append(
            {
                "determinants": count,
                "strings": strings_of_a_spin,
                **found,
                "sweeps_of_one_determinant": times,
            }
        )
        projected.append({"determinants": count, "each_by_itself_would_take_times": count / times})
    question = "cost of a sweep by the number of determinants"
    finish(record("multideterminants", question, rows, projected=projected), options.json)


if __name__ == "__main__":
    main()
