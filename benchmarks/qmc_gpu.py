"""Time per VMC sweep of large electron gases, split by part, against the memory-traffic bound.

Face-centred cubic cells of 678 and 1290 electrons, 256 walkers, both precisions. The bound for the
determinants is what reading every inverse twice and writing it once per block of delayed updates
takes at the measured speed of a copy. Then the growth of the cost with N, fitted as a power.

    python benchmarks/qmc_gpu.py --json FILE          (--quick for a small machine)
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, finish, median_seconds, record

import zitter as zt
from zitter.qmc import timing


def bytes_per_second(size: int) -> float:
    """Read and write of x + 1, counted both ways; large, so that the call itself costs nothing."""
    x = jnp.zeros(size // 8)
    add = jax.jit(lambda x: x + 1)
    return 2 * size / median_seconds(lambda: add(x), 7)


def measured(n: int, walkers: int, dtype: Any, speed: float) -> dict[str, Any]:
    gas = zt.qmc.ElectronGas(n, 1.0, 3, "fcc")
    found = timing.split(gas, walkers, dtype, sweeps=1)
    psi = zt.qmc.SlaterJastrow(gas)
    bound = timing.determinant_traffic(psi, walkers) / speed
    return {
        "N": n,
        "walkers": walkers,
        "precision": "double" if dtype == jnp.float64 else "single",
        "ms_sweep": 1e3 * found["sweep_u_p"],
        "ms_determinants": 1e3 * found["sweep_bare"],
        "ms_u": 1e3 * found["u"],
        "ms_p": 1e3 * found["p"],
        "share_of_p": found["p_share"],
        "ms_ewald": 1e3 * found["ewald"],
        "ms_energy": 1e3 * found["energy"],
        "ms_determinant_traffic_bound": 1e3 * bound,
        "bound_over_measured": bound / found["sweep_bare"],
        "MiB_per_walker": found["bytes_per_walker"] / 2**20,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small systems, few walkers")
    options = parser.parse_args()
    zt.configure()
    sizes, walkers = ((118, 226, 678, 1290), 256)
    if options.quick:
        sizes, walkers = (54, 118), 8
    speed = bytes_per_second(2**32 if not options.quick else 2**24)
    rows = []
    for dtype in (jnp.float64, jnp.float32):
        part = [measured(n, walkers, dtype, speed) for n in sizes]
        rows += part
        logs = np.log([[row["N"], row["ms_sweep"]] for row in part]).T
        power = float(np.polyfit(logs[0], logs[1], 1)[0])
        rows.append({"precision": part[0]["precision"], "sweep_grows_as_N_to_the": power})
    rows.append({"copy_GB_per_s": speed / 1e9})
    finish(record("qmc_gpu", "time per sweep of large gases, by part", rows), options.json)


if __name__ == "__main__":
    main()
