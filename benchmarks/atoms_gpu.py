"""Hydrogen in a basis of eigenstates: products, scaling with l, a full run, implicit steps.

The product with real blocks between l and l + 1 (l ≤ 20, 640 states) must read its 66 MB once: the
time that takes at the speed of reading in the record of this device's bounds (device_bounds.py) is
the bound in each row. Where jax-triton is installed the kernel that reads each block once stands
beside XLA's two batched products. Then Figures 4 to 6 of the paper: the cost of Taylor 10, RK4 and
RKF45 with its steps against the number of l, up to 100, from a part of the pulse (seconds of all of
it are projected); its 10-cycle run with l ≤ 20; and B-spline steps.

    python benchmarks/atoms_gpu.py --json FILE          (--quick for a small machine)
"""

from __future__ import annotations

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
from bounds import Bounds, of_this_device
from common import arguments, median_seconds, noted
from records import finish, present, record

import zitter as zt
from zitter.linalg.kernels import block_tridiagonal
from zitter.linalg.kernels.triton_calls import has_triton


def product_seconds(apply, upper, psi, repeats=200) -> float:
    @jax.jit
    def many(upper, psi):
        def body(_, psi):
            # Two products per turn, so that the carried arrays swap instead of being copied.
            return apply(upper, apply(upper, psi))

        return jax.lax.fori_loop(0, repeats // 2, body, psi)

    return median_seconds(lambda: many(upper, psi)) / repeats


def random_blocks(count: int, states: int):
    """Blocks that keep the norm of ψ about constant from product to product."""
    block = np.random.default_rng(0).normal(size=(1, states, states)) / np.sqrt(2 * states)
    return jnp.tile(jnp.asarray(block), (count - 1, 1, 1)), jnp.ones((count, states), complex)


def forms() -> dict:
    """XLA, and the kernel where it can run."""
    known = {"XLA": block_tridiagonal.product_xla}
    if has_triton():
        known["kernel"] = block_tridiagonal.product_triton
    return known


def over(bound: Bounds | None, size: int, seconds: float) -> dict[str, float]:
    """What a product takes beside reading its blocks once."""
    if bound is None:
        return {}
    least = size / bound.read
    return {"bound_microseconds": 1e6 * least, "ratio": seconds / least}


def products(states: int, counts: tuple[int, ...], bound: Bounds | None) -> list[dict]:
    rows = []
    for count in counts:
        upper, psi = random_blocks(count, states)
        expected = block_tridiagonal.product_xla(upper, psi, 1.0)
        gauges = {"length": 1.0, "velocity": -1.0} if count == 21 else {"length": 1.0}
        for (form, product), (gauge, sign) in itertools.product(forms().items(), gauges.items()):
            seconds = product_seconds(lambda u, p, f=product, s=sign: f(u, p, s), upper, psi)
            rows.append(
                {
                    "what": f"product, {gauge}, {form}",
                    "l": count,
                    "states": states,
                    "microseconds": 1e6 * seconds,
                    "terabytes_per_second": 1e-12 * upper.nbytes / seconds,
                    **over(bound, upper.nbytes, seconds),
                    "microseconds_per_l": 1e6 * seconds / count,
                    "largest_difference": float(
                        jnp.max(jnp.abs(product(upper, psi, 1.0) - expected))
                    ),
                }
            )
    return rows


def tiles(states: int, count: int, bound: Bounds | None) -> list[dict]:
    """The kernel with other tiles than the one it uses."""
    rows = []
    upper, psi = random_blocks(count, states)
    expected = block_tridiagonal.product_xla(upper, psi, 1.0)
    names = ("block_c", "block_r", "rows", "warps")
    for numbers in (
        (128, 16, 80, 1), (128, 16, 64, 1), (128, 16, 32, 1), (128, 8, 64, 1), (64, 16, 64, 1),
        (64, 32, 64, 1), (256, 8, 64, 1), (128, 16, 64, 2), (128, 32, 64, 2), (128, 32, 64, 4),
    ):  # fmt: skip
        tile = dict(zip(names, numbers, strict=True))

        def product(u, p, tile=tile):
            return block_tridiagonal.product_triton(u, p, 1.0, tile)

        seconds = product_seconds(product, upper, psi)
        wrong = float(jnp.max(jnp.abs(product(upper, psi) - expected)))
        times = {"microseconds": 1e6 * seconds, **over(bound, upper.nbytes, seconds)}
        rows.append({"what": "tile", **tile, **times, "largest_difference": wrong})
    return rows


def evolved(*args, save_every: int, repeats: int = 3) -> tuple[zt.Solution, float]:
    """The run, and its seconds after one that compiles."""
    zt.evolve(*args, save_every=save_every)
    runs = [zt.evolve(*args, save_every=save_every) for _ in range(repeats)]
    return runs[-1], noted([run.info["seconds"] for run in runs])


QUESTION = "hydrogen in eigenstates and splines"
METHODS = {
    "Taylor 10": (zt.Taylor(10), 6.25e-3),
    "RK4": (zt.RungeKutta4(), 2.5e-3),
    "RKF45": (zt.RungeKuttaFehlberg45(), 3.75e-3),
}


def cost_against_l(
    states: int, counts: tuple[int, ...], span: float, projected: list[dict]
) -> list[dict]:
    """The paper's propagators and steps; blocks of hydrogen's size, made up."""
    pulse = zt.SineSquaredField(
        cycles=10, cep="-90 deg", frequency="20 eV", intensity="1e14 W/cm^2"
    )
    rows = []
    for count in counts:
        upper, _ = random_blocks(count, states)
        energies = jnp.tile(0.5 * (np.arange(1, states + 1) * np.pi / 400) ** 2, (count, 1))
        basis = zt.EigenBasis(energies, velocity=0.1 * upper)
        H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse)]), basis)
        for name, (method, dt) in METHODS.items():
            args = (H, basis.state(0), (0.0, span), dt, method)
            solution, seconds = evolved(*args, save_every=10**6)
            about = {"l": count, "states": states}
            rows.append(
                {
                    "what": f"step, {name}",
                    **about,
                    "microseconds_per_step": 1e6 * seconds / solution.info["steps"],
                }
            )
            projected.append(
                {
                    "what": f"cost, {name}",
                    **about,
                    "from_part_of_the_pulse": span / float(pulse.duration),
                    "seconds_per_10_cycles": seconds / span * float(pulse.duration),
                }
            )
    return rows


def full_run(states: int, lmax: int, cycles: int) -> dict:
    """The paper's run; made-up blocks of hydrogen's size would do, but these are hydrogen's."""
    radial = zt.RadialBSplines(states + 6, 8, 0.625 * states)
    atom = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(radial, lmax))
    begin = time.perf_counter()
    basis = zt.eigenbasis(atom, states=states)
    setup = time.perf_counter() - begin
    pulse = zt.SineSquaredField(
        cycles=cycles, cep="-90 deg", frequency="20 eV", intensity="1e14 W/cm^2"
    )
    H = zt.discretize(zt.Model([zt.FieldFree(), zt.VelocityGauge(pulse)]), basis)
    span = (0.0, float(pulse.duration))
    args = (H, basis.state(0), span, 6.25e-3, zt.Taylor(10))
    solution, seconds = evolved(*args, save_every=10**6, repeats=2)
    return {
        "what": f"{cycles} cycles, Taylor 10, dt 6.25e-3",
        "l": lmax + 1,
        "states": states,
        "seconds": seconds,
        "steps": solution.info["steps"],
        "norm_loss": solution.info["norm_loss"],
        "once_setup_seconds": setup,
    }


def implicit_step(n: int, lmax: int) -> list[dict]:
    basis = zt.SphericalBasis(zt.RadialBSplines(n, 7, 0.5 * n, "graded", first=0.2), lmax)
    pulse = zt.SineSquared(cycles=4, wavelength="800 nm", intensity="1e14 W/cm^2")
    psi = jnp.zeros(basis.shape, complex)
    psi = psi.at[0].set(basis.radial.project(lambda r: 2 * r * np.exp(-r)))
    rows = []
    for method, gauge in (
        (zt.AngularSplit(), zt.LengthGauge),
        (zt.CrankNicolson(1e-8), zt.VelocityGauge),
    ):
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), gauge(pulse)]), basis)
        args = (H, psi, (0.0, 100.0), 0.05, method)
        solution, seconds = evolved(*args, save_every=100)
        rows.append(
            {
                "what": f"{type(method).__name__}, {n} splines",
                "l": lmax + 1,
                "microseconds_per_step": 1e6 * seconds / solution.info["steps"],
            }
        )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--tune", action="store_true", help="only compare tiles of the kernel")
    options = parser.parse_args()
    zt.configure(precision="double")
    bound = of_this_device()
    states, counts = (160, (6, 11)) if options.quick else (640, (6, 21, 51, 101))
    rows: list[dict] = [] if bound is None else [bound.row()]
    projected: list[dict] = []
    parts: list = [lambda: products(states, counts, bound)]
    if options.tune:
        parts.append(lambda: tiles(states, 21, bound))
    else:
        for count in counts if options.quick else (101, 51, 21):
            span = 0.25 if options.quick else 2.5
            parts.append(
                lambda count=count, span=span: cost_against_l(states, (count,), span, projected)
            )
        parts.append(lambda: [full_run(*((60, 3, 2) if options.quick else (640, 20, 10)))])
        parts.append(lambda: implicit_step(*((100, 6) if options.quick else (300, 20))))
    for part in parts:
        begin = time.perf_counter()
        rows += part()
        print(f"part took {time.perf_counter() - begin:.1f} s", flush=True)
        # After each part, so that a run that is cut short leaves what it has measured.
        made = record("atoms_gpu", QUESTION, rows, *present("jax-triton"), projected=projected)
        finish(made, options.json)


if __name__ == "__main__":
    main()
