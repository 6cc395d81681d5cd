"""How often do error bars of short Monte Carlo runs hold the truth?

Independent runs of each kind, with 20, 60 and 200 blocks: VMC and DMC of 14 electrons of a gas (and
VMC with eight walkers), DMC of a trap with few walkers that forget in some 50 blocks, and plain
series correlated as ρⁿ. The truth of a run is the mean of all
the others, far sharper than one run. Error bars should hold it in 68 % of all runs, twice the error
bar in 95 %; with 200 runs these shares scatter by 3.3 and 1.5 %.

    python benchmarks/error_bars.py --runs 200 --json FILE [--jobs 4]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
from common import arguments, rows_of_children
from records import finish, record

import zitter as zt
from zitter.qmc import statistics

BLOCKS = (20, 60, 200)
QUESTION = "how often error bars of short Monte Carlo runs hold the truth"
CORRELATIONS = (0.0, 0.5, 0.9)
FEW_WALKERS = {"dmc, 64 walkers": 64, "dmc, 16 walkers": 16}
KINDS = ["vmc", "vmc, 8 walkers", "dmc", *FEW_WALKERS, "series"]


def gas() -> Any:
    return zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(14, 1.0), [zt.qmc.U(order=6)])


def trap() -> Any:
    return zt.qmc.SlaterJastrow(zt.qmc.Trap(frequency=1.0, width=0.8))


def monte_carlo(kind: str, blocks: int, seed: int) -> tuple[float, float, bool]:
    """(mean, error bar, whether it has a note) of a run in blocks of a sweep or two time steps."""
    if kind == "dmc":
        found = zt.qmc.dmc(gas(), 0.05, 128, blocks, steps=2, seed=seed)
    elif kind in FEW_WALKERS:
        found = zt.qmc.dmc(trap(), 0.01, FEW_WALKERS[kind], blocks, steps=2, seed=seed)
    else:
        walkers = 8 if kind == "vmc, 8 walkers" else 128
        found = zt.qmc.vmc(gas(), walkers, blocks, stride=1, seed=seed)
    return found.energy, found.energy_error, bool(found.estimate().note)


def series(correlation: float, blocks: int, seed: int) -> tuple[float, float, bool]:
    random = np.random.default_rng([seed, blocks])
    noise = random.normal(size=blocks)
    noise[1:] *= np.sqrt(1 - correlation**2)
    x = np.asarray(scipy.signal.lfilter([1.0], [1.0, -correlation], noise))
    found = statistics.reblock(x)
    return found.mean, found.error, bool(found.note)


def coverage(runs: list[tuple[float, float, bool]], truth: float | None = None) -> dict[str, Any]:
    """Shares of runs within one and two error bars; those of runs that go without a note, too."""
    mean, error, noted = (np.array(column) for column in zip(*runs, strict=True))
    count = len(mean)
    others = (mean.sum() - mean) / (count - 1) if truth is None else np.full(count, truth)
    pull = np.abs(mean - others) / error
    plain = pull[~noted]
    return {
        "runs": count,
        "within_one": float(np.mean(pull < 1)),
        "within_two": float(np.mean(pull < 2)),
        "chi_squared": float(np.mean(pull**2)),
        "with_a_note": float(np.mean(noted)),
        "within_one_without_note": float(np.mean(plain < 1)) if len(plain) else None,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--blocks", nargs="*", type=int, default=BLOCKS)
    parser.add_argument("--jobs", type=int, default=1, help="kinds and lengths at a time")
    options = parser.parse_args()
    zt.configure()

    def kept(rows: list[dict[str, Any]]) -> None:
        finish(record("error_bars", QUESTION, rows), options.json)

    if options.jobs > 1:
        each = [(kind, str(blocks)) for kind in options.kinds for blocks in options.blocks]
        rest = ["--runs", str(options.runs)]
        words = [[__file__, *rest, "--kinds", kind, "--blocks", blocks] for kind, blocks in each]
        rows_of_children(words, options.jobs, kept)
        return
    rows: list[dict[str, Any]] = []
    for kind in options.kinds:
        for correlation in CORRELATIONS if kind == "series" else (None,):
            for blocks in options.blocks:
                label = kind if correlation is None else f"series, {correlation}ⁿ"
                if correlation is None:
                    found = coverage([monte_carlo(kind, blocks, k) for k in range(options.runs)])
                else:
                    many = range(10 * options.runs)
                    found = coverage([series(correlation, blocks, k) for k in many], 0.0)
                rows.append({"kind": label, "blocks": blocks, **found})
                kept(rows)


if __name__ == "__main__":
    main()
