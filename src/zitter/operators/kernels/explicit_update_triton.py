"""The Triton kernel of `explicit_update`; imported only where triton is installed.

One program treats block_y × block_z points of one x-plane. Neighbours along z share cache lines,
those along y and x are found in the first- and second-level cache, so the memory sees each array
about once. Weights come as an array: a float argument would be rounded to single precision.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def kernel(
    psi_ptr,
    g_ptr,
    weights_ptr,
    out_ptr,
    nx: tl.constexpr,
    ny: tl.constexpr,
    nz: tl.constexpr,
    block_y: tl.constexpr,
    block_z: tl.constexpr,
):
    x = tl.program_id(2)
    y = tl.program_id(1) * block_y + tl.arange(0, block_y)[:, None]
    z = tl.program_id(0) * block_z + tl.arange(0, block_z)[None, :]
    inside = (y < ny) & (z < nz)
    here = (x * ny + y) * nz + z
    kx = tl.load(weights_ptr)
    ky = tl.load(weights_ptr + 1)
    kz = tl.load(weights_ptr + 2)
    center = tl.load(psi_ptr + here, mask=inside, other=0.0)
    g = tl.load(g_ptr + here, mask=inside, other=0.0)
    left = tl.load(psi_ptr + here - ny * nz, mask=inside & (x > 0), other=0.0)
    right = tl.load(psi_ptr + here + ny * nz, mask=inside & (x < nx - 1), other=0.0)
    front = tl.load(psi_ptr + here - nz, mask=inside & (y > 0), other=0.0)
    back = tl.load(psi_ptr + here + nz, mask=inside & (y < ny - 1), other=0.0)
    below = tl.load(psi_ptr + here - 1, mask=inside & (z > 0), other=0.0)
    above = tl.load(psi_ptr + here + 1, mask=inside & (z < nz - 1), other=0.0)
    around = kx * (left + right) + ky * (front + back) + kz * (below + above)
    slope = around - 2 * (kx + ky + kz) * center
    tl.store(out_ptr + here, 4 * g * center - center + g * slope, mask=inside)
