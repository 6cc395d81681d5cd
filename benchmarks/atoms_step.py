"""How long is one time step of hydrogen, 300 radial functions × l ≤ 20, on one core?

Length gauge with `AngularSplit`, and both gauges with `CrankNicolson`, on B-splines of degree 7.
The reference is 1.5 ms: SCID-TDSE (same numbers of points and l) on one core of such a machine.
Each row also gives the error of one optical cycle at 800 nm, 1e14 W/cm² against a step four times
smaller, and the time of the parts that the step cannot do without: three products with the radial
eigenvectors and one banded solve per l.

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
from common import arguments, finish, record

import zitter as zt
from zitter.bases.spherical import multiply_rows
from zitter.operators.radial_solver import RadialSolver

REFERENCE_MS = 1.5


@eqx.filter_jit
def advance(H, method, psi, state, start, dt, steps):
    def body(n, carry):
        return method.step(H, carry[0], start + n * dt, dt, carry[1])

    return jax.lax.fori_loop(0, steps, body, (psi, state))


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
    jax.block_until_ready(advance(*args))
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        jax.block_until_ready(advance(*args))
        times.append(1e3 * (time.process_time() - begin) / steps)
    return min(times)


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
        jax.block_until_ready(many(psi, *args))
        best = np.inf
        for _ in range(5):
            begin = time.process_time()
            jax.block_until_ready(many(psi, *args))
            best = min(best, 1e3 * (time.process_time() - begin) / 200)
        return best

    solve = time_of(lambda x, s: s.solve(x), solver)
    product = time_of(lambda x, m: multiply_rows(m, x), matrix)
    return solve, product


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
    rows = []
    for name, (method, gauge) in methods.items():
        H = zt.discretize(zt.Model([*atom, gauge(pulse)]), basis)
        cycle = 2 * np.pi / float(pulse.frequency)
        fine, coarse = (run(H, method, psi, cycle, 2 * cycle, n) for n in (8824, 2206))
        ms = step_ms(H, method, psi, 0.05)
        rows.append(
            {
                "method": name,
                "ms_per_step": ms,
                "reference_ms": REFERENCE_MS,
                "ratio": ms / REFERENCE_MS,
                "error_per_cycle_dt_0.05": float(basis.norm(coarse - fine)),
                "bound_ms": solve + 3 * product,
            }
        )
    question = "one step of hydrogen, 300 × 21, one core"
    finish(record("atoms_step", question, rows), options.json)


if __name__ == "__main__":
    main()
