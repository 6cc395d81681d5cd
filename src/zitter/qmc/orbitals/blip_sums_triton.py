"""The Triton kernel of `blip_sums`; imported only where triton is installed.

One program takes one point and a stretch of channels, and all its sums grow while the 64 rows pass
by. XLA's kernel does so for the value alone; with slopes and Laplacian it reads rows several times.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def kernel(
    table_ptr,
    rows_ptr,
    weights_ptr,
    out_ptr,
    points: tl.constexpr,
    channels: tl.constexpr,
    sums: tl.constexpr,
    block: tl.constexpr,
):
    """out (sums, points, channels) = weights (points, sums, 64) · table[rows (points, 64)].

    `sums` is 1 (value), 4 (and slopes) or 5 (and Laplacian).
    """
    point = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * block + tl.arange(0, block)
    inside = channel < channels
    kind = out_ptr.dtype.element_ty
    value = tl.zeros((block,), kind)
    x = tl.zeros((block,), kind)
    y = tl.zeros((block,), kind)
    z = tl.zeros((block,), kind)
    laplacian = tl.zeros((block,), kind)
    weight_ptr = weights_ptr + point * sums * 64
    for q in range(64):
        row = tl.load(rows_ptr + point * 64 + q).to(tl.int64)
        found = tl.load(table_ptr + row * channels + channel, mask=inside, other=0.0).to(kind)
        value += tl.load(weight_ptr + q) * found
        if sums >= 4:
            x += tl.load(weight_ptr + 64 + q) * found
            y += tl.load(weight_ptr + 128 + q) * found
            z += tl.load(weight_ptr + 192 + q) * found
        if sums == 5:
            laplacian += tl.load(weight_ptr + 256 + q) * found
    place = out_ptr + point * channels + channel
    step = points * channels
    tl.store(place, value, mask=inside)
    if sums >= 4:
        tl.store(place + step, x, mask=inside)
        tl.store(place + 2 * step, y, mask=inside)
        tl.store(place + 3 * step, z, mask=inside)
    if sums == 5:
        tl.store(place + 4 * step, laplacian, mask=inside)
