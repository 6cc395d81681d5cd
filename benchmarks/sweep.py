"""How much faster are 32 pulses in one batch than one after another?

Hydrogen of Ó Broin and Nikolopoulos in the smaller form of `zitter reproduce` (172 states for each
l ≤ 5), 20 eV pulses of 1e13 to 1e15 W/cm², velocity gauge, Taylor of order 10.
Single: `evolve` once for each pulse, after compilation. Batched: the runs as `zitter sweep` carries
them, and `zt.scan`, each after a first call that compiles. Rounds alternate, and the median of
their ratios counts: what else runs on the machine then meets both. `load` is that of the machine
meanwhile (1 for each busy core), our own included.

    python benchmarks/sweep.py --json FILE
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, finish, record

import zitter as zt
from zitter import solve, together
from zitter.reproduce import hydrogen_laser

ITEMS = 32


def timed(action) -> tuple[float, list]:
    start = time.perf_counter()
    found = action()
    return time.perf_counter() - start, found


def final(end: zt.Solution | zt.RunError) -> np.ndarray:
    assert isinstance(end, zt.Solution), end
    return end.final


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--states", type=int, default=172, help="for each l")
    parser.add_argument("--lmax", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    zt.configure()
    size = dataclasses.replace(
        hydrogen_laser.SMALL,
        states=options.states,
        splines=options.states + 6,
        lmax=options.lmax,
        cycles=options.cycles,
    )
    basis, (method, dt, _) = hydrogen_laser.hydrogen(size), hydrogen_laser.METHODS["Taylor 10"]
    psi = jnp.asarray(basis.state(0)).astype(jnp.complex128)
    intensities = np.geomspace(1e13, 1e15, ITEMS) / zt.units.INTENSITY_W_PER_CM2
    span = (0.0, float(hydrogen_laser.paper_pulse(size).duration))

    def plan(intensity) -> solve.Plan:
        pulse = zt.SineSquaredField(
            cycles=size.cycles, frequency=hydrogen_laser.PHOTON, intensity=intensity
        )
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse)]), basis)
        return solve.prepare(H, psi.dtype, span, dt, method, (zt.Norm(),), 10**9)

    def scanned(intensity):
        return plan(intensity).run(psi).final

    plans = [plan(intensity) for intensity in intensities]
    plans = [together.shared(plans[0], one) for one in plans]
    ways = {
        "one after another": lambda: [np.asarray(one.run(psi).final) for one in plans],
        "zitter sweep": lambda: list(map(final, together.carried(plans, [psi] * ITEMS))),
        "zt.scan": lambda: list(np.asarray(zt.scan(scanned, intensity=intensities))),
    }
    plans[0].run(psi)
    finals = {way: ways[way]() for way in ("zitter sweep", "zt.scan")}  # compiles
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    loads = [os.getloadavg()[0]]
    for _ in range(options.rounds):
        for way, action in ways.items():
            took, finals[way] = timed(action)
            seconds[way].append(took)
            loads.append(os.getloadavg()[0])
            print(f"{way}: {took:.3g} s, load {loads[-1]:.3g}", flush=True)
    alone = seconds["one after another"]
    rows = []
    for way, times in seconds.items():
        ratios = [a / b for a, b in zip(alone, times, strict=True)]
        apart = np.max(np.abs(np.asarray(finals[way]) - np.asarray(finals["one after another"])))
        rows.append(
            {
                "way": way,
                "items": ITEMS,
                "unknowns": basis.size,
                "steps": plans[0].steps,
                "seconds": statistics.median(times),
                "times": times,
                "faster": statistics.median(ratios),
                "ratios": ratios,
                "largest_difference": float(apart),
                "load": [min(loads), max(loads)],
            }
        )
    assert jax.devices()[0].platform != "cpu" or all(r["largest_difference"] < 1e-11 for r in rows)
    finish(record("sweep", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
