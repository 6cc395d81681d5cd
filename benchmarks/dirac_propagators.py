"""Dirac equation in a pulse: error against cost of Crank–Nicolson and of higher orders.

Hydrogen, ω = 50, E₀ = 600, three cycles, |κ| ≤ 3, 48 splines to 10 bohr, in dipole approximation
and with the full pulse (l_max = 4). Error: that of dP/dE between 2 and 90 hartree, relative to its
norm, and of the final state (where positrons, once made by the sudden ends of the plane waves,
oscillate faster than any step follows: 5e-4 of the full pulse). Cost: products of the light with
one state, and wall time (the better of two calls after one that compiles).

    python benchmarks/dirac_propagators.py --json FILE
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import arguments, noted
from records import finish, record

import zitter as zt
from zitter import spectra

# Gauss points → steps of the whole pulse; 1 is Crank–Nicolson.
STEPS = {1: (100, 200, 400, 800, 1600), 3: (25, 50, 75, 100, 150), 5: (15, 25, 35, 50)}


def problem(lmax: int):
    pulse = zt.SineSquared(
        amplitude=600.0, frequency=50.0, cycles=3, cep=np.pi, phase_origin="start",
        polarization="x",
    )  # fmt: skip
    basis = zt.SpinorBasis(zt.RadialBSplines(48, 7, 10.0), 3)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(pulse, lmax)]), basis)
    energies, vectors = zt.spinor_states(H.static, -1)
    state = np.zeros(basis.shape, complex)
    state[basis.channel(-1, 0.5)] = vectors[:, np.searchsorted(energies, -(basis.c**2))]
    return H, state, float(pulse.duration)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="only the fewest steps of each")
    options = parser.parse_args()
    zt.configure(precision="double")
    warnings.simplefilter("ignore")
    rows = []
    energies = np.linspace(2.0, 90.0, 177)
    for lmax in (0, 4):
        H, start, end = problem(lmax)
        levels = spectra.spinor_levels(H)

        def run(points, steps, H=H, start=start, end=end):
            method = zt.GaussCollocation(points, 1e-12)
            return zt.evolve(H, start, (0.0, end), end / steps, method, save_every=10**9)

        def density(psi, levels=levels):
            return spectra.spinor_spectrum(levels, psi, energies).total

        exact = run(5, 30 if options.quick else 100).final
        wanted = density(exact)
        for points, counts in STEPS.items():
            for steps in counts[:2] if options.quick else counts:
                times = []
                for _ in range(3):  # the first one compiles
                    clock = time.perf_counter()
                    found = run(points, steps)
                    times.append(time.perf_counter() - clock)
                noted(times[1:])
                error = np.linalg.norm(density(found.final) - wanted) / np.linalg.norm(wanted)
                rows.append(
                    {
                        "light": "dipole" if lmax == 0 else f"l_max = {lmax}",
                        "points": points,
                        "order": 2 * points,
                        "steps": steps,
                        "dt": end / steps,
                        "two_c2_dt": 2 * H.basis.c**2 * end / steps,
                        "products": found.info["products"],
                        "seconds": min(times[1:]),
                        "error_spectrum": float(error),
                        "error_state": float(H.basis.norm(found.final - exact)),
                    }
                )
                print(rows[-1], flush=True)
    finish(record("dirac_propagators", __doc__.splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
