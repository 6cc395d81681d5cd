"""The explicit update on one NVIDIA GPU; imported only where CuPy is installed.

With one update in a pass over memory, the memory is the limit. The kernel of `explicit_update.cu`
does three; it keeps planes in registers and passes rows between warps, which Triton cannot express.
CuPy compiles and launches it.
"""

from __future__ import annotations

import functools
import itertools
from importlib import resources

import cupy  # type: ignore[import-not-found]
import jax
import numpy as np

from zitter.linalg import kernels

LANES = 32
# The fastest found on an H200 in float64, and close to it in float32; four updates spill registers.
UPDATES, WARPS, ROWS = 3, 4, 4


def advance(psi: jax.Array, g: jax.Array, weights: jax.Array, updates: int) -> jax.Array:
    """`updates` updates of one ψ, which is left as it is."""
    (device,) = psi.devices()
    with cupy.cuda.Device(device.local_hardware_id):
        here, factor = cupy.from_dlpack(psi), cupy.from_dlpack(g)
        buffers = itertools.cycle((cupy.empty_like(here), cupy.empty_like(here)))
        vector = 1 if here.shape[2] % 2 else 2
        k = tuple(np.asarray(weights, here.dtype))
        while updates:
            kernel = compiled(here.device.id, here.dtype.name, min(UPDATES, updates), vector)
            there = next(buffers)
            kernel.launch(here, factor, k, there)
            here, updates = there, updates - kernel.updates
        cupy.cuda.get_current_stream().synchronize()
        return jax.dlpack.from_dlpack(here)


@functools.cache
def compiled(device: int, dtype: str, updates: int, vector: int) -> Kernel:
    """The kernel on the current `device`."""
    return Kernel(dtype, updates, vector)


class Kernel:
    """`updates` updates in one pass; a thread has `vector` points along z."""

    def __init__(self, dtype: str, updates: int, vector: int):
        real = {"float64": "double", "float32": "float"}[dtype]
        given = {"REAL": real, "UPDATES": updates, "VECTOR": vector, "WARPS": WARPS, "ROWS": ROWS}
        source = resources.files(kernels).joinpath("explicit_update.cu").read_text("utf-8")
        options = ("-std=c++17", *[f"-D{name}={value}" for name, value in given.items()])
        self.function = cupy.RawModule(code=source, options=options).get_function("advance")
        self.updates = updates
        self.tile = WARPS * ROWS - 2 * updates, (LANES - 2 * -(-updates // vector)) * vector
        processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
        self.at_once = processors * blocks(self.function.kernel.ptr, LANES * WARPS, 0)

    def launch(self, psi, g, weights, out) -> None:
        grid, sizes = geometry(psi.shape, self.tile, self.updates, self.at_once)
        self.function(grid, (LANES, WARPS), (psi, g, out, *weights, *sizes))


@functools.cache
def geometry(shape: tuple[int, int, int], tile: tuple[int, int], updates: int, at_once: int):
    """(blocks along z, y, x; nx, ny, nz and the planes of a block).

    The more blocks along x, the busier the GPU; but each does 2 × updates planes more, which its
    neighbours do too.
    """
    nx, ny, nz = shape
    across, along = -(-ny // tile[0]), -(-nz // tile[1])

    def cost(blocks: int) -> int:
        rounds = -(-across * along * blocks // at_once)
        return rounds * (-(-nx // blocks) + 2 * updates)

    planes = -(-nx // min(range(1, nx + 1), key=cost))
    return (along, across, -(-nx // planes)), [np.int32(size) for size in (*shape, planes)]
