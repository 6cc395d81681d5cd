"""The Triton kernel of `elimination`; imported only where triton is installed.

One program takes one walker through the K moves of a block, with T and Q in registers. A row or a
column is picked by a masked sum, which needs no memory.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def kernel(
    t_ptr,
    jastrow_ptr,
    pairs_ptr,
    chance_ptr,
    accepted_ptr,
    probability_ptr,
    q_ptr,
    log_ptr,
    phase_ptr,
    k: tl.constexpr,
    block: tl.constexpr,
):
    walker = tl.program_id(0).to(tl.int64)
    line = tl.arange(0, block)
    i = line[:, None]
    j = line[None, :]
    inside = (i < k) & (j < k)
    place = walker * k * k + i * k + j
    T = tl.load(t_ptr + place, mask=inside, other=0.0)
    Q = tl.where(i == j, 1.0, 0.0).to(tl.float64)
    jastrow = tl.load(jastrow_ptr + walker * k + line, mask=line < k, other=0.0)
    chances = tl.load(chance_ptr + walker * k + line, mask=line < k, other=2.0)
    accepted = tl.zeros((block,), tl.float64)
    probabilities = tl.zeros((block,), tl.float64)
    log = tl.sum(tl.zeros((block,), tl.float64), 0)
    phase = log + 1.0
    for p in range(k):
        here = line == p
        row = tl.sum(tl.where(i == p, T, 0.0), 0)
        ratio = tl.sum(tl.where(here, row, 0.0), 0)
        size = tl.abs(ratio)
        log_ratio = tl.log(size) + tl.sum(tl.where(here, jastrow, 0.0), 0)
        square = tl.exp(tl.minimum(2 * log_ratio, 700.0))
        # Comparisons with NaN are false: a ratio that is infinite or no number is refused.
        finite = (log_ratio > -1e300) & (log_ratio < 1e300)
        square = tl.where(finite, square, 0.0)
        accept = tl.sum(tl.where(here, chances, 0.0), 0) < square
        factor = tl.where(accept, 1.0 / tl.where(accept, ratio, 1.0), 0.0)
        change = tl.where(here, row - 1.0, row)
        column = factor * tl.sum(tl.where(j == p, T, 0.0), 1)
        T -= column[:, None] * change[None, :]
        column = factor * tl.sum(tl.where(j == p, Q, 0.0), 1)
        Q -= column[:, None] * change[None, :]
        coupled = tl.load(pairs_ptr + walker * k * k + p * k + line, mask=line < k, other=0.0)
        jastrow += tl.where(accept, coupled, 0.0)
        log += tl.where(accept, log_ratio, 0.0)
        phase *= tl.where(accept & (ratio < 0), -1.0, 1.0)
        accepted += tl.where(here & accept, 1.0, 0.0)
        probabilities += tl.where(here, tl.minimum(square, 1.0), 0.0)
    tl.store(q_ptr + place, Q, mask=inside)
    tl.store(accepted_ptr + walker * k + line, accepted, mask=line < k)
    tl.store(probability_ptr + walker * k + line, probabilities, mask=line < k)
    tl.store(log_ptr + walker, log)
    tl.store(phase_ptr + walker, phase)
