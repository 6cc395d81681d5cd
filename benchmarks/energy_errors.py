"""Do the errors stated with stationary states hold, and are they more than empty words?

Random problems with known energies (tests/systems/stationary.py): wells along one axis and products
of them with every kinetic energy, −Z/r in the plane and in space with the nucleus anywhere between
grid points, H2+ from overlapping cores to separate ones; atoms in splines and spinors, two centers
in spheroidal coordinates, and decaying states. For each kind: how often the stated error covers the
true one, and the median of stated over true; where none is stated, that is counted apart.

    python benchmarks/energy_errors.py --json FILE [--part 0.2] [--kinds splines spinors]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the problems

import numpy as np
from common import arguments, coverage
from records import finish, record

import zitter as zt
from systems.stationary import MAKERS

COUNTS = {
    "harmonic": 40,
    "Morse": 40,
    "Pöschl–Teller": 40,
    "soft Coulomb": 12,
    "product of two": 24,
    "product of three": 8,
    "Coulomb in the plane": 24,
    "Coulomb in space": 10,
    "H2+": 14,
    "splines": 20,
    "two centers": 20,
    "spinors": 20,
    "resonances": 15,
}


def ratios(kind: str, count: int) -> tuple[list[tuple[float, float]], int]:
    """(stated, true) for each state of `count` problems, and how many states have none stated."""
    found, without = [], 0
    for seed in range(count):
        problem = MAKERS[kind](np.random.default_rng([seed, list(MAKERS).index(kind)]))
        eig = problem.solved()
        if "energy_errors" not in eig.info:  # refused, with the reason
            without += len(problem.exact)
            continue
        true = np.abs(np.asarray(eig.energies) - problem.exact)
        found += list(zip(eig.info["energy_errors"], true.tolist(), strict=True))
    return found, without


def row(
    kind: str, pairs: list[tuple[float, float]], problems: int, without: int, seconds: float
) -> dict:
    return {
        "kind": kind,
        "problems": problems,
        "energies": len(pairs),
        "not_stated": without,
        **coverage(pairs),
        "once_seconds": seconds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the problems of each kind")
    parser.add_argument("--kinds", nargs="+", choices=COUNTS, default=COUNTS, help="of problems")
    options = parser.parse_args()
    zt.configure(precision="double", device="cpu")
    warnings.simplefilter("ignore")
    rows, every, problems, unknown = [], [], 0, 0
    started = time.perf_counter()
    for kind in options.kinds:
        tick, count = time.perf_counter(), max(1, round(COUNTS[kind] * options.part))
        pairs, without = ratios(kind, count)
        rows.append(row(kind, pairs, count, without, time.perf_counter() - tick))
        print(rows[-1], flush=True)
        every, problems, unknown = every + pairs, problems + count, unknown + without
    rows.append(row("all", every, problems, unknown, time.perf_counter() - started))
    question = (__doc__ or "").splitlines()[0]
    finish(record("energy_errors", question, rows), options.json)


if __name__ == "__main__":
    main()
