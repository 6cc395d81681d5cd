"""How long does one time step of the paper's H2+ take, with no structure assumed and with it?

Choi & Stegailov: N = 8192 points, double well Z = 30, a = 0.1, nuclei moving as 0.5 sin 3t,
Δt = 0.002, order 10; 1.17 s per step on four A100 (FP32 with TF32 tensor cores).

    python benchmarks/matrix_exponential.py --n 8192 --json benchmarks/results/NAME.json
"""

from __future__ import annotations

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, done, median_seconds, noted
from records import finish, record

import zitter as zt
from zitter.linalg.tiles import WholeMatrices

DT = 0.002


def problem(n: int, boundary: str, order, dense: bool = False):
    grid = zt.Grid(n, 0.1, boundary)
    nuclei = zt.SoftCoulomb(
        Z=30, softening=0.1, centers=[-1.0, 1.0], motion=zt.Rigid(amplitude=0.5, frequency=3.0)
    )
    H = zt.discretize(zt.Model([zt.Kinetic(order=order), nuclei]), grid)
    small = zt.Grid(512, 0.1)  # the ground state lives within a few bohr of the nuclei
    model = zt.Model([zt.Kinetic(order=2), zt.SoftCoulomb(Z=30, softening=0.1, centers=[-1, 1])])
    ground = np.asarray(zt.eigenstates(zt.discretize(model, small), 1).states[0])
    pad = (n - 512) // 2
    return (H.dense() if dense else H), jnp.pad(jnp.asarray(ground), (pad, n - 512 - pad))


def seconds_per_step(H, psi, propagator, few: int) -> tuple[float, float]:
    """Median slope between runs of one and of five intervals, and the norm's loss."""

    def run(intervals):
        start = time.perf_counter()
        end = intervals * few * DT
        sol = zt.evolve(H, psi, (0.0, end), DT, propagator, [zt.Norm()], save_every=few)
        np.asarray(sol.final)
        return time.perf_counter() - start, sol.info["norm_loss"]

    for intervals in (1, 5):  # these compile
        run(intervals)
    pairs = [(run(1)[0], run(5)) for _ in range(3)]
    step = noted([(long - short) / (4 * few) for short, (long, _) in pairs])
    return step, pairs[-1][1][1]


def bare_exponentials(n: int) -> list[dict]:
    """cos X and sin X alone, without the time loop around them."""
    rows = []
    for precision, dtype in (("double", jnp.float64), ("tf32", jnp.float32)):
        zt.configure(precision=precision)
        x = jax.random.normal(jax.random.key(0), (n, n), dtype)
        x = 0.3 * (x + x.T) / jnp.sqrt(8.0 * n).astype(dtype)
        tol = 1e-13 if precision == "double" else 1e-7
        for name, way in (
            ("Paterson–Stockmeyer", zt.PatersonStockmeyer().for_norm(0.33, tol)),
            ("cos/sin sum", zt.CosSin(10)),
        ):
            compute = jax.jit(functools.partial(way.matrix, on=WholeMatrices()))
            seconds = median_seconds(lambda compute=compute, x=x: compute(x), 5)
            flops = 2e-12 * way.products() * n**3 / seconds
            row = {"what": f"bare exponential, {name}", "precision": precision, "n": n}
            row |= {"seconds_per_step": seconds, "real_products": way.products(), "tflops": flops}
            rows.append(row)
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--skip-paper-float64", action="store_true")
    options = parser.parse_args()
    n, rows = options.n, []

    def add(what, precision, H, psi, propagator, few):
        step, loss = seconds_per_step(H, psi, propagator, few)
        products = None
        if isinstance(propagator, zt.MatrixExponential):
            ready = propagator.prepare(H.astype(jnp.finfo(psi.dtype).dtype), (0.0, few * DT), DT)
            products = ready.summation.products()
        row = {"what": what, "precision": precision, "n": n, "seconds_per_step": step}
        if products:
            row |= {"real_products": products, "tflops": 2e-12 * products * n**3 / step}
        rows.append(row | {"norm_loss": loss})
        print(rows[-1], flush=True)

    for precision in ("double", "tf32"):
        zt.configure(precision=precision)
        dtype = jnp.complex128 if precision == "double" else jnp.complex64
        H, psi = problem(n, "zero", 2)
        psi = psi.astype(dtype)
        add("full exponential to rounding", precision, H, psi, zt.MatrixExponential(), 4)
        if precision == "double":
            # The truncation error of the paper's order 10 at its norm: 0.44^11/11! = 3e-12.
            like_paper = zt.MatrixExponential(zt.PatersonStockmeyer(tol=1e-11))
            add("full exponential to the paper's 1e-11", precision, H, psi, like_paper, 4)
        add(
            "full exponential, cos/sin sum",
            precision,
            H,
            psi,
            zt.MatrixExponential(zt.CosSin(10)),
            2,
        )
        if precision == "tf32" or not options.skip_paper_float64:
            paper = zt.MatrixExponential(zt.TaylorSum(10))
            add("full exponential, the paper's sum", precision, H, psi, paper, 1)
        dense, _ = problem(n, "zero", 2, dense=True)
        add("action only, dense H, Taylor 10", precision, dense, psi, zt.Taylor(10), 50)
        del dense
    rows += bare_exponentials(n)
    zt.configure(precision="double")
    H, psi = problem(n, "zero", 2)
    psi = psi.astype(jnp.complex128)
    add("tridiagonal Crank–Nicolson", "double", H, psi, zt.CrankNicolson(), 500)
    add("Taylor 10 on the stencil", "double", H, psi, zt.Taylor(10), 200)
    H, psi = problem(n, "periodic", "spectral")
    psi = psi.astype(jnp.complex128)
    add("split operator, FFT", "double", H, psi, zt.SplitOperator(), 1000)
    add("split operator order 4, FFT", "double", H, psi, zt.SplitOperator(4), 500)

    def whole():
        args = (H, psi, (0.0, 30.0), DT, zt.SplitOperator(), [zt.Norm()])
        sol = zt.evolve(*args, save_every=100)
        np.asarray(sol.final)
        return sol.info["norm_loss"]

    loss, seconds = done(whole, 3)
    rows.append(
        {
            "what": "the paper's 15 000 steps, split operator, whole call after compilation",
            "precision": "double",
            "n": n,
            "seconds": seconds,
            "norm_loss": loss,
        }
    )
    finish(record("matrix_exponential", __doc__.splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
