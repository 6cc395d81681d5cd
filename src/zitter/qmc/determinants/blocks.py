"""Which electrons move in one block, and how long blocks are."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from zitter import runtime
from zitter.qmc.wavefunction import Block

ALIGNED = 64  # electrons of one spin from which on sizes are multiples of 8


def best_delay(n: int) -> int:
    """The block length that moves the least memory for one spin of n electrons.

    A sweep reads M twice and writes it once in each of n/K blocks, 3n³/K numbers, and works on the
    2K × K numbers of T and Q in each of n moves, 4nK²: least at K³ = 3n²/8, but not so short that
    matrix products are thin. A GPU holds T and Q of a walker in registers, so there longer blocks
    pay, up to what fits.
    """
    if runtime.settings().device.platform == "cpu":
        return max(8, round((3 * n * n / 8) ** (1 / 3)))
    return 32 if n < 256 else 64


def eights(n: int) -> int:
    return -(-n // 8) * 8


class Schedule(NamedTuple):
    """The blocks of one sweep, a row for each spin: first electron, and how many were moved."""

    first: np.ndarray
    done: np.ndarray


def schedule(spins: tuple[int, int], k: int) -> Schedule:
    """As many blocks for each spin as the larger one needs; idle ones have all moved before."""
    species = 2 if all(spins) else 1
    starts = np.arange(0, max(spins), k)
    first = np.zeros((species, len(starts)), np.int32)
    done = np.zeros_like(first)
    for spin, count in enumerate(spins[:species]):
        # A last block that would stick out starts earlier and skips what has been moved.
        first[spin] = np.maximum(np.minimum(starts, count - k), 0)
        done[spin] = np.minimum(starts - first[spin], k)
    return Schedule(first, done)


def block_of(spins: tuple[int, int], k: int, spin: Any, first: Any, done: Any) -> Block:
    """K electrons of a spin; short spins leave places empty."""
    inside = first + jnp.arange(k)
    exists = inside < jnp.asarray(spins)[spin]
    electrons = inside + jnp.where(spin == 0, 0, spins[0])
    return Block(spin, first, electrons, exists & (jnp.arange(k) >= done))
