"""How does a sweep of boron nitride, part by part, grow with the number of electrons?

A monolayer of n × m cells, 8nm electrons, ccECP ions, blips, double precision: a sweep with more
and more terms of the Jastrow factor, and each part of the local energy, per walker. Exponents are
those of lines through the logarithms.

    python benchmarks/matter_solids.py --json FILE [--cells 3x3 9x9] [--walkers 256]
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from common import arguments, in_turn, least_seconds
from records import finish, record

from zitter import runtime
from zitter.reproduce import matter_solids
from zitter.reproduce.qmc_matter import ORBITALS


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--cells", nargs="+", default=["3x3", "3x9", "9x9"], help="divisors of 9")
    parser.add_argument("--walkers", type=int, default=256)
    options = parser.parse_args()
    runtime.configure(precision="double")
    # The same, and the record says the spread.
    matter_solids.best_seconds, matter_solids.times_in_turn = least_seconds, in_turn
    rows: list[dict[str, Any]] = []
    for cells in options.cells:
        n, m = map(int, cells.split("x"))
        walkers = (options.walkers, options.walkers)
        size = dataclasses.replace(matter_solids.FULL, nitride=(n, m, 1), walkers=walkers)
        electrons, times = matter_solids.sweep_times(ORBITALS / "bn.chk", size)
        each = {f"ms, {part}": 1e3 * min(s) / options.walkers for part, s in times.items()}
        rows.append({"N": electrons, "walkers": options.walkers} | each)
        print(rows[-1], flush=True)
    if len(rows) > 1:
        sizes = np.log([row["N"] for row in rows])
        rows.append(
            {
                f"{part[4:]} grows as N to the": float(
                    np.polyfit(sizes, np.log([row[part] for row in rows]), 1)[0]
                )
                for part in rows[0]
                if part.startswith("ms, ")
            }
        )
    finish(record("matter_solids", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
