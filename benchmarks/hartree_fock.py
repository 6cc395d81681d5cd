"""VMC of determinants without a Jastrow factor, against the Hartree–Fock energies they came from.

Orbitals and energies are PySCF's, those of the tests (tests/data/make_chkfiles.py). A first run
measures how noisy the energy is and what a block takes, a second is as long as the error asked for
needs, or as the time allows. Molecules are given in hartree, crystals in hartree per primitive
cell; `sigmas` is the distance in error bars.

    python benchmarks/hartree_fock.py --json FILE [--error 3e-4] [--seconds 60] [NAME…]
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments
from records import finish, record

import zitter as zt
from zitter.qmc.statistics import reblock

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "orbitals"
MOLECULES = ["h2", "helium", "beryllium", "lih", "co", "beryllium-cas", "carbon-rohf"]
CRYSTALS = ["diamond-gamma", "diamond-twist", "diamond-2", "hydrogen-2"]
PILOT = 100  # blocks


def rows_of(
    name: str, walkers: int, error: float, longest: float, seed: int
) -> list[dict[str, Any]]:
    known = json.loads((FOLDER / "energies.json").read_text(encoding="utf-8"))[name]
    psi = zt.qmc.from_pyscf(FOLDER / f"{name}.chk", cusp=False)
    pilot = zt.qmc.vmc(psi, walkers, PILOT, seed=1)
    started = time.perf_counter()
    again = zt.qmc.vmc(
        psi, walkers, PILOT, seed=2, equilibration=10, start=pilot.positions,
        stride=pilot.info["stride"],
    )  # fmt: skip
    seconds = (time.perf_counter() - started) / PILOT
    noise = max(pilot.energy_error, again.energy_error)
    needed = min(1.3 * PILOT * (noise / error) ** 2, longest / seconds)
    started = time.perf_counter()
    out = zt.qmc.vmc(psi, walkers, max(math.ceil(needed), 200), seed=seed)
    seconds = time.perf_counter() - started
    kept = slice(out.start, None)
    traces = {part: out.traces[part][kept] for part in ("energy", "kinetic")}
    nonlocal_parts = [t[kept] for key, t in out.traces.items() if key.startswith("pseudopotential")]
    if nonlocal_parts:
        traces["ecp"] = np.sum(nonlocal_parts, axis=0)
    found = []
    for part, trace in traces.items():
        estimate = reblock(trace)
        found.append(
            {
                "system": name,
                "part": part,
                "hartree_fock": known[part],
                "vmc": estimate.mean,
                "error": estimate.error,
                "sigmas": (estimate.mean - known[part]) / estimate.error,
                "seed": seed,
                "walkers": walkers,
                "blocks": len(trace),
                "stride": out.info["stride"],
                "correlation_blocks": estimate.autocorrelation_time,
                "once_seconds": seconds,
            }
        )
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", default=MOLECULES + CRYSTALS)
    parser.add_argument("--walkers", type=int, default=8192)
    parser.add_argument("--seconds", type=float, default=60.0, help="longest run of a system")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--error", type=float, default=3e-4, help="of molecules, in hartree")
    parser.add_argument("--crystal-error", type=float, default=1e-3, help="hartree per cell")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.names:
        error = options.crystal_error if name in CRYSTALS else options.error
        made = rows_of(name, options.walkers, error, options.seconds, options.seed)
        for row in made:
            print({k: row[k] for k in ("system", "part", "vmc", "error", "sigmas", "once_seconds")})
        rows += made
        question = "Does VMC of a bare determinant give the Hartree–Fock energy and its parts?"
        finish(record("hartree_fock", question, rows), options.json)


if __name__ == "__main__":
    main()
