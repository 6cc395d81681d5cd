"""Triton kernels that copy, write and read an array; imported only where triton is installed."""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def copy(x_ptr, y_ptr, block: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    tl.store(y_ptr + place, tl.load(x_ptr + place))


@triton.jit
def write(x_ptr, y_ptr, block: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    tl.store(y_ptr + place, tl.zeros([block], y_ptr.dtype.element_ty) + tl.load(x_ptr))


@triton.jit
def read(x_ptr, sums_ptr, block: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * block
    values = tl.load(x_ptr + start + tl.arange(0, block))
    tl.store(sums_ptr + tl.program_id(0), tl.sum(values, axis=0))
