"""The lowest waves of a box, with which iterations without a preconditioner begin."""

from __future__ import annotations

import jax
import numpy as np

from zitter.eigensolvers.block import column, norms, random_block
from zitter.hamiltonian import Hamiltonian


def first_guess(H: Hamiltonian, n: int) -> jax.Array:
    """A constant for one state; for several the lowest waves that vanish at the boundary, and
    noise: waves of definite parity would keep it, and miss the levels of all others.
    """
    shape = H.basis.whole
    if n == 1:
        return H.basis.divide(np.ones((1, *shape)))
    waves = H.basis.divide(_box_waves(shape, n))
    noise = random_block(H.basis, n, H.operator.dtype)
    return waves / column(norms(waves), waves) + noise / column(norms(noise), noise)


def _box_waves(lengths: tuple[int, ...], n: int) -> np.ndarray:
    count = int(np.ceil(n ** (1 / len(lengths)))) + 2
    orders = np.stack(np.meshgrid(*[np.arange(1, count + 1)] * len(lengths)), -1)
    orders = orders.reshape(-1, len(lengths))
    orders = orders[np.argsort((orders**2).sum(1), kind="stable")][:n]
    waves = []
    for row in orders:
        wave = np.ones((1,) * len(lengths))
        for axis, (m, size) in enumerate(zip(row, lengths, strict=True)):
            shape = [-1 if a == axis else 1 for a in range(len(lengths))]
            wave = wave * np.sin(np.pi * m * np.arange(1, size + 1) / (size + 1)).reshape(shape)
        waves.append(wave)
    return np.stack(waves)
