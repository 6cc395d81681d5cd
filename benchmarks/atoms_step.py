"""How long is one time step of hydrogen, 300 radial functions × l ≤ 20, on one core?

Length gauge with `AngularSplit`, and both gauges with `CrankNicolson`, on B-splines of degree 7.
SCID-TDSE (same numbers of points and l) cannot be installed where this runs. It took 1.5 ms on one
core of such a machine, measured elsewhere and once, and so is in no record.

"At the same accuracy" means: SCID-TDSE (Patchkovskii & Muller, Comput. Phys. Commun. 199, 153
(2016)) takes second derivatives from three neighbouring points by an implicit formula of order 4,
and steps by Cayley's form with light and atom split symmetrically, of order 2 in Δt. Two errors are
compared. In space: 1s and 2p of hydrogen, with our 300 splines and with that derivative on 300
points of the same mesh. In time: one optical cycle at 800 nm, 1e14 W/cm², Δt = 0.05, against a
step four times smaller: the state's, and that of the population of 1s. `CrankNicolson` is Cayley's
form without the splitting.

`parts_ms` is the time of what the step cannot do without, by our own solver: two products with the
radial eigenvectors and one banded solve per l.

    taskset -c 0 python benchmarks/atoms_step.py --json FILE
"""

from __future__ import annotations

import os

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, least_seconds
from records import finish, record

import zitter as zt
from zitter.bases.bsplines import breakpoints
from zitter.linalg.pairs import times_rows
from zitter.linalg.radial_solver import RadialSolver


@eqx.filter_jit
def advance(H, method, psi, state, start, dt, steps):
    def body(n, carry):
        return method.step(H, carry[0], start + n * dt, dt, carry[1])

    psi, state = jax.lax.fori_loop(0, steps, body, (method.enter(psi), state))
    return method.leave(psi), state


def run(H, method, psi, start, end, steps):
    dt = (end - start) / steps
    ready = method.prepare(H, (start, end), dt)
    state = ready.init(H, psi, start, dt)
    final, _ = advance(H, ready, psi, state, jnp.float64(start), jnp.float64(dt), steps)
    return final


def step_ms(H, method, psi, dt, repeats=5, steps=200):
    """Processor time of one step at the peak of the pulse: the least of several runs."""
    ready = method.prepare(H, (0.0, 400.0), dt)
    state = ready.init(H, psi, 0.0, dt)
    args = (H, ready, psi, state, jnp.float64(150.0), jnp.float64(dt), steps)
    return 1e3 * least_seconds(lambda: advance(*args), repeats, time.process_time) / steps


def parts_ms(basis, psi):
    """One banded solve for each l, and one dense product with all rows."""
    rng = np.random.default_rng(0)
    p, n = basis.radial.degree, basis.radial.n
    bands = 0.1j * rng.normal(size=(basis.shape[0], 2 * p + 1, n))
    bands[:, p] += 4
    solver = RadialSolver(jnp.asarray(bands))
    matrix = jnp.asarray(rng.normal(size=(n, n)) / n)

    def time_of(function, *args):
        many = eqx.filter_jit(
            lambda psi, *a: jax.lax.fori_loop(0, 200, lambda _, x: function(x, *a), psi)
        )
        return 1e3 * least_seconds(lambda: many(psi, *args), 5, time.process_time) / 200

    solve = time_of(lambda x, s: s.solve(x), solver)
    product = time_of(lambda x, m: times_rows(x, m.T), matrix)
    return solve, product


def three_point_energy(points: np.ndarray, l: int) -> float:
    """The lowest level with the implicit derivative M u″ = D u, exact up to fourth powers of r.

    At the first point the value at r = 0 is known to vanish, and u = r^{l+1}(1 − r/(l+1) + …).
    """
    n = len(points)
    r = np.concatenate([[0.0], points, [2 * points[-1] - points[-2]]])
    mass, difference = np.zeros((n, n)), np.zeros((n, n))
    for i in range(1, n + 1):
        near = [i - 1, i, i + 1]
        if i == 1:
            powers = [{l + 1: 1.0, l + 2: -1 / (l + 1)}, {l + 3: 1.0}, {l + 4: 1.0}]
            center, unknown = 0.0, [(2, 2), (0, 1), (0, 2)]
        else:
            powers = [{k: 1.0} for k in range(5)]
            center, unknown = r[i], [(2, i - 1), (2, i + 1), (0, i - 1), (0, i), (0, i + 1)]

        def value(terms, derivative, x, center=center):
            factors = {0: lambda k: 1.0, 2: lambda k: k * (k - 1)}[derivative]
            return sum(
                c * factors(k) * (x - center) ** (k - derivative)
                for k, c in terms.items()
                if factors(k)
            )

        # Σ_unknown (second derivatives on the left, values on the right) = −u″ at the point
        system = np.array(
            [[(1 if d else -1) * value(t, d, r[j]) for d, j in unknown] for t in powers]
        )
        solution = np.linalg.solve(system, [-value(t, 2, r[i]) for t in powers])
        mass[i - 1, i - 1] = 1.0
        for (d, j), c in zip(unknown, solution, strict=True):
            if j in near and 1 <= j <= n:
                (mass if d else difference)[i - 1, j - 1] += c
    potential = l * (l + 1) / (2 * points**2) - 1 / points
    matrix = -0.5 * np.linalg.solve(mass, difference) + np.diag(potential)
    return float(np.min(np.real(np.linalg.eigvals(matrix))))


def level_errors(basis) -> list[dict]:
    radial = basis.radial
    atom = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), basis)
    ours = zt.channel_states(atom, 1)[0]
    mesh = breakpoints("graded", radial.n + 1, radial.rmax, 0.2, 10.0)[1:-1]
    return [
        {
            "level": name,
            "error_splines": float(ours[l, 0] - exact),
            "error_three_point": three_point_energy(mesh, l) - exact,
        }
        for name, l, exact in (("1s", 0, -0.5), ("2p", 1, -0.125))
    ]


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure(precision="double")
    radial = zt.RadialBSplines(300, 7, 150.0, "graded", first=0.2, grading=10.0)
    basis = zt.SphericalBasis(radial, 20)
    pulse = zt.SineSquared(cycles=4, wavelength="800 nm", intensity="1e14 W/cm^2")
    atom = [zt.Kinetic(), zt.Coulomb(Z=1)]
    psi = jnp.zeros(basis.shape, complex).at[0].set(radial.project(lambda r: 2 * r * np.exp(-r)))
    psi = basis.normalize(psi)
    solve, product = parts_ms(basis, psi)
    methods = {
        "AngularSplit, length": (zt.AngularSplit(), zt.LengthGauge),
        "AngularSplit(4), length": (zt.AngularSplit(4), zt.LengthGauge),
        "CrankNicolson(1e-8), length": (zt.CrankNicolson(1e-8), zt.LengthGauge),
        "CrankNicolson(1e-8), velocity": (zt.CrankNicolson(1e-8), zt.VelocityGauge),
    }
    rows: list[dict] = level_errors(basis)
    for name, (method, gauge) in methods.items():
        H = zt.discretize(zt.Model([*atom, gauge(pulse)]), basis)
        cycle = 2 * np.pi / float(pulse.frequency)
        fine, coarse = (run(H, method, psi, cycle, 2 * cycle, n) for n in (8824, 2206))
        ms = step_ms(H, method, psi, 0.05)
        survival = [abs(complex(basis.inner(psi, final))) ** 2 for final in (coarse, fine)]
        rows.append(
            {
                "method": name,
                "ms_per_step": ms,
                "error_per_cycle_dt_0.05": float(basis.norm(coarse - fine)),
                "survival_error_per_cycle_dt_0.05": abs(survival[0] - survival[1]),
                "parts_ms": solve + 2 * product,
            }
        )
    question = "one step of hydrogen, 300 × 21, one core"
    finish(record("atoms_step", question, rows), options.json)


if __name__ == "__main__":
    main()
