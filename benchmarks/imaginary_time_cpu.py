"""Stationary states on a CPU: the explicit update against numba, four ground states, QMsolve.

    python benchmarks/imaginary_time_cpu.py --json results/imaginary_time_cpu.json

QMsolve (if installed) solves 3D H2+ in the same box. Its grid is refined until it is as accurate as
LOBPCG on the coarsest grid that we allow, or until a solution takes two minutes; only at that error
is there a ratio. Both are measured in turns, in double precision, on all cores of the process, with
the making of the Hamiltonian in the time and with compilation (a first call) out of it.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from common import arguments, done, fastest, noted
from records import finish, record

import zitter as zt
from zitter.linalg.kernels import explicit_update
from zitter.reproduce.imaginary_time_3d import CASES, H2_PLUS

EXACT_H2_PLUS = -1.102634214495
ELECTRONVOLTS = 27.211386245981  # in a hartree


def numba_update(parallel: bool):
    import numba

    @numba.njit(parallel=parallel, fastmath=True)
    def update(psi, g, k, out):
        nx, ny, nz = psi.shape
        middle = 4 - 6 * k
        for x in numba.prange(1, nx - 1):
            for y in range(1, ny - 1):
                for z in range(1, nz - 1):
                    c = psi[x, y, z]
                    around = psi[x - 1, y, z] + psi[x + 1, y, z] + psi[x, y - 1, z]
                    around += psi[x, y + 1, z] + psi[x, y, z - 1] + psi[x, y, z + 1]
                    out[x, y, z] = g[x - 1, y - 1, z - 1] * (k * around + middle * c) - c

    return update


def update_rows(sizes, rounds=9) -> list[dict]:
    """zitter and a plain numba kernel in turns, so that a disturbance hits both; best of `rounds`.

    zitter's own kernel is compiled by numba, too, but does two updates in a pass; what XLA makes of
    the update, for want of numba, stands beside it. The plain kernel is taken with threads or
    without, whichever is faster: on small grids its threads lose.
    """
    rows = []
    kernels = [numba_update(parallel=True), numba_update(parallel=False)]
    by_xla = jax.jit(explicit_update.advance_xla, static_argnums=3)
    for n, dtype in itertools.product(sizes, (np.float64, np.float32)):
        updates = 2 * int(np.clip(10 * (128 / n) ** 3, 10, 200))
        rng = np.random.default_rng(0)
        psi = rng.random((n, n, n)).astype(dtype)
        g = (1 / (2 + 0.01 * rng.random((n, n, n)))).astype(dtype)
        k, weights = dtype(0.2), jnp.full(3, 0.2, dtype)
        x, y = jnp.asarray(psi), jnp.asarray(g)
        a = np.pad(psi, 1)
        b = np.zeros_like(a)

        def with_numba(kernel, a=a, b=b, psi=psi, g=g, k=k, updates=updates):
            a[1:-1, 1:-1, 1:-1] = psi
            start = time.perf_counter()
            for _ in range(updates // 2):
                kernel(a, g, k, b)
                kernel(b, g, k, a)
            return (time.perf_counter() - start) / updates

        def with_zitter(advance, x=x, y=y, weights=weights, updates=updates):
            start = time.perf_counter()
            jax.block_until_ready(advance(x, y, weights, updates))
            return (time.perf_counter() - start) / updates

        ways = [explicit_update.advance_numba, by_xla]
        turns = [[*map(with_zitter, ways), *map(with_numba, kernels)] for _ in range(rounds + 1)]
        for column in zip(*turns[1:], strict=True):
            noted(list(column))
        ours, xla, *theirs = np.min(turns[1:], axis=0)
        found = explicit_update.advance_numba(x, y, weights, updates)
        error = np.max(np.abs(found - a[1:-1, 1:-1, 1:-1])) / np.max(np.abs(found))
        assert error < (1e-11 if dtype is np.float64 else 1e-3), error
        rows.append(
            {
                "task": f"update {n}³, {np.dtype(dtype).name}",
                "zitter_ms": 1e3 * ours,
                "xla_ms": 1e3 * xla,
                "numba_threads_ms": 1e3 * theirs[0],
                "numba_serial_ms": 1e3 * theirs[1],
                "ratio_to_faster_numba": ours / min(theirs),
                # Reading ψ and g and writing ψ, once for two updates.
                "GB_per_s": 1.5e-9 * psi.nbytes / ours,
            }
        )
    return rows


def timed(H, tol=1e-4, repeats=2):
    """The states, and the median time after one call that compiles."""
    return done(lambda: zt.eigenstates(H, 1, zt.LOBPCG(tol=tol)), repeats)


def ground_state_rows() -> list[dict]:
    rows = []
    for case in CASES:
        _, n, spacing = case.recommended[0]
        H = zt.discretize(zt.Model([zt.Kinetic(), case.physics]), zt.Grid((n,) * 3, spacing))
        eig, seconds = timed(H, repeats=3)
        rows.append(
            {
                "task": f"ground state, {case.name}",
                "method": f"LOBPCG, {n}³, h = {spacing}",
                "seconds": seconds,
                "error_hartree": float(eig.energies[0] - case.exact[0]),
            }
        )
    return rows


def size_rows(sizes) -> list[dict]:
    """Cost against the number of points: the coupled oscillators in one box of 5.4 bohr."""
    case = next(c for c in CASES if c.name == "anharmonic")
    rows = []
    for n in sizes:
        grid = zt.Grid((n,) * 3, 5.4 / (n + 1))
        H = zt.discretize(zt.Model([zt.Kinetic(), case.physics]), grid)
        eig, seconds = timed(H, repeats=3 if n <= 96 else 2)
        rows.append(
            {
                "task": f"cost against size, {n}³",
                "seconds": seconds,
                "iterations": eig.info["iterations"],
                "microseconds_per_point": 1e6 * seconds / n**3,
                "error_hartree": float(eig.energies[0] - case.exact[0]),
            }
        )
    return rows


def qmsolve_rows(extent=16.0) -> list[dict]:
    """H2+ by QMsolve's own 3D method (LOBPCG from a 30³ start), nuclei between its grid points."""
    try:
        from qmsolve import Hamiltonian, SingleParticle  # type: ignore[import-not-found]
    except ImportError:
        print("qmsolve is not installed: no comparison with it")
        return []

    def potential(particle):
        square = particle.x**2 + particle.y**2
        up, down = particle.z - 1.0, particle.z + 1.0
        return -1 / np.sqrt(square + up**2) - 1 / np.sqrt(square + down**2)

    def theirs(points):
        H = Hamiltonian(SingleParticle(), potential, N=points, extent=extent, spatial_ndim=3)
        return float(H.solve(max_states=1, method="lobpcg").energies[0]) / ELECTRONVOLTS

    def ours(points):
        model = zt.Model([zt.Kinetic(), H2_PLUS])
        H = zt.discretize(model, zt.Grid((points,) * 3, extent / (points + 1)))
        return float(zt.eigenstates(H, 1, zt.LOBPCG(tol=1e-3)).energies[0])

    n = 24  # spacing 0.64: regularized nuclei ask for less than 0.72
    error = abs(ours(n) - EXACT_H2_PLUS)
    for points in (60, 80, 100, 120, 140, 160):
        start = time.perf_counter()
        reached = abs(theirs(points) - EXACT_H2_PLUS)
        if reached <= error or time.perf_counter() - start > 120:
            break
    times = fastest({"ours": lambda: ours(n), "theirs": lambda: theirs(points)})
    about = {"task": "H2+ in the same box", "cores": len(os.sched_getaffinity(0))}
    rows = [
        {**about, "method": f"LOBPCG, {n}³", "seconds": times["ours"], "error_hartree": error},
        {
            **about,
            "method": f"QMsolve, {points}³",
            "seconds": times["theirs"],
            "error_hartree": reached,
        },
    ]
    if reached <= error:
        rows[1]["takes_times"] = times["theirs"] / times["ours"]
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--largest", type=int, default=256, help="the largest grid")
    options = parser.parse_args()
    zt.configure(precision="double")
    sizes = [n for n in (32, 48, 64, 96, 128, 192, 256) if n <= options.largest]
    rows = update_rows([n for n in (32, 64, 128, 256) if n <= options.largest])
    rows += ground_state_rows() + qmsolve_rows() + size_rows(sizes)
    question = "What do stationary states in three dimensions cost on a CPU?"
    finish(record("imaginary_time_cpu", question, rows, "numba", "qmsolve"), options.json)


if __name__ == "__main__":
    main()
