"""The Triton kernel of `blip_sums`; imported only where triton is installed.

One program takes one point and a stretch of orbitals. Weights are products of one for the pair
(x, y) and one for z, so that four rows with the same (x, y) are first summed along z: of their
weights few are loaded, and it is loads of these, not of coefficients, that would bound the kernel.
Phases are applied before anything is written, since a second pass would cost as much as the rows.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def kernel(
    table_ptr,  # (rows, parts · count)
    around_ptr,  # (points, 3, 4)
    pair_ptr,  # (points, 5, 16): xy, x′y, xy′, and those of s and s′ in the Laplacian
    along_ptr,  # (points, 3, 4): z, z′ and z″ times its share of the Laplacian
    inverse_ptr,  # (3, 3)
    cosine_ptr,  # (points, waves)
    sine_ptr,
    index_ptr,  # (count,): which wave vector an orbital has
    waves_ptr,  # (waves, 3)
    out_ptr,  # (sums, 1 or 2, points, count)
    points: tl.constexpr,
    count: tl.constexpr,
    waves: tl.constexpr,  # 0 for orbitals without phases
    parts: tl.constexpr,  # 2 where coefficients are complex
    sums: tl.constexpr,
    ny: tl.constexpr,
    nz: tl.constexpr,
    block: tl.constexpr,
):
    """u, with `sums` ≥ 4 also ∇u, with `sums` = 5 also ∇²u; with waves those of e^{ik·r}u."""
    point = tl.program_id(0).to(tl.int64)
    orbital = tl.program_id(1) * block + tl.arange(0, block)
    inside = orbital < count
    kind = out_ptr.dtype.element_ty
    around_ptr += point * 12
    z0 = tl.load(around_ptr + 8).to(tl.int64)
    z1 = tl.load(around_ptr + 9).to(tl.int64)
    z2 = tl.load(around_ptr + 10).to(tl.int64)
    z3 = tl.load(around_ptr + 11).to(tl.int64)
    along_ptr += point * 12
    a0, a1, a2, a3 = _four(along_ptr)
    b0, b1, b2, b3 = _four(along_ptr + 4)
    c0, c1, c2, c3 = _four(along_ptr + 8)
    pair_ptr += point * 80
    u = tl.zeros((block,), kind)
    d1 = tl.zeros((block,), kind)
    d2 = tl.zeros((block,), kind)
    d3 = tl.zeros((block,), kind)
    dd = tl.zeros((block,), kind)
    v = tl.zeros((block,), kind)
    e1 = tl.zeros((block,), kind)
    e2 = tl.zeros((block,), kind)
    e3 = tl.zeros((block,), kind)
    ee = tl.zeros((block,), kind)
    width: tl.constexpr = parts * count
    for q in range(16):
        plane = tl.load(around_ptr + q // 4).to(tl.int64) * ny + tl.load(around_ptr + 4 + q % 4)
        row = table_ptr + plane * nz * width + orbital
        weight = tl.load(pair_ptr + q)
        f0, f1, f2, f3 = _rows(row, z0 * width, z1 * width, z2 * width, z3 * width, inside, kind)
        s = a0 * f0 + a1 * f1 + a2 * f2 + a3 * f3
        ds = b0 * f0 + b1 * f1 + b2 * f2 + b3 * f3
        dds = c0 * f0 + c1 * f1 + c2 * f2 + c3 * f3
        u += weight * s
        if sums >= 4:
            d1 += tl.load(pair_ptr + 16 + q) * s
            d2 += tl.load(pair_ptr + 32 + q) * s
            d3 += weight * ds
        if sums == 5:
            dd += tl.load(pair_ptr + 48 + q) * s + tl.load(pair_ptr + 64 + q) * ds + weight * dds
        if parts == 2:
            row += count
            f0, f1, f2, f3 = _rows(
                row, z0 * width, z1 * width, z2 * width, z3 * width, inside, kind
            )
            s = a0 * f0 + a1 * f1 + a2 * f2 + a3 * f3
            ds = b0 * f0 + b1 * f1 + b2 * f2 + b3 * f3
            dds = c0 * f0 + c1 * f1 + c2 * f2 + c3 * f3
            v += weight * s
            if sums >= 4:
                e1 += tl.load(pair_ptr + 16 + q) * s
                e2 += tl.load(pair_ptr + 32 + q) * s
                e3 += weight * ds
            if sums == 5:
                ee += tl.load(pair_ptr + 48 + q) * s + tl.load(pair_ptr + 64 + q) * ds
                ee += weight * dds
    place = out_ptr + point * count + orbital
    step: tl.constexpr = points * count
    if waves == 0:
        tl.store(place, u, mask=inside)
    else:
        wave = tl.load(index_ptr + orbital, mask=inside, other=0)
        cosine = tl.load(cosine_ptr + point * waves + wave, mask=inside, other=0.0)
        sine = tl.load(sine_ptr + point * waves + wave, mask=inside, other=0.0)
        tl.store(place, cosine * u - sine * v, mask=inside)
        tl.store(place + step, cosine * v + sine * u, mask=inside)
    if sums >= 4:
        for a in tl.static_range(3):
            c1 = tl.load(inverse_ptr + 3 * a)
            c2 = tl.load(inverse_ptr + 3 * a + 1)
            c3 = tl.load(inverse_ptr + 3 * a + 2)
            slope = c1 * d1 + c2 * d2 + c3 * d3
            if waves == 0:
                tl.store(place + (a + 1) * step, slope, mask=inside)
            else:
                other = c1 * e1 + c2 * e2 + c3 * e3
                k = tl.load(waves_ptr + 3 * wave + a, mask=inside, other=0.0)
                if sums == 5:
                    # ∇²(e^{ik·r}u) = e^{ik·r}(∇²u + 2ik·∇u − k²u)
                    dd -= k * (2 * other + k * u)
                    ee += k * (2 * slope - k * v)
                slope -= k * v
                other += k * u
                to = place + 2 * (a + 1) * step
                tl.store(to, cosine * slope - sine * other, mask=inside)
                tl.store(to + step, cosine * other + sine * slope, mask=inside)
    if sums == 5:
        if waves == 0:
            tl.store(place + 4 * step, dd, mask=inside)
        else:
            tl.store(place + 8 * step, cosine * dd - sine * ee, mask=inside)
            tl.store(place + 9 * step, cosine * ee + sine * dd, mask=inside)


@triton.jit
def _rows(row, z0, z1, z2, z3, inside, kind: tl.constexpr):
    f0 = tl.load(row + z0, mask=inside, other=0.0).to(kind)
    f1 = tl.load(row + z1, mask=inside, other=0.0).to(kind)
    f2 = tl.load(row + z2, mask=inside, other=0.0).to(kind)
    f3 = tl.load(row + z3, mask=inside, other=0.0).to(kind)
    return f0, f1, f2, f3


@triton.jit
def _four(ptr):
    return tl.load(ptr), tl.load(ptr + 1), tl.load(ptr + 2), tl.load(ptr + 3)
