"""What does a step on a three-dimensional grid take, and how close is that to moving ψ once?

A soft-core atom in a laser's field, 128³ to 512³ points: seconds of a step from runs of one and
of five intervals, and how often ψ could have been read and written at the speed of a copy in the
record of this device's bounds (device_bounds.py). A step of SplitOperator in a periodic box has two
transforms over three axes each, which is at least six such passes; between walls these are sine
transforms, of twice the length. One of RungeKutta4 has four products with H.

    python benchmarks/grid_steps.py --json FILE          (--small for a small machine)
"""

from __future__ import annotations

import time
from typing import Any

import jax.numpy as jnp
import numpy as np
from bounds import of_this_device
from common import arguments, noted
from records import finish, record

import zitter as zt

DT = 0.01
METHODS: dict[str, tuple[zt.Propagator, Any, str]] = {
    "SplitOperator": (zt.SplitOperator(), "spectral", "periodic"),
    "SplitOperator, walls": (zt.SplitOperator(), "spectral", "zero"),
    "Lanczos, 10 vectors": (zt.Lanczos(10), 8, "zero"),
    "RungeKutta4, order 8": (zt.RungeKutta4(), 8, "zero"),
}


def seconds_of_a_step(method: zt.Propagator, order: Any, boundary: str, n: int, few: int) -> float:
    box = zt.Grid((n, n, n), 0.4, boundary=boundary)
    pulse = zt.SineSquared(cycles=4, wavelength="400 nm", intensity="1e13 W/cm^2")
    light = (zt.VelocityGauge if boundary == "periodic" else zt.LengthGauge)(pulse)
    terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=1.0), light]
    H = zt.discretize(zt.Model(terms), box)
    squared: Any = sum(x**2 for x in box.coordinates())
    psi = box.normalize(jnp.exp(-0.15 * jnp.asarray(squared, complex)))

    def run(intervals: int) -> float:
        begun = time.perf_counter()
        end = intervals * few * DT
        options: dict[str, Any] = {"observables": [zt.Norm()], "save_every": few}
        found = zt.evolve(H, psi, (0.0, end), DT, method, step_check=False, **options)
        np.asarray(found.observables["norm"])
        return time.perf_counter() - begun

    for intervals in (1, 5):  # these compile
        run(intervals)
    return noted([(run(5) - run(1)) / (4 * few) for _ in range(3)])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--small", action="store_true", help="sizes to try it out")
    options = parser.parse_args()
    zt.configure(precision="double")
    bound = of_this_device()
    rows: list[dict[str, Any]] = [] if bound is None else [bound.row()]
    for n in (24, 32) if options.small else (128, 256, 512):
        for name, how in METHODS.items():
            seconds = seconds_of_a_step(*how, n, 4 if options.small else max(4, 2**24 // n**3))
            row: dict[str, Any] = {"method": name, "points": n, "ms": 1e3 * seconds}
            if bound is not None:
                row["passes_over_psi"] = seconds * bound.copy / (2 * 16 * n**3)
            rows.append(row)
            print(row, flush=True)
    finish(record("grid_steps", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
