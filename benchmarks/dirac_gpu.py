"""The Dirac product H(t)ψ without a matrix against cuSPARSE, and the largest published size.

At |κ| ≤ 33, 223 splines, l ≤ 10 the assembled matrix (complex128, 32-bit indices) is built on the
device from the same matrix elements, cupy multiplies it by cuSPARSE, and both images are compared.
Then |κ| ≤ 80 with 1205 splines: the product, the direct solve with S + iΔt/2 H₀, and whole steps.

    python benchmarks/dirac_gpu.py --json FILE          (--quick for a small machine, no peer)
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # the oracle
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the peer needs memory as well

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, least_seconds, noted
from records import finish, present, record

import zitter as zt
from systems.kronecker import legendre_moments, radial_matrices, transposed
from zitter.bases.angular import spinor_table
from zitter.bases.spinor.kinetic_balance import allowed
from zitter.bases.spinor.light import angles
from zitter.bases.spinor.solver import SpinorSolver

MOMENT = 0.9
STEPS = 80_000  # of the largest run in the paper
PULSE = zt.SineSquared(amplitude=1000.0, frequency=50.0, cycles=15, phase_origin="start")


def hamiltonian(kappa_max: int, n: int, lmax: int):
    basis = zt.SpinorBasis(zt.RadialBSplines(n, 7, 60.0), kappa_max)
    model = zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(PULSE, lmax)])
    return zt.discretize(model, basis)


def ground_state(basis) -> jax.Array:
    """Close to 1s½, μ = ½: e^{−r} in P, balanced in Q."""
    r = basis.radial.centers
    row = jnp.zeros(basis.shape[1]).at[0::2].set(r * np.exp(-r))
    psi = jnp.zeros(basis.shape, complex).at[basis.channel(-1, 0.5)].set(row)
    return basis.normalize(psi)


BEGAN = time.perf_counter()


def told(rows: list[dict]) -> list[dict]:
    """Say what is known so far: the large sizes take minutes."""
    for row in rows:
        print(f"[{time.perf_counter() - BEGAN:.0f} s] {row}", flush=True)
    return rows


def size_of(tree) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if eqx.is_array(leaf))


def timed(function, *values, repeats: int, rounds: int = 5) -> tuple[float, int]:
    """Best seconds of one application inside a compiled loop, and its memory beyond ψ."""

    @eqx.filter_jit
    def many(values, psi):
        return jax.lax.fori_loop(0, repeats, lambda i, x: function(*values, x, i), psi)

    *values, psi = values
    compiled = many.lower(values, psi).compile()
    analysis = compiled.compiled.memory_analysis()
    seconds = least_seconds(lambda: many(values, psi), rounds)
    extra = getattr(analysis, "temp_size_in_bytes", 0) + size_of(values)
    return seconds / repeats, int(extra)


def product(H, psi, i):
    """H(t)ψ at a new time for each product; the factor only keeps numbers in range."""
    return 1e-6 * H.mix([1.0], [MOMENT + 1e-6 * i]).apply(psi)


def light_product(H, psi, i):
    return 1e-4 * H.changing[0].at(MOMENT + 1e-6 * i).apply(psi)


def products(H, repeats: int) -> tuple[list[dict], float, int]:
    rng = np.random.default_rng(0)
    psi = jnp.asarray(rng.normal(size=H.shape) + 1j * rng.normal(size=H.shape))
    rows = []
    for name, function in (("H(t) psi", product), ("light only", light_product)):
        seconds, extra = timed(function, H, psi, repeats=repeats)
        rows.append(
            {
                "what": name,
                "kappa_max": H.basis.kappa_max,
                "splines": H.basis.radial.n,
                "unknowns": H.basis.size,
                "ms": 1e3 * seconds,
                "megabytes": extra / 1e6,
            }
        )
    return rows, rows[0]["ms"], int(1e6 * rows[0]["megabytes"])


def angular_tables(basis, lmax: int):
    """For each channel its partners and ⟨X_κ'μ'|σ_x P_l|X_−κμ⟩ forth and back, by quadrature."""
    x, weights = angles(basis, lmax)
    legendre = np.polynomial.legendre.legvander(x, lmax) * weights[:, None]
    upper = spinor_table(basis.kappas, basis.mus, x)
    lower = spinor_table(-basis.kappas, basis.mus, x)
    tables = {}
    for mu in np.unique(basis.mus):
        rows = np.nonzero(basis.mus == mu)[0]
        columns = np.nonzero(np.abs(basis.mus - mu) == 1)[0]
        forth = np.zeros((len(rows), len(columns), lmax + 1))
        back = np.zeros_like(forth)
        for spin in (0, 1):  # σ_x: up from the down component of μ − 1, and the other way round
            part = basis.mus[columns] == mu + (-1 if spin == 0 else 1)
            for table, bra, ket in ((forth, upper, lower), (back, lower, upper)):
                left, right = bra[spin, rows], ket[1 - spin, columns[part]]
                table[:, part] = np.einsum("kx,xl,qx->kql", left, legendre, right, optimize=True)
        for i, row in enumerate(rows):
            coupled = (np.abs(forth[i]).max(1) > 1e-13) | (np.abs(back[i]).max(1) > 1e-13)
            tables[int(row)] = (columns[coupled], forth[i, coupled], back[i, coupled])
    return tables


def assembled_on_device(H):
    """The matrix of H(t) as a cupy CSR matrix; every row holds 30 entries for each partner."""
    import cupy as cp
    import cupyx.scipy.sparse as sparse

    basis, light = H.basis, H.changing[0].at(MOMENT)
    size, width = basis.shape[1], 2 * (2 * basis.radial.degree + 1)
    tables = angular_tables(basis, light.lmax)
    radial = radial_matrices(basis, legendre_moments(light))
    back = np.asarray(transposed(radial))
    # (l, a, b) → entries (2n, 30): row j reaches columns j − 14 − (j odd) … j + 15 − (j odd).
    j = np.arange(size)[:, None]
    column = j - (width // 2 - 1) - j % 2 + np.arange(width)
    valid, p = (column >= 0) & (column < size), radial.shape[3] // 2
    place = np.clip(p + column - j, 0, 2 * p)
    gathered = cp.asarray(np.stack([radial, back])[:, :, :, :, place, j])  # (2, l, a, b, 2n, 30)
    gathered = gathered.reshape(-1, size * width)
    own = np.asarray(H.fixed.bands())[:, place, j]
    kappa_place = {int(k): i for i, k in enumerate(basis.distinct_kappas)}
    used = allowed(basis.kappas, basis.radial.n) > 0
    counts = np.asarray([len(tables[r][0]) + 1 for r in range(basis.shape[0])])
    lengths = (counts[:, None] * valid.sum(1)).reshape(-1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    data = cp.empty(int(starts[-1]), complex)
    indices = cp.empty(int(starts[-1]), cp.int32)
    valid_d, column_d, used_d = cp.asarray(valid), cp.asarray(column), cp.asarray(used)
    for r in range(basis.shape[0]):
        partners, forth, behind = tables[r]
        k, q = float(basis.kappas[r]), basis.kappas[partners].astype(float)
        powers = np.stack([np.stack([k**a * q**b for b in (0, 1)], 1) for a in (0, 1)], 1)
        turned = np.stack([np.stack([q**a * k**b for b in (0, 1)], 1) for a in (0, 1)], 1)
        weights = np.stack(
            [
                forth[:, :, None, None] * powers[:, None],
                -behind[:, :, None, None] * turned[:, None],
            ],
            axis=1,
        )
        entries = cp.asarray(weights.reshape(len(partners), -1)) @ gathered
        block = cp.zeros((len(partners) + 1, size, width), complex)
        order = np.argsort(np.append(partners, r))
        block[:-1] = 1j * entries.reshape(len(partners), size, width)
        block[-1] = cp.asarray(own[kappa_place[int(k)]])
        channels = cp.asarray(np.append(partners, r)[order])
        block = block[cp.asarray(order)]
        inside = cp.where(valid_d, column_d, 0)
        block *= used_d[r][None, :, None] & used_d[channels][:, inside]
        keep = cp.broadcast_to(valid_d[:, None], (size, len(order), width))
        where = slice(int(starts[r * size]), int(starts[(r + 1) * size]))
        data[where] = block.transpose(1, 0, 2)[keep]
        cells = channels[None, :, None] * size + column_d[:, None]
        indices[where] = cells[keep].astype(cp.int32)
    matrix = sparse.csr_matrix(
        (data, indices, cp.asarray(starts, cp.int32)), shape=(basis.size, basis.size)
    )
    matrix.has_canonical_format = True
    return matrix


def peer(H, ms: float, ours: int) -> list[dict]:
    import cupy as cp

    start = time.perf_counter()
    matrix = assembled_on_device(H)
    cp.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    rng = np.random.default_rng(1)
    psi = rng.normal(size=H.shape) + 1j * rng.normal(size=H.shape)
    vector = cp.asarray(psi.reshape(-1))
    image = matrix @ vector
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    times = []
    for _ in range(10):
        begin.record()
        matrix @ vector
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end))
    noted(times)
    expected = cp.asnumpy(image).reshape(H.shape)
    apply = eqx.filter_jit(lambda H, psi: H.mix([1.0], [MOMENT]).apply(psi))
    difference = np.abs(np.asarray(apply(H, jnp.asarray(psi))) - expected).max()
    theirs = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    return [
        {
            "what": "cuSPARSE, assembled matrix",
            "entries": int(matrix.nnz),
            "ms": min(times),
            "megabytes": theirs / 1e6,
            "once_assembly_seconds": seconds,
            "ratio_of_times": min(times) / ms,
            "ratio_of_memory": theirs / ours,
            "difference": float(difference / np.abs(expected).max()),
        }
    ]


def largest(H, dt: float, steps: int) -> list[dict]:
    """The direct solve and whole steps."""
    basis, psi = H.basis, ground_state(H.basis)
    bands = basis.overlap_matrices() + 0.5j * dt * H.fixed.bands()
    start = time.perf_counter()
    solver = jax.block_until_ready(eqx.filter_jit(SpinorSolver)(basis, bands))
    factoring = time.perf_counter() - start
    seconds, extra = timed(lambda s, x, i: s.solve(x), solver, psi, repeats=10)
    rows: list[dict] = [
        {
            "what": "solve with S + i dt/2 H0",
            "kappa_max": basis.kappa_max,
            "splines": basis.radial.n,
            "ms": 1e3 * seconds,
            "megabytes": extra / 1e6,
            "once_seconds_to_factor_and_compile": factoring,
        }
    ]
    del solver
    method, start = zt.SplineCrankNicolson(1e-8), 0.5 * float(PULSE.duration)
    method = method.prepare(H, (start, start + steps * dt), dt)
    state = jax.block_until_ready(
        eqx.filter_jit(lambda m, H, psi: m.init(H, psi, start, dt))(method, H, psi)
    )
    step = eqx.filter_jit(lambda m, H, psi, t, state: m.step(H, psi, t, dt, state))
    times = []
    for i in range(steps + 1):  # the first one compiles
        begin = time.perf_counter()
        psi, state = jax.block_until_ready(step(method, H, psi, jnp.float64(start + i * dt), state))
        times.append(time.perf_counter() - begin)
    ms = 1e3 * noted(times[1:])
    device = jax.devices()[0].memory_stats() or {}
    rows.append(
        {
            "what": "Crank-Nicolson step (residual 1e-8) at the peak of the pulse, E0 = 1000",
            "kappa_max": basis.kappa_max,
            "splines": basis.radial.n,
            "unknowns": basis.size,
            "dt": dt,
            "ms_per_step": ms,
            "peak_megabytes_on_device": device.get("peak_bytes_in_use", 0) / 1e6,
            "norm": float(basis.norm(psi)),
            **{k: float(v) for k, v in method.report(state).items() if v is not None},
        }
    )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--part", choices=["peer", "largest", "all"], default="all")
    options = parser.parse_args()
    zt.configure(precision="double")
    rows: list[dict] = []
    if options.part != "largest":
        H = hamiltonian(*((4, 40, 3) if options.quick else (33, 223, 10)))
        found, ms, memory = products(H, 4 if options.quick else 40)
        rows += told(found)
        if not options.quick or jax.devices()[0].platform != "cpu":
            rows += told(peer(H, ms, memory))
        del H
    if options.part != "peer":
        H = hamiltonian(*((5, 60, 3) if options.quick else (80, 1205, 10)))
        dt = float(PULSE.duration) / STEPS
        rows += told(products(H, 4)[0])
        rows += told(largest(H, dt, 4))
    question = "the Dirac product without a matrix against cuSPARSE"
    whole = [
        {
            "what": "the paper's 80 000 steps as long as that one",
            "hours": row["ms_per_step"] * 80 / 3600,
        }
        for row in rows
        if "ms_per_step" in row
    ]
    finish(record("dirac_gpu", question, rows, *present("cupy"), projected=whole), options.json)


if __name__ == "__main__":
    main()
