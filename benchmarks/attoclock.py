"""By which angle does an attoclock of hydrogen turn, and does that number stand?

Circular light of 800 nm, two cycles, A = A₀ sin²(πt/T)(−sin p, cos p), p = ω(t − T/2), A₀ = 0.7
(1.12e14 W/cm²): after it the state is projected on Coulomb waves in the plane of polarization, and
the offset is that of the highest maximum of W(φ) = ∫k dk d³P/dk³ from −A(T/2), positive with the
rotation. It is repeated with other l, boxes, steps and in velocity gauge; `spread` of the last row
is how far the offsets of the largest l lie apart. With `--yukawa` the ion's force has a range of
1 bohr (I_p = 1/2): without a tail the offset is zero, as far as 1e-6 of ionization tells.

    python benchmarks/attoclock.py --json FILE                               on a GPU, minutes
    python benchmarks/attoclock.py --plain --lmax 56 64 --splines 240 --rmax 200 --dt 0.1
                                   --radial-order 4                          on a core, minutes
    python benchmarks/attoclock.py --lmax 56 --also wider                    one check, at l ≤ 56
    python benchmarks/attoclock.py --lmax 56 --plain --yukawa                no tail

Of radial order 4 a step costs no more, as it is one matrix for each l, and it may be twice as long.
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments
from records import finish, record

import zitter as zt
from zitter import spectra

OMEGA, A0, CYCLES = 0.05695, 0.7, 2
YUKAWA = 1.90831012  # −Z e^{−r}/r with I_p = 1/2
CHECKS = ("wider", "denser", "finer", "velocity")  # box, splines, step, gauge


def light() -> zt.SineSquared:
    amplitude = np.sqrt(2) * OMEGA * A0  # A₀ is each component
    return zt.SineSquared(
        cycles=CYCLES, frequency=OMEGA, amplitude=amplitude, ellipticity=1.0, polarization="x"
    )


def flown(pulse, potential, gauge, order, lmax, splines, rmax, dt, momenta, azimuths):
    """(the spectrum in the plane, what is to be told of the run)."""
    radial = zt.RadialBSplines(splines, 7, rmax, "graded", first=0.3, grading=12.0)
    basis = zt.SphericalBasis(radial, lmax, m="all")
    H = zt.discretize(zt.Model([zt.Kinetic(), potential, gauge(pulse)]), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    begin = time.perf_counter()
    end = float(pulse.duration)
    steps = round(end / dt)
    method = zt.AngularSplit(order) if gauge is zt.LengthGauge else zt.CrankNicolson()
    run = zt.evolve(H, ground, (0.0, end), end / steps, method, save_every=max(1, steps // 200))
    after = time.perf_counter()
    angles = 2 * np.pi * np.arange(azimuths) / azimuths
    found = spectra.angular_spectrum(H.static, run.final, momenta**2 / 2, angles, plane="xy")
    ion = complex(np.asarray(basis.inner(ground, run.final)))
    told = {
        "gauge": gauge.__name__,
        "lmax": lmax,
        "splines": splines,
        "rmax": rmax,
        "dt": end / steps,
        "propagator": run.info["propagator"],
        **({"radial_order": order} if gauge is zt.LengthGauge else {}),
        "seconds": after - begin,
        "once_spectrum_seconds": time.perf_counter() - after,
        "survival": abs(ion) ** 2,
        **{key: float(x) for key, x in run.info.items() if key.endswith("_population")},
    }
    return found, told


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lmax", type=int, nargs="+", default=[56, 64, 72, 80])
    parser.add_argument("--splines", type=int, default=300)
    parser.add_argument("--rmax", type=float, default=230.0)
    parser.add_argument("--dt", type=float, default=0.05)
    parser.add_argument("--radial-order", type=int, choices=(2, 4), default=2)
    parser.add_argument(
        "--also", nargs="+", choices=CHECKS, default=CHECKS, help="what else is tried, with most l"
    )
    parser.add_argument("--plain", action="store_true", help="l only: no other box, step or gauge")
    parser.add_argument("--yukawa", action="store_true", help="an ion without a tail")
    chosen = parser.parse_args()
    pulse = light()
    ion = zt.Coulomb(Z=1)
    if chosen.yukawa:
        ion = zt.Potential(expression=f"-{YUKAWA}*exp(-r)/r")
    momenta = np.linspace(0.3, 1.6, 131)
    most = max(chosen.lmax)
    base = {"splines": chosen.splines, "rmax": chosen.rmax, "dt": chosen.dt}
    cases = [(zt.LengthGauge, {"lmax": lmax, **base}) for lmax in sorted(chosen.lmax)]
    others = {
        "wider": {"splines": round(1.2 * chosen.splines), "rmax": 1.2 * chosen.rmax},
        "denser": {"splines": round(1.25 * chosen.splines)},
        "finer": {"dt": 0.5 * chosen.dt},
        "velocity": {},
    }
    for name in () if chosen.plain else chosen.also:
        gauge = zt.VelocityGauge if name == "velocity" else zt.LengthGauge
        cases.append((gauge, {"lmax": most, **base, **others[name]}))
    rows, by_lmax = [], {}
    for gauge, sizes in cases:
        found, told = flown(
            pulse, ion, gauge, chosen.radial_order, **sizes, momenta=momenta,
            azimuths=4 * most + 40,
        )  # fmt: skip
        if len(by_lmax) < len(chosen.lmax):
            by_lmax[sizes["lmax"]] = found
        offset = spectra.attoclock_offset(found, pulse)
        peak = np.unravel_index(np.argmax(found.momentum_density), found.density.shape)
        rows.append(
            {
                "what": "Yukawa" if chosen.yukawa else "hydrogen",
                **told,
                "offset_degrees": float(np.degrees(offset.offset)),
                "peak_k": float(momenta[peak[0]]),
            }
        )
        print(f"{gauge.__name__} {sizes}: {offset}", flush=True)
    last = dict(list(by_lmax.items())[-2:])
    offset = spectra.attoclock_offset(last, pulse)
    rows.append(
        {
            "what": "offset of the largest l, spread from the one before",
            "offset_degrees": float(np.degrees(offset.offset)),
            "spread_degrees": float(np.degrees(offset.spread)),
        }
    )
    question = (__doc__ or "").splitlines()[0]
    finish(record("attoclock", question, rows), chosen.json)


if __name__ == "__main__":
    main()
