"""Do the errors stated with stationary states hold, and are they more than empty words?

Random problems with known energies (tests/systems/stationary.py): wells along one axis and products
of them with every kinetic energy, −Z/r in the plane and in space with the nucleus anywhere between
grid points, H2+ from overlapping cores to separate ones. For each kind: how often the stated error
covers the true one, and the median of stated over true.

    python benchmarks/energy_errors.py --json FILE [--part 0.2]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the problems

import numpy as np
from common import arguments
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
}


def ratios(kind: str, count: int) -> list[tuple[float, float]]:
    """(stated, true) for each state of `count` problems."""
    found = []
    for seed in range(count):
        problem = MAKERS[kind](np.random.default_rng([seed, list(MAKERS).index(kind)]))
        H = zt.discretize(problem.model, problem.grid)
        eig = zt.eigenstates(H, len(problem.exact), basis_check=True)
        true = np.abs(np.asarray(eig.energies) - problem.exact)
        found += list(zip(eig.info["energy_errors"], true.tolist(), strict=True))
    return found


def row(kind: str, pairs: list[tuple[float, float]], problems: int, seconds: float) -> dict:
    stated, true = np.array(pairs).T
    ratio = stated / np.maximum(true, 1e-15)
    return {
        "kind": kind,
        "problems": problems,
        "energies": len(pairs),
        "covered": float(np.mean(ratio >= 1)),
        "median_stated_over_true": float(np.median(ratio)),
        "smallest": float(ratio.min()),
        "true_from": float(true.min()),
        "true_to": float(true.max()),
        "once_seconds": seconds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the problems of each kind")
    options = parser.parse_args()
    zt.configure(precision="double", device="cpu")
    warnings.simplefilter("ignore")
    rows, every, problems = [], [], 0
    started = time.perf_counter()
    for kind, count in COUNTS.items():
        tick, count = time.perf_counter(), max(1, round(count * options.part))
        pairs = ratios(kind, count)
        rows.append(row(kind, pairs, count, time.perf_counter() - tick))
        print(rows[-1], flush=True)
        every, problems = every + pairs, problems + count
    rows.append(row("all", every, problems, time.perf_counter() - started))
    question = (__doc__ or "").splitlines()[0]
    finish(record("energy_errors", question, rows), options.json)


if __name__ == "__main__":
    main()
