"""What an optimization would take: memory at its peak, and time.

Most of it are samples, S bytes for `draws` of every walker. Where steps gain little, an iteration
draws up to eight times as many (`MOST_TIMES`), in pieces that are then joined.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax

from zitter import runtime, segments
from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.judging import chosen_step
from zitter.qmc.optimizers.optimization import MOST_TIMES
from zitter.qmc.optimizers.source import Source, step
from zitter.qmc.optimizers.tables import memory_of_piece, tabulate
from zitter.qmc.wavefunction import Wavefunction

CALM = 4  # iterations before steps gain too little for the samples that there are


def grown(method: Method) -> list[int]:
    """How many times the draws each sampling takes, the one before the first step included."""
    return [min(2 ** max(0, i - CALM), MOST_TIMES) for i in range(method.iterations + 1)]


def needs(
    psi: Wavefunction, method: Method, walkers: int, draws: int, stride: int
) -> tuple[int, float, float]:
    """(bytes on each device, seconds to compile, seconds to run) if it takes all its iterations."""
    source = Source(psi, walkers, draws, stride, 0, False)
    program = segments.compiled(step, *source.begun(psi, False), draws)
    samples = segments.bytes_of(source.data)
    most = max(grown(method))
    joined = (2 * most if most > 1 else 1) * samples
    devices = 1 if (mesh := runtime.settings().mesh) is None else mesh.size
    slopes = most * 2 * 8 * walkers * draws * psi.parameters.size // devices
    begun, sampling = _twice(lambda: source.sampled(psi, 1, "estimating"))
    now = source.sampled(psi, 1, "estimating")
    apart = max(program.memory - 2 * samples, program.state + memory_of_piece(psi, now.draws))
    # Draws go on from walkers that stay until all are drawn.
    memory = max(program.memory + program.state + (most - 1) * samples, apart + joined + slopes)
    first, judging = _twice(lambda: chosen_step(now, method, tabulate(psi, now.draws)))
    times = grown(method)
    settling = 16 / (8 + draws) * sampling
    seconds = settling + sum(times) * sampling + sum(times[:-1]) * judging
    # Samples are judged in pieces of one size: more of them are no new program.
    compiling = max(program.seconds_to_compile, begun - sampling) + max(first - judging, 0.0)
    return memory, compiling, seconds


def _twice(action: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the first time, and of the second, which compiles nothing."""

    def timed() -> float:
        tick = time.perf_counter()
        jax.block_until_ready(action())
        return time.perf_counter() - tick

    return timed(), timed()
