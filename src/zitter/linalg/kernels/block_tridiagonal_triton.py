"""The Triton kernel of `block_tridiagonal`; imported only where triton is installed.

One program holds block_c columns of one block D_l and walks down `rows` of its rows. Each tile is
loaded once and used twice:

    below[i] = Σ_j D[i, j] x_j      summed over the program's columns, one partial sum per program
    above[j] = Σ_i D[i, j] u_i      summed in registers over the program's rows

with x = ψ_{l+1} and u = ψ_l as separate real and imaginary planes. Partial sums of different
programs go to different places, so that the result does not depend on their order. The first `kept`
blocks stay in the second-level cache from product to product; the rest is passed through, since
what is larger than the cache would otherwise push itself out before it is used again.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def kernel(
    upper_ptr,  # (blocks, n, n)
    psi_ptr,  # (blocks + 1, 2, n)
    below_ptr,  # (blocks, column programs, 2, n)
    above_ptr,  # (blocks, row programs, 2, n)
    n: tl.constexpr,
    rows: tl.constexpr,
    block_r: tl.constexpr,
    block_c: tl.constexpr,
    column_programs: tl.constexpr,
    row_programs: tl.constexpr,
    kept: tl.constexpr,
):
    c = tl.program_id(0)
    s = tl.program_id(1)
    block = tl.program_id(2).to(tl.int64)
    column = c * block_c + tl.arange(0, block_c)
    inside = column < n
    next_psi = psi_ptr + (block + 1) * 2 * n + column
    x_real = tl.load(next_psi, mask=inside, other=0.0)
    x_imag = tl.load(next_psi + n, mask=inside, other=0.0)
    above_real = tl.zeros([block_c], dtype=upper_ptr.dtype.element_ty)
    above_imag = tl.zeros([block_c], dtype=upper_ptr.dtype.element_ty)
    below = below_ptr + (block * column_programs + c) * 2 * n
    for start in range(0, rows, block_r):
        row = s * rows + start + tl.arange(0, block_r)
        there = (row < n) & (row < (s + 1) * rows)
        mask = there[:, None] & inside[None, :]
        place = upper_ptr + (block * n + row[:, None]) * n + column[None, :]
        if block < kept:
            tile = tl.load(place, mask=mask, other=0.0, eviction_policy="evict_last")
        else:
            tile = tl.load(place, mask=mask, other=0.0, eviction_policy="evict_first")
        u_real = tl.load(psi_ptr + block * 2 * n + row, mask=there, other=0.0)
        u_imag = tl.load(psi_ptr + (block * 2 + 1) * n + row, mask=there, other=0.0)
        above_real += tl.sum(tile * u_real[:, None], axis=0)
        above_imag += tl.sum(tile * u_imag[:, None], axis=0)
        tl.store(below + row, tl.sum(tile * x_real[None, :], axis=1), mask=there)
        tl.store(below + n + row, tl.sum(tile * x_imag[None, :], axis=1), mask=there)
    above = above_ptr + (block * row_programs + s) * 2 * n + column
    tl.store(above, above_real, mask=inside)
    tl.store(above + n, above_imag, mask=inside)
