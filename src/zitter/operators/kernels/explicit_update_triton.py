"""The Triton kernels of `explicit_update`; imported only where triton is installed.

`kernel` does one update, `kernel_twice` two in one pass over memory: it computes the first update
at a point and its six neighbours from the 25 points they touch, which lie in the caches.

One program of `kernel` treats block_y × block_z points of one x-plane. Neighbours along z share
cache lines, those along y and x are found in the first- and second-level cache, so the memory sees
each array about once. Weights come as an array: a float argument would be rounded to single
precision.
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


@triton.jit
def _at(ptr, x, y, z, nx: tl.constexpr, ny: tl.constexpr, nz: tl.constexpr):
    """The value at (x, y, z), zero beyond the boundary."""
    inside = (x >= 0) & (x < nx) & (y >= 0) & (y < ny) & (z >= 0) & (z < nz)
    return tl.load(ptr + (x * ny + y) * nz + z, mask=inside, other=0.0)


@triton.jit
def _new(g, c, left, right, front, back, below, above, kx, ky, kz):
    """One update; where g and ψ are zero (beyond the boundary) it stays zero."""
    around = kx * (left + right) + ky * (front + back) + kz * (below + above)
    return 4 * g * c - c + g * (around - 2 * (kx + ky + kz) * c)


@triton.jit
def kernel_twice(
    psi_ptr,
    g_ptr,
    weights_ptr,
    out_ptr,
    nx: tl.constexpr,
    ny: tl.constexpr,
    nz: tl.constexpr,
    block_x: tl.constexpr,
    block_y: tl.constexpr,
    block_z: tl.constexpr,
):
    y = tl.program_id(1) * block_y + tl.arange(0, block_y)[:, None]
    z = tl.program_id(0) * block_z + tl.arange(0, block_z)[None, :]
    kx = tl.load(weights_ptr)
    ky = tl.load(weights_ptr + 1)
    kz = tl.load(weights_ptr + 2)
    for i in range(block_x):
        x = tl.program_id(2) * block_x + i
        c = _at(psi_ptr, x, y, z, nx, ny, nz)
        l = _at(psi_ptr, x - 1, y, z, nx, ny, nz)
        r = _at(psi_ptr, x + 1, y, z, nx, ny, nz)
        f = _at(psi_ptr, x, y - 1, z, nx, ny, nz)
        b = _at(psi_ptr, x, y + 1, z, nx, ny, nz)
        d = _at(psi_ptr, x, y, z - 1, nx, ny, nz)
        u = _at(psi_ptr, x, y, z + 1, nx, ny, nz)
        ll = _at(psi_ptr, x - 2, y, z, nx, ny, nz)
        rr = _at(psi_ptr, x + 2, y, z, nx, ny, nz)
        ff = _at(psi_ptr, x, y - 2, z, nx, ny, nz)
        bb = _at(psi_ptr, x, y + 2, z, nx, ny, nz)
        dd = _at(psi_ptr, x, y, z - 2, nx, ny, nz)
        uu = _at(psi_ptr, x, y, z + 2, nx, ny, nz)
        lf = _at(psi_ptr, x - 1, y - 1, z, nx, ny, nz)
        lb = _at(psi_ptr, x - 1, y + 1, z, nx, ny, nz)
        ld = _at(psi_ptr, x - 1, y, z - 1, nx, ny, nz)
        lu = _at(psi_ptr, x - 1, y, z + 1, nx, ny, nz)
        rf = _at(psi_ptr, x + 1, y - 1, z, nx, ny, nz)
        rb = _at(psi_ptr, x + 1, y + 1, z, nx, ny, nz)
        rd = _at(psi_ptr, x + 1, y, z - 1, nx, ny, nz)
        ru = _at(psi_ptr, x + 1, y, z + 1, nx, ny, nz)
        fd = _at(psi_ptr, x, y - 1, z - 1, nx, ny, nz)
        fu = _at(psi_ptr, x, y - 1, z + 1, nx, ny, nz)
        bd = _at(psi_ptr, x, y + 1, z - 1, nx, ny, nz)
        bu = _at(psi_ptr, x, y + 1, z + 1, nx, ny, nz)
        g = _at(g_ptr, x, y, z, nx, ny, nz)
        left = _new(_at(g_ptr, x - 1, y, z, nx, ny, nz), l, ll, c, lf, lb, ld, lu, kx, ky, kz)
        right = _new(_at(g_ptr, x + 1, y, z, nx, ny, nz), r, c, rr, rf, rb, rd, ru, kx, ky, kz)
        front = _new(_at(g_ptr, x, y - 1, z, nx, ny, nz), f, lf, rf, ff, c, fd, fu, kx, ky, kz)
        back = _new(_at(g_ptr, x, y + 1, z, nx, ny, nz), b, lb, rb, c, bb, bd, bu, kx, ky, kz)
        below = _new(_at(g_ptr, x, y, z - 1, nx, ny, nz), d, ld, rd, fd, bd, dd, c, kx, ky, kz)
        above = _new(_at(g_ptr, x, y, z + 1, nx, ny, nz), u, lu, ru, fu, bu, c, uu, kx, ky, kz)
        center = _new(g, c, l, r, f, b, d, u, kx, ky, kz)
        new = _new(g, center, left, right, front, back, below, above, kx, ky, kz)
        inside = (x < nx) & (y < ny) & (z < nz)
        tl.store(out_ptr + (x * ny + y) * nz + z, new, mask=inside)
