"""How much faster are 32 pulses in one batch than one after another?

Hydrogen in pulses of 1e13 to 1e15 W/cm². "eigenstates": that of Ó Broin and Nikolopoulos, 20 eV,
velocity gauge, Taylor of order 10, with 60 states for each l ≤ 3, or with `--paper` as many as
theirs, 640 for each l ≤ 20. "splines": 60 splines for each l ≤ 8, 200 nm, length gauge,
AngularSplit. Single: the run of each pulse, after compilation. Batched: the same runs as `zitter
sweep` carries them, and `zt.scan`, each after a first call that compiles. Rounds alternate, and the
median of their ratios counts: what else runs on the machine then meets both. `load` is that of the
machine meanwhile (1 for each busy core), our own included.

    python benchmarks/sweep.py --json FILE
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, noted
from records import finish, record

import zitter as zt
from zitter import solve, together
from zitter.reproduce import hydrogen_laser

ITEMS = 32
Plan = Callable[[Any], solve.Plan]


def eigenstates(size: hydrogen_laser.Size, cycles: int) -> tuple[Plan, Any]:
    size = dataclasses.replace(size, cycles=cycles)
    basis, (method, dt, _) = hydrogen_laser.hydrogen(size), hydrogen_laser.METHODS["Taylor 10"]
    psi = jnp.asarray(basis.state(0)).astype(jnp.complex128)
    span = (0.0, float(hydrogen_laser.paper_pulse(size).duration))

    def plan(intensity) -> solve.Plan:
        pulse = zt.SineSquaredField(
            cycles=cycles, frequency=hydrogen_laser.PHOTON, intensity=intensity
        )
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse)]), basis)
        return solve.prepare(H, psi.dtype, span, dt, method, (zt.Norm(),), 10**9)

    return plan, psi


def splines() -> tuple[Plan, Any]:
    radial = zt.RadialBSplines(60, 7, 40.0, "graded", first=0.5, grading=6.0)
    basis, atom = zt.SphericalBasis(radial, 8), [zt.Kinetic(), zt.Coulomb(Z=1)]
    psi = zt.eigenstates(zt.discretize(zt.Model(atom), basis), 1).states[0]

    def plan(intensity) -> solve.Plan:
        pulse = zt.SineSquared(cycles=2, wavelength="200 nm", intensity=intensity)
        H = zt.discretize(zt.Model([*atom, zt.LengthGauge(pulse)]), basis)
        span = (0.0, 55.16)  # two cycles of 200 nm
        return solve.prepare(H, jnp.complex128, span, 0.1, zt.AngularSplit(), (zt.Norm(),), 10**9)

    return plan, jnp.asarray(psi).astype(jnp.complex128)


def final(end: zt.Solution | zt.RunError) -> np.ndarray:
    assert isinstance(end, zt.Solution), end
    return end.final


def measured(name: str, plan: Plan, psi: Any, rounds: int) -> list[dict[str, Any]]:
    intensities = np.geomspace(1e13, 1e15, ITEMS) / zt.units.INTENSITY_W_PER_CM2
    plans = [plan(intensity) for intensity in intensities]
    plans = [together.shared(plans[0], one) for one in plans]

    def scanned(intensity):
        return plan(intensity).run(psi).final

    ways: dict[str, Callable[[], list[Any]]] = {
        "one after another": lambda: [np.asarray(one.run(psi).final) for one in plans],
        "zitter sweep": lambda: list(map(final, together.carried(plans, [psi] * ITEMS))),
        "zt.scan": lambda: list(np.asarray(zt.scan(scanned, intensity=intensities))),
    }
    plans[0].run(psi)
    finals = {way: ways[way]() for way in ("zitter sweep", "zt.scan")}  # compiles
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    loads = [os.getloadavg()[0]]
    for _ in range(rounds):
        for way, action in ways.items():
            start = time.perf_counter()
            finals[way] = action()
            seconds[way].append(time.perf_counter() - start)
            loads.append(os.getloadavg()[0])
            print(f"{name}, {way}: {seconds[way][-1]:.3g} s, load {loads[-1]:.3g}", flush=True)
    rows = []
    for way, times in seconds.items():
        ratios = [a / b for a, b in zip(seconds["one after another"], times, strict=True)]
        apart = np.max(np.abs(np.asarray(finals[way]) - np.asarray(finals["one after another"])))
        rows.append(
            {
                "case": name,
                "way": way,
                "items": ITEMS,
                "shape": list(plans[0].H.basis.shape),
                "steps": plans[0].steps,
                "seconds": noted(times),
                "times": times,
                "faster": statistics.median(ratios),
                "ratios": ratios,
                "largest_difference": float(apart),
                "load": [min(loads), max(loads)],
            }
        )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--paper", action="store_true", help="640 states for each l ≤ 20")
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    zt.configure()
    size = hydrogen_laser.PAPER if options.paper else hydrogen_laser.TINY
    rows = measured("eigenstates", *eigenstates(size, options.cycles), options.rounds)
    rows += measured("splines", *splines(), options.rounds)
    assert all(row["largest_difference"] < 1e-10 for row in rows), jax.devices()
    finish(record("sweep", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
