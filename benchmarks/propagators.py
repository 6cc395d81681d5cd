"""Which propagator? Error against cost of each, on one problem, in one run.

Soft-core hydrogen (a = 2) on 511 points in a two-cycle 800 nm pulse of 1e14 W/cm², length gauge.
Error: distance of the final state from a converged one on the same grid. Cost: wall time of
`evolve` (best of three compiled calls) with no observables.

    python benchmarks/propagators.py --json FILE
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, noted
from records import finish, record

import zitter as zt

STEPS = (1.6, 0.8, 0.4, 0.2, 0.1)
EXPLICIT = (0.04, 0.02, 0.01)


def methods() -> dict[str, tuple[zt.Propagator, tuple[float, ...], str]]:
    magnus = zt.CommutatorFree4()
    return {
        "SplitOperator(2)": (zt.SplitOperator(2), (*STEPS[1:], 0.05, 0.025), "sine"),
        "SplitOperator(4)": (zt.SplitOperator(4), STEPS, "sine"),
        "Lanczos(12)": (zt.Lanczos(12), STEPS[1:], "sine"),
        "Lanczos(12), Magnus 4": (zt.Lanczos(12, scheme=magnus), STEPS[1:], "sine"),
        "Chebyshev, Magnus 4": (zt.Chebyshev(1e-12, scheme=magnus), STEPS, "sine"),
        "Taylor, Magnus 4": (zt.Taylor(tol=1e-12, scheme=magnus), STEPS[1:], "sine"),
        "RungeKutta4": (zt.RungeKutta4(), EXPLICIT, "sine"),
        "RungeKuttaFehlberg45": (zt.RungeKuttaFehlberg45(), (0.0125,), "sine"),
        "CrankNicolson, 9 bands": (zt.CrankNicolson(), (*STEPS[1:], 0.05, 0.025), "order 8"),
        "Chebyshev, Magnus 4, order 8": (zt.Chebyshev(1e-12, scheme=magnus), STEPS, "order 8"),
        "Taylor, Magnus 4, order 8": (zt.Taylor(tol=1e-12, scheme=magnus), STEPS[1:], "order 8"),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=511)
    options = parser.parse_args()
    zt.configure(precision="double")
    pulse = zt.SineSquared(intensity="1e14 W/cm^2", wavelength="800 nm", cycles=2)
    end = float(pulse.duration)
    problems = {}
    for name, order in (("sine", "spectral"), ("order 8", 8)):
        terms = [zt.Kinetic(order=order), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(pulse)]
        H = zt.discretize(zt.Model(terms), zt.Grid(options.points, 0.3))
        ground = zt.eigenstates(H.static, 1, zt.Direct()).states[0]
        exact = zt.Chebyshev(1e-14, scheme=zt.CommutatorFree4())
        problems[name] = (H, ground, zt.evolve(H, ground, (0, end), 0.05, exact).final)
    rows = []
    for name, (method, steps, where) in methods().items():
        H, ground, exact = problems[where]
        for dt in steps:
            times = []
            for _ in range(4):  # the first one compiles; of the others the fastest counts
                start = time.perf_counter()
                final = zt.evolve(H, ground, (0, end), dt, method, save_every=10**9).final
                distance = float(H.basis.norm(final - exact))
                times.append(time.perf_counter() - start)
            noted(times[1:])
            rows.append({"method": name, "dt": dt, "seconds": min(times[1:]), "error": distance})
            print(rows[-1], flush=True)
    assert np.all(np.isfinite([r["error"] for r in rows]))
    finish(record("propagators", __doc__.splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
