"""What does a mesh of one device cost?

Each kind of run with `zt.configure(mesh={axis: 1})` and without a mesh, in turn, after a first run
of each that compiles; the median of the ratios of neighbors counts, the spread is theirs. A mesh of
one device takes the plain path, so that nothing but noise should be seen.

    python benchmarks/mesh_of_one.py --json FILE [--small]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from common import arguments, noted
from records import finish, record

import zitter as zt

Run = Callable[[], Any]


def grid(small: bool) -> Run:
    n, steps = (48, 20) if small else (128, 400)
    box = zt.Grid((n, n, n), spacing=0.3)
    model = zt.Model([zt.Kinetic(), zt.Harmonic(0.5), zt.LengthGauge(pulse())])
    psi = np.exp(-0.25 * sum(x**2 for x in box.coordinates())).astype(complex)
    return evolved(model, box, psi, steps, propagator=zt.SplitOperator())


def atom(small: bool) -> Run:
    splines, l_max, steps = (40, 6, 50) if small else (400, 60, 6000)
    radial = zt.RadialBSplines(splines, 7, 200.0, "graded", first=0.5, grading=6.0)
    basis, bare = zt.SphericalBasis(radial, l_max), [zt.Kinetic(), zt.Coulomb(Z=1)]
    psi = zt.eigenstates(zt.discretize(zt.Model(bare), basis), 1).states[0]
    model = zt.Model([*bare, zt.LengthGauge(pulse())])
    return evolved(model, basis, psi, steps)


def dense(small: bool) -> Run:
    n, steps = (64, 4) if small else (2048, 20)
    line = zt.Grid(n, spacing=0.1)
    model = zt.Model([zt.Kinetic(), zt.Harmonic(0.2), zt.LengthGauge(pulse())])
    psi = np.exp(-0.3 * line.points(0) ** 2).astype(complex)
    return evolved(model, line, psi, steps, propagator=zt.MatrixExponential())


def walkers(small: bool) -> Run:
    n, count, blocks = (14, 64, 10) if small else (54, 1024, 100)
    psi = zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(n, 1.0), [zt.qmc.U()])
    return lambda: zt.qmc.vmc(psi, count, blocks, seed=1)


def evolved(model: zt.Model, basis: Any, psi: Any, steps: int, **options: Any) -> Run:
    """H is made within the mesh, as users make it."""

    def run() -> Any:
        H = zt.discretize(model, basis)
        return zt.evolve(H, psi, (0.0, steps * 0.02), 0.02, observables=[zt.Norm()], **options)

    return run


def pulse() -> Any:
    return zt.SineSquared(cycles=4, wavelength="400 nm", intensity="1e13 W/cm^2")


CASES = {
    "grid, SplitOperator": ("space", grid),
    "atom in splines, length gauge": ("l", atom),
    "MatrixExponential": ("rows", dense),
    "VMC of an electron gas": ("walkers", walkers),
}


def compared(make: Callable[[bool], Run], axis: str, small: bool, rounds: int) -> dict[str, Any]:
    run, times = make(small), {"plain": [], "mesh": []}
    for turn in range(rounds + 1):
        for way, mesh in (("plain", None), ("mesh", {axis: 1})):
            zt.configure(mesh=mesh)
            tick = time.perf_counter()
            found = run()
            jax.block_until_ready(jax.tree.leaves(getattr(found, "final", ())))
            if turn:  # the first compiles
                times[way].append(time.perf_counter() - tick)
    zt.configure(mesh=None)
    ratios = [b / a for a, b in zip(times["plain"], times["mesh"], strict=True)]
    seconds = {way: noted(values) for way, values in times.items()}
    return {
        "seconds": seconds["plain"],
        "mesh_over_plain": statistics.median(ratios),
        "smallest": min(ratios),
        "largest": max(ratios),
        "rounds": rounds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--small", action="store_true", help="sizes to try it out")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    zt.configure(precision="double")
    rows = []
    for what, (axis, make) in CASES.items():
        rows.append(
            {"run": what, "axis": axis, **compared(make, axis, options.small, options.rounds)}
        )
        print(rows[-1], flush=True)
    finish(record("mesh_of_one", (__doc__ or "").splitlines()[0], rows), options.json)


if __name__ == "__main__":
    main()
