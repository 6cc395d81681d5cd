"""Do the errors by the step size that evolutions state hold, and are they more than empty words?

A packet before a soft core on a line, at rest or in a pulse, by every method that suits a grid with
random steps. For each method: how often the stated errors of the final state and of what was
measured on it cover the true ones, by a run of tiny steps, and the median of stated over true.

    python benchmarks/step_errors.py --json FILE [--part 0.2]
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from common import arguments, coverage
from records import finish, record

import zitter as zt

RUNS = 8  # of each method, half of them in the pulse
END = 8.0
# Of the references: splitting of fourth order, or Lanczos where the kinetic energy is differences.
BEST = {"spectral": (zt.SplitOperator(4), 0.005), 2: (zt.Lanczos(12), 0.002)}
LEAST = 1e-9  # of true errors that are told from those of the reference
METHODS = {
    "Lanczos(8)": (zt.Lanczos(8), 0.05, 0.5),
    "Taylor(4)": (zt.Taylor(4), 0.01, 0.08),
    "SplitOperator(2)": (zt.SplitOperator(2), 0.02, 0.5),
    "SplitOperator(4)": (zt.SplitOperator(4), 0.05, 0.6),
    "CrankNicolson": (zt.CrankNicolson(), 0.01, 0.2),
    "RungeKutta4": (zt.RungeKutta4(), 0.01, 0.04),
    "Chebyshev": (zt.Chebyshev(), 0.02, 0.4),
}


def observables() -> list:
    return [zt.Norm(), zt.Position(), zt.Momentum(), zt.Energy(), zt.Populations(n=2)]


def hamiltonians(order: Any) -> tuple:
    """Without light and with it, and the packet to start from."""
    grid = zt.Grid(64, 0.5)
    x = grid.points(0)
    psi = grid.normalize(jnp.asarray(np.exp(-((x - 1) ** 2) / 2 + 0.8j * x)))
    atom = [zt.Kinetic(order=order), zt.SoftCoulomb()]
    pulse = zt.LengthGauge(zt.SineSquared(amplitude=0.1, frequency=0.8, cycles=1))
    return [zt.discretize(zt.Model(terms), grid) for terms in (atom, [*atom, pulse])], psi


def pairs(H, psi, best: zt.Solution, method, dt: float) -> list[tuple[float, float]]:
    """(stated, true) of the state and of all numbers, as far as the reference tells them."""
    options = {"observables": observables(), "save_every": 5, "step_check": True}
    found = zt.evolve(H, psi, (0.0, END), dt, method, **options)
    true = float(H.basis.norm(jnp.asarray(found.final) - jnp.asarray(best.final)))
    both = [(found.info["step_error"], true)]
    for name, stated in found.step_errors.items():
        missed = np.abs(found.observables[name][-1] - best.observables[name][-1])
        both += list(zip(np.ravel(stated).tolist(), np.ravel(missed).tolist(), strict=True))
    return [pair for pair in both if pair[1] > LEAST]


def row(method: str, runs: int, both: list[tuple[float, float]], seconds: float) -> dict:
    return {
        "method": method,
        "runs": runs,
        "numbers": len(both),
        **coverage(both),
        "once_seconds": seconds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the runs of each method")
    options = parser.parse_args()
    zt.configure(precision="double", device="cpu")
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(7)
    rows, every, started = [], [], time.perf_counter()
    count = max(2, round(RUNS * options.part))
    settings = {}
    for order, (best, tiny) in BEST.items():  # CrankNicolson wants bands
        hs, psi = hamiltonians(order)
        bests = [zt.evolve(H, psi, (0.0, END), tiny, best, observables(), 1000) for H in hs]
        settings[order] = hs, psi, bests
    for name, (method, least, most) in METHODS.items():
        tick, both = time.perf_counter(), []
        hs, psi, bests = settings[2 if name == "CrankNicolson" else "spectral"]
        for run in range(count):
            dt = float(np.exp(rng.uniform(np.log(least), np.log(most))))
            both += pairs(hs[run % 2], psi, bests[run % 2], method, dt)
        rows.append(row(name, count, both, time.perf_counter() - tick))
        print(rows[-1], flush=True)
        every += both
    rows.append(row("all", count * len(METHODS), every, time.perf_counter() - started))
    print(rows[-1], flush=True)
    question = (__doc__ or "").splitlines()[0]
    finish(record("step_errors", question, rows), options.json)


if __name__ == "__main__":
    main()
