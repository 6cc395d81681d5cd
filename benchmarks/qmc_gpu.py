"""Time per VMC sweep of large electron gases, split by part, against the memory-traffic bound.

Face-centred cubic cells of 118 … 1290 electrons, 256 walkers, both precisions. The bound for the
determinants is what reading every inverse twice and writing it once per block of delayed updates
takes at the speed of a copy in the record of this device's bounds (device_bounds.py). Then the
growth of the cost with N, fitted as a power over all sizes and between the two largest, where
nothing but the determinants' 3n³/K ∝ N^(7/3) grows.

    python benchmarks/qmc_gpu.py --json FILE          (--quick for a small machine)
"""

from __future__ import annotations

import os

# Choosing among Triton's matrix products takes XLA longer than everything else here.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false")

from typing import Any

import jax.numpy as jnp
import numpy as np
from bounds import Bounds, of_this_device
from common import arguments, in_turn, least_seconds
from records import finish, record

import zitter as zt
from zitter.qmc.determinants import elimination
from zitter.reproduce import sweep_costs


def row(case: sweep_costs.Case, found: dict[str, float], bound: Bounds | None) -> dict[str, Any]:
    psi = case.wavefunction("bare")
    told = {}
    if bound is not None:
        # Of three passes over the inverses two read and one writes.
        least = sweep_costs.determinant_traffic(psi, case.walkers) / bound.copy
        told["ms_determinant_traffic_bound"] = 1e3 * least
        told["determinants_over_bound"] = found["sweep_bare"] / least
    return {
        "N": case.gas.electrons,
        "walkers": case.walkers,
        "precision": "double" if case.dtype == jnp.float64 else "single",
        "block": psi.slater.delay,
        "ms_sweep": 1e3 * found["sweep_u_p"],
        "ms_determinants": 1e3 * found["sweep_bare"],
        "ms_u": 1e3 * found["u"],
        "ms_p": 1e3 * found["p"],
        "ms_u_error": 1e3 * found["u_error"],
        "ms_p_error": 1e3 * found["p_error"],
        "share_of_p": found["p_share"],
        "ms_ewald": 1e3 * found["ewald"],
        "ms_energy_with_ewald": 1e3 * found["energy"],
        **told,
        "MiB_per_walker": found["bytes_per_walker"] / 2**20,
        "once_compile_seconds": found["compile"],
    }


def growth(rows: list[dict[str, Any]]) -> dict[str, Any]:
    n = np.log([r["N"] for r in rows])
    told: dict[str, Any] = {"precision": rows[0]["precision"]}
    for key in ("ms_sweep", "ms_determinants", "ms_u", "ms_p", "ms_ewald"):
        if any(r[key] <= r.get(f"{key}_error", 0.0) for r in rows):
            continue  # within the noise
        cost = np.log([r[key] for r in rows])
        told[f"{key[3:]}_grows_as_N_to_the"] = float(np.polyfit(n, cost, 1)[0])
        told[f"{key[3:]}_at_the_end"] = float((cost[-1] - cost[-2]) / (n[-1] - n[-2]))
    return told


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small systems, few walkers")
    options = parser.parse_args()
    zt.configure()
    # The same, and the record says the spread.
    sweep_costs.best_seconds, sweep_costs.times_in_turn = least_seconds, in_turn
    sizes, walkers = ((54, 118), 8) if options.quick else ((118, 226, 678, 1290), 256)
    bound = of_this_device()
    gases = [zt.qmc.ElectronGas(n, 1.0, 3, "fcc", allow_open_shell=n == 54) for n in sizes]
    cases = [sweep_costs.Case(g, walkers, t) for t in (jnp.float64, jnp.float32) for g in gases]
    found = sweep_costs.split(cases)
    rows = [row(case, times, bound) for case, times in zip(cases, found, strict=True)]
    count = len(gases)
    rows += [growth(rows[:count]), growth(rows[count:])]
    moves = "one Triton kernel" if elimination.triton_calls.has_triton() else "XLA"
    rows.append({"moves_of_a_block": moves, **({} if bound is None else bound.row())})
    finish(record("qmc_gpu", "time per sweep of large gases, by part", rows), options.json)


if __name__ == "__main__":
    main()
