"""How fast is the TDSE on a CPU beside QuTiP, dynamiqs, SciPy and QMsolve, at the same error?

1. One-dimensional soft-core hydrogen, N = 512 points (order-8 differences), one 800 nm cycle at
   1e14 W/cm²: the same matrix for all. Each solver is run with each of its methods at a ladder of
   tolerances; its time is taken at the first rung whose final state is within 1e-6 of the
   reference.
2. Split-operator steps with identical phases on 256² and 64³ points, complex128.

Alike for all: double precision, all cores of the process, measured in turns after a call that is
not counted and that compiles; Hamiltonians are made before, and what a solver prepares of them at
each call (phases, bounds, tables) is in its time. Ratios stand where the error was reached, or the
states agree to 1e-10.

    pip install 'zitter[bench]';  python benchmarks/tdse_peers.py --json FILE
"""

from __future__ import annotations

import contextlib
import io
import os

import numpy as np
import scipy.fft
from common import arguments, fastest
from records import finish, record

import zitter as zt

TARGET = 1e-6
SAME = 1e-10  # of states after the same steps
CORES = len(os.sched_getaffinity(0))
TOLERANCES = (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 3e-10, 1e-10, 3e-11, 1e-11, 1e-12)
QUTIP = ("adams", "vern7", "vern9")  # "dop853" gives up: it takes the problem for stiff
DYNAMIQS = ("Tsit5", "Dopri5", "Dopri8")
RUNGS = (1.6, 1.2, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05)


def hydrogen():
    """Grid, pulse, Hamiltonian, ground state and the matrices that the peers get."""
    grid = zt.Grid(512, 0.3)
    pulse = zt.SineSquared(intensity="1e14 W/cm^2", wavelength="800 nm", cycles=2)
    model = zt.Model([zt.Kinetic(order=8), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(pulse)])
    H = zt.discretize(model, grid)
    ground = zt.eigenstates(H.static, 1, zt.Direct()).states[0]
    return grid, pulse, H, ground


def first_rung(solve, rungs, reference) -> dict:
    """The first rung that reaches the target, or the last one, and its error."""
    for rung in rungs:
        error = float(np.linalg.norm(np.ravel(solve(rung)) - reference))
        if error <= TARGET:
            break
    return {"setting": rung, "error": error}


def one_dimension() -> list[dict]:
    grid, pulse, H, ground = hydrogen()
    end = float(pulse.duration)
    psi0 = np.asarray(ground) / np.linalg.norm(np.asarray(ground))
    exact = zt.Lanczos(16, scheme=zt.CommutatorFree4())
    reference = np.asarray(zt.evolve(H, psi0, (0, end), 0.01, exact).final).ravel()
    matrix = np.asarray(H.static.as_matrix())
    x = grid.points(0)

    def zitter_with(propagator):
        return lambda dt: np.asarray(zt.evolve(H, psi0, (0, end), dt, propagator).final)

    ours = {
        "zitter, Lanczos + Magnus 4": zt.Lanczos(14, scheme=zt.CommutatorFree4()),
        "zitter, Chebyshev + Magnus 4": zt.Chebyshev(1e-10, scheme=zt.CommutatorFree4()),
        "zitter, Taylor + Magnus 4": zt.Taylor(tol=1e-10, scheme=zt.CommutatorFree4()),
    }
    solvers = {name: (zitter_with(propagator), RUNGS) for name, propagator in ours.items()}

    # Both peers take E(t) from the same pulse, tabulated so finely that a spline adds no error.
    times = np.linspace(0, end, 4001)
    field = np.asarray(pulse.electric_field(times))
    with contextlib.suppress(ImportError):
        for method in QUTIP:
            solver = qutip_solver(method, matrix, x, times, field, psi0, end)
            solvers[f"QuTiP, {method}"] = (solver, TOLERANCES)
    with contextlib.suppress(ImportError):
        for method in DYNAMIQS:
            solver = dynamiqs_solver(method, matrix, x, pulse, psi0, end)
            solvers[f"dynamiqs, {method}"] = (solver, TOLERANCES)
    found = {name: first_rung(*both, reference) for name, both in solvers.items()}
    seconds = fastest(
        {
            name: lambda solve=solve, rung=found[name]["setting"]: solve(rung)
            for name, (solve, _) in solvers.items()
        },
        rounds=5,
    )
    there = {name for name, row in found.items() if row["error"] <= TARGET}
    best = min(seconds[name] for name in there if name.startswith("zitter"))
    rows = []
    for name, row in found.items():
        row = {"problem": "1D hydrogen, N = 512", "solver": name, **row, "seconds": seconds[name]}
        rows.append(row | ({"ratio": seconds[name] / best} if name in there else {}))
    return rows


def qutip_solver(method, matrix, x, times, field, psi0, end):
    import qutip
    import scipy.sparse

    static = qutip.Qobj(scipy.sparse.csr_matrix(matrix))
    position = qutip.Qobj(scipy.sparse.diags(x).tocsr())
    H = qutip.QobjEvo([static, [position, qutip.coefficient(field, tlist=times, order=3)]])
    state = qutip.Qobj(psi0)

    def solve(tol):
        options = {"method": method, "atol": tol, "rtol": tol, "nsteps": 10**7}
        options |= {"progress_bar": "", "store_states": True}
        return qutip.sesolve(H, state, [0.0, end], options=options).states[-1].full()

    return solve


def dynamiqs_solver(method, matrix, x, pulse, psi0, end):
    import dynamiqs as dq
    import jax.numpy as jnp

    dq.set_precision("double")
    dq.set_progress_meter(False)
    # dynamiqs' own sparse layout for banded matrices.
    static = dq.asqarray(jnp.asarray(matrix), layout=dq.dia)
    position = dq.asqarray(jnp.diag(jnp.asarray(x)), layout=dq.dia)
    H = static + dq.modulated(pulse.electric_field, position)

    def solve(tol):
        chosen = getattr(dq.method, method)(rtol=tol, atol=tol, max_steps=10**7)
        result = dq.sesolve(
            H, jnp.asarray(psi0 + 0j)[:, None], jnp.asarray([0.0, end]), method=chosen
        )
        return np.asarray(result.final_state.to_jax())

    return solve


def split_steps(shape: tuple[int, ...], steps: int) -> list[dict]:
    """The same Strang steps: zitter, SciPy's FFT on all cores, QMsolve's loop."""
    h, dt = 0.3, 0.05
    grid = zt.Grid(shape, h, "periodic")
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb(softening=1.0)]), grid)
    psi0 = np.asarray(grid.sample(lambda *x: np.exp(-sum((c - 1) ** 2 for c in x) / 4 + 1j * x[0])))
    psi0 = psi0 / np.sqrt(np.sum(abs(psi0) ** 2) * grid.volume)
    potential = np.asarray(H.fixed.parts[1].full())
    waves = [2 * np.pi * np.fft.fftfreq(n, h) for n in shape]
    kinetic = sum(k**2 / 2 for k in np.meshgrid(*waves, indexing="ij"))

    def zitter():
        sol = zt.evolve(H, psi0, (0, steps * dt), dt, zt.SplitOperator(), save_every=steps)
        return np.asarray(sol.final)

    def scipy_fft():
        half, full = np.exp(-0.5j * dt * potential), np.exp(-1j * dt * kinetic)
        psi = psi0.astype(complex)
        for _ in range(steps):
            psi *= half
            psi = scipy.fft.fftn(psi, workers=CORES, overwrite_x=True)
            psi *= full
            psi = scipy.fft.ifftn(psi, workers=CORES, overwrite_x=True)
            psi *= half
        return psi

    solvers = {"zitter": zitter, f"SciPy FFT, {CORES} threads": scipy_fft}
    with contextlib.suppress(ImportError):
        solvers["QMsolve"] = qmsolve_solver(shape, h, dt, steps, potential, kinetic, psi0)
    finals = {name: solve() for name, solve in solvers.items()}
    seconds = fastest(solvers, rounds=5)
    rows = []
    for name in solvers:
        gap = float(np.max(np.abs(finals[name] - finals["zitter"])))
        rows.append({"solver": name, "ms_per_step": 1e3 * seconds[name] / steps, "gap": gap})
    label = f"split operator {'×'.join(map(str, shape))}"
    return [
        {"problem": label, **r}
        | ({"ratio": r["ms_per_step"] / rows[0]["ms_per_step"]} if r["gap"] < SAME else {})
        for r in rows
    ]


def qmsolve_solver(shape, h, dt, steps, potential, kinetic, psi0):
    """QMsolve's own stepping class, handed the same potential and momentum grid."""
    from types import SimpleNamespace

    from qmsolve.particle_system import SingleParticle
    from qmsolve.time_dependent_solver.split_step import SplitStep

    particle = SingleParticle()
    particle.compute_momentum_space = lambda H: None
    particle.p2 = np.fft.fftshift(2 * kinetic)
    particle.m = 1.0
    hamiltonian = SimpleNamespace(
        Vgrid=potential, particle_system=particle, N=shape[0], ndim=len(shape)
    )
    simulation = SimpleNamespace(H=hamiltonian)
    method = SplitStep(simulation)

    def solve():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            method.run(lambda _: psi0, steps * dt, dt)
        return simulation.Ψ[-1]

    return solve


def main() -> None:
    options = arguments(__doc__).parse_args()
    zt.configure(precision="double")
    rows = one_dimension() + split_steps((256, 256), 40) + split_steps((64, 64, 64), 20)
    result = record("tdse_peers", __doc__.splitlines()[0], rows, "qutip", "dynamiqs", "qmsolve")
    finish(result, options.json)


if __name__ == "__main__":
    main()
