"""How long are a product H(t)ψ and a step of the Dirac equation with 3120 unknowns, on one core?

|κ| ≤ 3, 65 splines of degree 7, l ≤ 3: the smallest case of the published GPU code (GaDE), which
cannot be installed where this runs; a Crank–Nicolson step of it took 22.7 ms on one core, measured
elsewhere and once, and so is in no record. The matrix-free product stands beside that of the
assembled matrix (SciPy's CSR, without the time to assemble it anew at each step) and beside the
plain Kronecker sum. Times are processor time, the least of several rounds.

    taskset -c 0 python benchmarks/dirac_product.py --json FILE
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the oracle
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, least_seconds
from records import finish, record

import zitter as zt
from systems.kronecker import Kronecker, assembled

MOMENT = 0.9
DT = 15 * 2 * np.pi / 50 / 80_000  # of the paper's largest runs


def least_ms(action, rounds: int = 7, count: int = 1) -> float:
    return 1e3 * least_seconds(action, rounds, time.process_time) / count


def many(function, *values, count: int = 50):
    """`count` applications in one compiled loop."""
    *fixed, psi = values

    @eqx.filter_jit
    def run(fixed, psi):
        return jax.lax.fori_loop(0, count, lambda i, x: function(*fixed, x, i), psi)

    return least_ms(lambda: run(fixed, psi), count=count)


def steps_ms(H, psi, method, dt: float, count: int) -> tuple[float, dict]:
    """One step at the peak of the pulse, and what the method reports."""
    start = jnp.float64(MOMENT)
    ready = method.prepare(H, (MOMENT, MOMENT + count * dt), dt)
    memory = ready.init(H, psi, start, dt)

    @eqx.filter_jit
    def run(ready, H, psi, memory):
        def body(i, carry):
            return ready.step(H, carry[0], start + i * dt, dt, carry[1])

        psi, memory = jax.lax.fori_loop(0, count, body, (ready.enter(psi), memory))
        return ready.leave(psi), memory

    ms = least_ms(lambda: run(ready, H, psi, memory), 5, count)
    psi, memory = run(ready, H, psi, memory)
    facts = {k: float(v) / count for k, v in ready.report(memory).items() if k == "products"}
    return ms, facts | {"norm_change": float(H.basis.norm(psi) - 1)}


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure(precision="double")
    basis = zt.SpinorBasis(zt.RadialBSplines(65, 7, 60.0), 3)
    pulse = zt.SineSquared(amplitude=600.0, frequency=50.0, cycles=15, phase_origin="start")
    model = zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(pulse, 3)])
    H = zt.discretize(model, basis)
    psi = zt.eigenstates(H.static, 1).states[0].astype(complex)
    light = H.changing[0].at(MOMENT)
    matrix = assembled(H.at(MOMENT).operator)
    vector = np.asarray(psi).reshape(-1)
    image = (matrix @ vector).reshape(basis.shape)
    difference = np.abs(H.mix([1.0], [MOMENT]).apply(psi) - image).max() / np.abs(image).max()
    ours = many(lambda H, x, i: 1e-6 * H.mix([1.0], [MOMENT + 1e-6 * i]).apply(x), H, psi)
    rows: list[dict] = [
        {
            "what": "H(t) psi without a matrix",
            "unknowns": basis.size,
            "ms": ours,
            "bytes": sum(x.nbytes for x in jax.tree.leaves(H) if eqx.is_array(x)),
            "difference": float(difference),
        },
        {
            "what": "assembled matrix, SciPy CSR",
            "entries": int(matrix.nnz),
            "ms": least_ms(lambda: [matrix @ vector for _ in range(50)], count=50),
            "bytes": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes,
        },
        {
            "what": "sum of Kronecker products",
            "ms": many(lambda K, x, i: 1e-4 * K.apply(x), Kronecker(light), psi, count=10),
        },
    ]
    for name, method, dt, count in (
        ("CrankNicolson(1e-8)", zt.CrankNicolson(1e-8), DT, 20),
        ("SplineCrankNicolson(1e-8)", zt.SplineCrankNicolson(1e-8), DT, 20),
        ("CrankNicolson(1e-12)", zt.CrankNicolson(1e-12), DT, 20),
    ):
        ms, facts = steps_ms(H, psi, method, dt, count)
        rows.append(
            {
                "what": f"step, {name}",
                "dt": dt,
                "ms": ms,
                **facts,
            }
        )
    question = "Dirac product and step with 3120 unknowns, one core"
    finish(record("dirac_product", question, rows), options.json)


if __name__ == "__main__":
    main()
