"""Hydrogen in a basis of eigenstates: products, scaling with l, a full run, implicit steps.

The product with real blocks between l and l + 1 (l ≤ 20, 640 states) must read its 66 MB once: the
time that takes at the measured speed of a plain copy is the bound in each row. Then l up to 100,
the paper's 10-cycle run with Taylor 10, and the B-spline steps for comparison.

    python benchmarks/atoms_gpu.py --json FILE          (--quick for a small machine)
"""

from __future__ import annotations

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, finish, median_seconds, record

import zitter as zt
from zitter.operators.blocks import DipoleBlocks


def bytes_per_second(size: int) -> float:
    """Read and write of x + 1, counted both ways; large, so that the call itself costs nothing."""
    x = jnp.zeros(size // 8)
    add = jax.jit(lambda x: x + 1)
    return 2 * size / median_seconds(lambda: add(x), 7)


def product_seconds(operator, psi, repeats=200) -> float:
    @eqx.filter_jit
    def many(operator, psi):
        def body(n, psi):
            # Two products per turn, so that the carried arrays swap instead of being copied.
            psi = operator.scaled(1.0 + 1e-9 * n).apply(psi)
            return operator.scaled(0.99).apply(psi)

        return jax.lax.fori_loop(0, repeats // 2, body, psi)

    return median_seconds(lambda: many(operator, psi)) / repeats


def products(states: int, counts: tuple[int, ...], speed: float) -> list[dict]:
    rng = np.random.default_rng(0)
    rows = []
    for count in counts:
        # Random blocks of this size keep the norm of ψ about constant from product to product.
        block = jnp.asarray(rng.normal(size=(1, states, states)) / np.sqrt(2 * states))
        upper = jnp.tile(block, (count - 1, 1, 1))
        psi = jnp.ones((count, states), complex)
        for name, phase in (("length", 1.0), ("velocity", -1j)):
            seconds = product_seconds(DipoleBlocks(upper, 1.0, phase), psi)
            bound = upper.nbytes / speed
            rows.append(
                {
                    "what": f"product, {name}",
                    "l": count,
                    "states": states,
                    "microseconds": 1e6 * seconds,
                    "terabytes_per_second": 1e-12 * upper.nbytes / seconds,
                    "bound_microseconds": 1e6 * bound,
                    "ratio": seconds / bound,
                    "microseconds_per_l": 1e6 * seconds / count,
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
    zt.evolve(*args, save_every=1000)
    solution = zt.evolve(*args, save_every=1000)
    return {
        "what": f"{cycles} cycles, Taylor 10, dt 6.25e-3",
        "l": lmax + 1,
        "states": states,
        "seconds": solution.info["seconds"],
        "steps": solution.info["steps"],
        "norm_loss": solution.info["norm_loss"],
        "setup_seconds": setup,
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
        zt.evolve(*args, save_every=100)
        solution = zt.evolve(*args, save_every=100)
        rows.append(
            {
                "what": f"{type(method).__name__}, {n} splines",
                "l": lmax + 1,
                "microseconds_per_step": 1e6 * solution.info["seconds"] / solution.info["steps"],
            }
        )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args()
    zt.configure(precision="double")
    speed = bytes_per_second(2**26 if options.quick else 2**32)
    states, counts = (160, (6, 11)) if options.quick else (640, (6, 11, 21, 51, 101))
    rows: list[dict] = [{"what": "copy", "terabytes_per_second": speed / 1e12}]
    rows += products(states, counts, speed)
    rows.append(full_run(*((60, 3, 2) if options.quick else (640, 20, 10))))
    rows += implicit_step(*((100, 6) if options.quick else (300, 20)))
    if not options.quick:
        rows += implicit_step(1000, 100)
    finish(record("atoms_gpu", "hydrogen in eigenstates and splines", rows), options.json)


if __name__ == "__main__":
    main()
