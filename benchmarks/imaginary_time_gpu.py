"""The explicit imaginary-time update and the four ground states on a GPU.

    python benchmarks/imaginary_time_gpu.py --json results/imaginary_time_gpu.json

Update at 64³ to 512³ in float64 and float32: plain XLA, zitter's kernel of three updates in a pass
over memory, and a CUDA kernel of one update written by hand, checked against one another. Terabytes
per second count ψ, g and ψ' once for each update, whether or not they were read again for it; the
memory's own speed is that of a copy in the record of this device (device_bounds.py). Then the time
after compilation to reach 1e-6 hartree for four ground states, with LOBPCG.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from bounds import of_this_device
from common import arguments, done, median_seconds
from records import finish, record

import zitter as zt
from zitter.linalg.kernels import explicit_update
from zitter.reproduce.imaginary_time_3d import CASES

CUDA = r"""
extern "C" __global__ void update(const REAL* __restrict__ psi, const REAL* __restrict__ g,
                                  REAL* __restrict__ out, const REAL k, const int n) {
  const int z = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int x = blockIdx.z;
  if (z >= n || y >= n) return;
  const long plane = (long)n * n;
  const long i = x * plane + (long)y * n + z;
  const REAL c = psi[i];
  REAL around = (x > 0 ? psi[i - plane] : (REAL)0) + (x < n - 1 ? psi[i + plane] : (REAL)0)
              + (y > 0 ? psi[i - n] : (REAL)0) + (y < n - 1 ? psi[i + n] : (REAL)0)
              + (z > 0 ? psi[i - 1] : (REAL)0) + (z < n - 1 ? psi[i + 1] : (REAL)0);
  const REAL w = g[i];
  out[i] = (4 * w - 1) * c + w * k * (around - 6 * c);
}
"""


def problem(n, dtype):
    rng = np.random.default_rng(0)
    psi = rng.random((n, n, n)).astype(dtype)
    g = (1 / (2 + 1e-3 * 10 * rng.random((n, n, n)))).astype(dtype)
    return psi, g, 0.2


def with_jax(advance, psi, g, k, updates):
    arguments = jnp.asarray(psi), jnp.asarray(g), jnp.asarray([k] * 3, psi.dtype), updates
    result = jax.block_until_ready(advance(*arguments))
    seconds = median_seconds(lambda: advance(*arguments), 7)
    return np.asarray(result), seconds / updates


def with_cupy(psi, g, k, updates):
    import cupy

    real = "double" if psi.dtype == np.float64 else "float"
    kernel = cupy.RawKernel(CUDA.replace("REAL", real), "update")
    n = psi.shape[0]
    block = (32, 8, 1)
    grid = (-(-n // 32), -(-n // 8), n)
    a, b, w = cupy.asarray(psi), cupy.empty_like(psi), cupy.asarray(g)
    scalar = psi.dtype.type(k)

    def run(a, b):
        for _ in range(updates // 2):
            kernel(grid, block, (a, w, b, scalar, np.int32(n)))
            kernel(grid, block, (b, w, a, scalar, np.int32(n)))
        cupy.cuda.Device().synchronize()

    run(a, b)
    result = cupy.asnumpy(a)
    return result, median_seconds(lambda: run(a, b), 7) / updates


def updates_rows(n: int, updates: int) -> list[dict]:
    by_xla = jax.jit(explicit_update.advance_xla, static_argnums=3)
    by_zitter = explicit_update.advance_cuda
    rows = []
    for dtype in (np.float64, np.float32):
        psi, g, k = problem(n, dtype)
        methods = {
            "XLA": lambda *a: with_jax(by_xla, *a),
            "zitter, three in a pass": lambda *a: with_jax(by_zitter, *a),
            "CUDA by hand (CuPy)": with_cupy,
        }
        reference = None
        for name, method in methods.items():
            result, seconds = method(psi, g, k, updates)
            reference = result if reference is None else reference
            apart = float(np.max(np.abs(result - reference)) / np.max(np.abs(reference)))
            rows.append(
                {
                    "task": f"update {n}³",
                    "dtype": np.dtype(dtype).name,
                    "method": name,
                    "microseconds": 1e6 * seconds,
                    "TB_per_s": 3 * psi.nbytes / seconds / 1e12,
                    "relative_difference": apart,
                }
            )
            assert apart < (1e-12 if dtype == np.float64 else 1e-4), (name, apart)
    return rows


def bound_rows() -> list[dict]:
    """What the memory gives, from the record of this device."""
    bound = of_this_device()
    if bound is None:
        return []
    return [{"task": "copy", "method": bound.record, "TB_per_s": bound.copy / 1e12}]


def ground_state_rows() -> list[dict]:
    """Median seconds of equal runs after one that compiles."""
    rows = []
    for case in CASES:
        _, n, spacing = case.recommended_full[0]
        model = zt.Model([zt.Kinetic(), case.physics])
        H = zt.discretize(model, zt.Grid((n,) * 3, spacing))

        def solved(H=H):
            eig = zt.eigenstates(H, 1, zt.LOBPCG(tol=1e-4))
            jax.block_until_ready(eig.states)
            return eig

        eig, seconds = done(solved, 3)
        rows.append(
            {
                "task": f"ground state, {case.name}",
                "method": f"LOBPCG, {n}³, h = {spacing}",
                "seconds": seconds,
                "error_hartree": float(eig.energies[0] - case.exact[0]),
                "iterations": eig.info["iterations"],
            }
        )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--updates", type=int, default=200)
    options = parser.parse_args()
    zt.configure(precision="double")
    rows = bound_rows()
    for points in options.points:
        rows += updates_rows(points, options.updates)
    rows += ground_state_rows()
    question = "How close is the explicit update to the memory's speed, and how fast is 1e-6?"
    finish(record("imaginary_time_gpu", question, rows, "cupy-cuda13x"), options.json)


if __name__ == "__main__":
    main()
