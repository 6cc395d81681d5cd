"""What can this device do at best? Memory read, written and copied; products; launches.

One record for each device, to which every "times the bound" of the other programs refers
(`bounds.py` finds it by the kind of the device). Of each quantity several means are tried, and the
best counts: on a GPU plain CUDA kernels (CuPy compiles them), Triton kernels and XLA; on a CPU
NumPy on one core and numba on all. Arrays of 4 GiB (GPU) and 512 MiB (CPU) are far larger than
caches. A copy counts both ways.

    python benchmarks/device_bounds.py --json benchmarks/results/device_bounds_h200.json
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import arguments, median_seconds
from records import finish, record

import zitter as zt
from zitter import runtime
from zitter.linalg.kernels import triton_calls

Action = tuple[str, str, Callable[[], Any]]  # what is done, by what means, the doing
MOVED = {"read": 1, "write": 1, "copy": 2}  # in units of an array
CUDA = r"""
#define EACH(i, n) for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; \
                        i += (size_t)gridDim.x * blockDim.x)
extern "C" {
__global__ void copy(const double2* __restrict__ x, double2* __restrict__ y, size_t n) {
  #pragma unroll 4
  EACH(i, n) y[i] = x[i];
}
__global__ void write(const double2* __restrict__ x, double2* __restrict__ y, size_t n) {
  const double2 one = make_double2(1.0, 1.0);
  #pragma unroll 4
  EACH(i, n) y[i] = one;
}
__global__ void read(const double2* __restrict__ x, double2* __restrict__ y, size_t n) {
  double sum = 0.0;
  #pragma unroll 4
  EACH(i, n) { const double2 v = x[i]; sum += v.x + v.y; }
  if (sum == -1.0) y[0].x = sum;  // never, but the compiler cannot know
}
}
"""


def by_cuda(size: int) -> Iterator[Action]:
    """Plain kernels with several numbers of blocks and threads; the driver's own copy."""
    import cupy  # type: ignore[import-not-found]

    source, target = cupy.ones(size // 8), cupy.zeros(size // 8)
    module = cupy.RawModule(code=CUDA, options=("-std=c++17",))
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]

    def wait() -> None:
        cupy.cuda.Device().synchronize()

    def launched(kernel: Any, blocks: int, threads: int) -> None:
        kernel((blocks,), (threads,), (source, target, np.uint64(size // 16)))
        wait()

    for what, per, threads in itertools.product(MOVED, (2, 8, 32), (256, 512, 1024)):
        kernel = module.get_function(what)
        means = f"CUDA, {per} × {threads} threads on each processor"
        yield what, means, lambda k=kernel, b=per * processors, t=threads: launched(k, b, t)

    def driver() -> None:
        cupy.copyto(target, source)
        wait()

    yield "copy", "CUDA driver", driver


def by_triton(size: int) -> Iterator[Action]:
    import bandwidth_triton as kernels

    x = jnp.ones(size // 8)
    one = jax.ShapeDtypeStruct((1,), x.dtype)
    same = jax.ShapeDtypeStruct(x.shape, x.dtype)
    for block, warps in ((1024, 4), (2048, 8), (4096, 8)):
        grid = (x.size // block,)
        sums = jax.ShapeDtypeStruct(grid, x.dtype)
        for what, kernel, argument, out in (
            ("copy", kernels.copy, x, same),
            ("write", kernels.write, jnp.zeros(one.shape), same),
            ("read", kernels.read, x, sums),
        ):
            run = jax.jit(
                lambda a, k=kernel, o=out, g=grid, w=warps, b=block: triton_calls.call(
                    k, a, out=o, grid=g, warps=w, block=b
                )
            )
            yield what, f"Triton, blocks of {block}", lambda f=run, a=argument: f(a)


def by_xla(size: int) -> Iterator[Action]:
    x = jnp.ones(size // 8)
    add, total = jax.jit(lambda x: x + 1), jax.jit(jnp.sum)
    fill = jax.jit(lambda v: jnp.full(x.shape, v))
    yield "copy", "XLA", lambda: add(x)
    yield "read", "XLA", lambda: total(x)
    yield "write", "XLA", lambda: fill(2.0)


def by_numpy(size: int) -> Iterator[Action]:
    x, y = np.ones(size // 8), np.ones(size // 8)
    yield "copy", "NumPy, one core", lambda: np.copyto(y, x)
    yield "read", "NumPy, one core", lambda: x.sum()
    yield "write", "NumPy, one core", lambda: y.fill(2.0)


def by_numba(size: int) -> Iterator[Action]:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def copy(x, y):
        for i in numba.prange(x.size):
            y[i] = x[i]

    @numba.njit(parallel=True, fastmath=True)
    def read(x):
        total = 0.0
        for i in numba.prange(x.size):
            total += x[i]
        return total

    @numba.njit(parallel=True, fastmath=True)
    def write(y):
        for i in numba.prange(y.size):
            y[i] = 2.0

    x, y = np.ones(size // 8), np.ones(size // 8)
    means = f"numba, {numba.get_num_threads()} threads"
    yield "copy", means, lambda: copy(x, y)
    yield "read", means, lambda: read(x)
    yield "write", means, lambda: write(y)


def means_of(platform: str) -> list[Callable[[int], Iterator[Action]]]:
    """Those that are installed here."""
    if platform == "cpu":
        return [by_numpy, by_xla, *([by_numba] if importlib.util.find_spec("numba") else [])]
    found: list[Callable[[int], Iterator[Action]]] = [by_xla]
    if importlib.util.find_spec("cupy"):
        found.append(by_cuda)
    if triton_calls.has_triton():
        found.append(by_triton)
    return found


def memory_rows(size: int) -> list[dict[str, Any]]:
    rows = []
    for means in means_of(runtime.settings().device.platform):
        for what, name, action in means(size):
            speed = MOVED[what] * size / median_seconds(action, 7)
            rows.append({"what": what, "by": name, "bytes_per_second": speed})
    return rows


def product_rows(n: int, platform: str) -> list[dict[str, Any]]:
    """2n³ operations of n × n matrices."""
    kinds = {"float64": (jnp.float64, None), "float32": (jnp.float32, "highest")}
    if platform != "cpu":
        kinds["tf32"] = (jnp.float32, "tensorfloat32")
    rows = []
    for name, (dtype, precision) in kinds.items():
        a = jnp.asarray(np.random.default_rng(0).normal(size=(n, n)), dtype)
        product = jax.jit(lambda a, p=precision: jnp.matmul(a, a, precision=p))
        seconds = median_seconds(lambda f=product, a=a: f(a), 7)
        rows.append({"what": f"{name} product", "n": n, "flops_per_second": 2 * n**3 / seconds})
    return rows


def launch_rows(count: int = 1000) -> list[dict[str, Any]]:
    """Seconds of a program that does nothing to speak of."""
    x = jnp.zeros(1)
    add = jax.jit(lambda x: x + 1)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, count, lambda _, x: jnp.sin(x) + 1, x))

    def in_turn() -> Any:
        y = x
        for _ in range(count):
            y = add(y)
        return y

    actions = {
        "launch, waited for": (lambda: add(x), 1),
        "launch, one after another": (in_turn, count),
        "turn of a compiled loop": (lambda: loop(x), count),
    }
    return [
        {"what": what, "seconds": median_seconds(action, 21) / times}
        for what, (action, times) in actions.items()
    ]


def best(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bounds: of each quantity the best that was found."""
    found = []
    for what in MOVED:
        top = max((r for r in rows if r["what"] == what), key=lambda r: r["bytes_per_second"])
        found.append({"bound": what, **{k: v for k, v in top.items() if k != "what"}})
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="small arrays, to try it out")
    options = parser.parse_args()
    zt.configure(precision="double")
    platform = runtime.settings().device.platform
    size = 2**22 if options.quick else 2**32 if platform != "cpu" else 2**29
    n = 256 if options.quick else 8192 if platform != "cpu" else 2048
    rows = memory_rows(size)
    rows = best(rows) + rows + product_rows(n, platform) + launch_rows()
    rows.append({"what": "cores", "count": len(os.sched_getaffinity(0))})
    packages = ("numba",) if platform == "cpu" else ("cupy-cuda13x", "jax-triton")
    finish(
        record("device_bounds", "What can this device do at best?", rows, *packages), options.json
    )


if __name__ == "__main__":
    main()
