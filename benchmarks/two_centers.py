"""What does one electron around two nuclei cost in prolate spheroidal coordinates?

H2+ at R = 2 in an 800 nm pulse along its axis: one step of each method in both bases, the memory of
a state, and the error of 1sσg, beside a 3D Cartesian grid (order 8 differences for the explicit
step, regularized nuclei), and one product on 200 × 30 nodes.

    taskset -c 0 python benchmarks/two_centers.py --json FILE
    python benchmarks/two_centers.py --pulse --json FILE       a whole pulse, for a GPU
    python benchmarks/two_centers.py --figure FILE             the picture of the page, no record

With `--pulse`: two cycles of 800 nm at 2e14 W/cm² in both gauges, and on Cartesian grids of two
spacings, all compared with the length gauge in spheroidal coordinates.
"""

from __future__ import annotations

import os

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, median_seconds, noted
from records import finish, record

import zitter as zt

EXACT = -1.1026342144949
NUCLEI = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
DT = 0.05


@eqx.filter_jit
def advance(H, method, psi, state, steps):
    def body(n, carry):
        return method.step(H, carry[0], 150.0 + n * DT, DT, carry[1])

    psi, state = jax.lax.fori_loop(0, steps, body, (method.enter(psi), state))
    return method.leave(psi)


def step_ms(H, method, psi, steps):
    """One step at the peak of the pulse."""
    ready = method.prepare(H, (0.0, 400.0), DT)
    state = ready.init(H, psi, 0.0, DT)
    return 1e3 * median_seconds(lambda: advance(H, ready, psi, state, steps)) / steps


def product_row():
    basis = zt.ProlateSpheroidal(2.0, elements=np.linspace(0, 59, 21), nodes=11, eta=30)
    operator = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI]), basis).operator
    psi = basis.normalize(jnp.ones(basis.shape, complex))

    @jax.jit
    def products(operator, psi):
        return jax.lax.fori_loop(0, 200, lambda _, psi: 1e-3 * operator.apply(psi), psi)

    ms = 1e3 * median_seconds(lambda: products(operator, psi)) / 200
    return {"what": "product", "shape": list(basis.shape), "ms": ms}


def rows(pulse):
    spheroidal = zt.ProlateSpheroidal(2.0, rmax=80.0, eta=30)
    cartesian = zt.Grid((96, 96, 192), 0.4)
    cases = [
        (spheroidal, zt.LengthGauge(pulse), zt.AngularSplit(), 200),
        (spheroidal, zt.LengthGauge(pulse), zt.AngularSplit(radial_order=4), 200),
        (spheroidal, zt.VelocityGauge(pulse), zt.CrankNicolson(), 100),
        (spheroidal, zt.LengthGauge(pulse), zt.Lanczos(order=24), 20),
        (cartesian, zt.LengthGauge(pulse), zt.SplitOperator(), 2),
        (cartesian, zt.VelocityGauge(pulse), zt.Lanczos(order=8), 1),
    ]
    errors = {}
    for basis in (spheroidal, cartesian):
        H = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI]), basis)
        solver = None if basis is spheroidal else zt.LOBPCG(tol=1e-5)
        errors[id(basis)] = zt.eigenstates(H, 1, *([solver] if solver else []))
    for basis, light, method, steps in cases:
        ground = errors[id(basis)]
        H = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI, light]), basis)
        psi = jnp.asarray(ground.states[0]).astype(complex)
        yield {
            "what": "step",
            "basis": type(basis).__name__,
            "shape": list(basis.shape),
            "light": type(light).__name__,
            "method": repr(method).splitlines()[0][:60],
            "ms": step_ms(H, method, psi, steps),
            "state_mb": psi.nbytes / 1e6,
            "energy_error": float(ground.energies[0]) - EXACT,
        }


def pulse_rows():
    """Dipole and ionization of a whole pulse: gauges, and grids of two spacings."""
    pulse = zt.SineSquared(cycles=2, wavelength="800 nm", intensity="2e14 W/cm^2")
    spheroidal = zt.ProlateSpheroidal(2.0, rmax=35.0, nodes=16, eta=56)
    grids = [zt.Grid((n, n, 2 * n), h) for n, h in ((64, 0.6), (80, 0.48), (96, 0.4))]
    cases = [
        (spheroidal, zt.LengthGauge, zt.AngularSplit(radial_order=4), 22_000),
        (spheroidal, zt.VelocityGauge, zt.GaussCollocation(3, tol=1e-11), 4_400),
        *((grid, zt.LengthGauge, zt.SplitOperator(), 8_800) for grid in grids),
    ]
    reference = None
    for basis, light, method, steps in cases:
        H = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI, light(pulse)]), basis)
        solver = None if basis is spheroidal else zt.LOBPCG(tol=1e-6)
        ground = zt.eigenstates(H.static, 1, solver)
        end = float(pulse.duration)
        watched = [zt.Dipole(), zt.Ionization(10.0)]
        args = (H, ground.states[0], (0.0, end), end / steps, method, watched, steps // 100)
        run, *again = (zt.evolve(*args) for _ in range(3))  # the first one compiles
        course = {name: np.asarray(run.observables[name]) for name in ("dipole", "ionization")}
        reference = course if reference is None else reference
        yield {
            "what": "pulse",
            "basis": type(basis).__name__,
            "shape": list(basis.shape),
            "light": light.__name__,
            "method": type(method).__name__,
            "steps": steps,
            "seconds": noted([each.info["seconds"] for each in again]),
            "energy_error": float(ground.energies[0]) - EXACT,
            "ionization": float(course["ionization"][-1]),
            "largest_dipole": float(np.abs(course["dipole"]).max()),
            **{
                f"difference_of_{name}": float(np.abs(course[name] - reference[name]).max())
                for name in course
            },
        }


def draw(path):
    """The ground state in the plane of the nuclei, and errors against nodes."""
    import matplotlib.pyplot as plt

    basis = zt.ProlateSpheroidal(2.0, rmax=20.0)
    ground = zt.eigenstates(zt.discretize(zt.Model([zt.Kinetic(), NUCLEI]), basis), 1).states[0]
    density, axes = basis.density(ground), basis.density_axes()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.pcolormesh(axes["z"], axes["x"], density, cmap="magma", shading="nearest")
    left.set(xlim=(-4, 4), ylim=(-3, 3), xlabel="z (bohr)", ylabel="x (bohr)", aspect="equal")
    left.set_title("1sσg of H2+, R = 2", fontsize=10)
    for m, exact in ((0, EXACT), (1, -0.42877181989586), (2, -0.21273268181076)):
        sizes, found = range(6, 14), []
        for n in sizes:
            coarse = zt.ProlateSpheroidal(2.0, m, elements=(0, 2, 7, 15, 29, 45), nodes=n, eta=n)
            H = zt.discretize(zt.Model([zt.Kinetic(), NUCLEI]), coarse)
            found.append(abs(float(zt.eigenstates(H, 1).energies[0]) - exact))
        right.semilogy(sizes, found, "o-", label=f"|m| = {m}")
    right.set(xlabel="nodes in an element, and in η", ylabel="error of the lowest level (hartree)")
    right.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--figure", help="only draw the ground state and its convergence")
    parser.add_argument("--pulse", action="store_true", help="a whole pulse instead of steps")
    chosen = parser.parse_args()
    if chosen.figure:
        draw(chosen.figure)
        return
    pulse = zt.SineSquared(cycles=4, wavelength="800 nm", intensity="1e14 W/cm^2")
    question = (__doc__ or "").splitlines()[0]
    found = [*pulse_rows()] if chosen.pulse else [product_row(), *rows(pulse)]
    finish(record("two-centers", question, found), chosen.json)


if __name__ == "__main__":
    main()
