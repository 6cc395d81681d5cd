"""The unit vector n = r/r and the gradient between spherical harmonics, for each its few neighbors.

Channel (l, m) couples to (l ± 1, m) by n_z, and to (l ± 1, m ± 1) by n_x and n_y.
"""

from __future__ import annotations

import functools

import numpy as np

from zitter.bases import angular
from zitter.linalg.neighbors import Neighbors


@functools.lru_cache(maxsize=32)
def unit_vector(
    channels: tuple[tuple[int, int], ...], component: int
) -> tuple[Neighbors, np.ndarray]:
    """N and K of n_x, n_y or n_z (`component` 0, 1, 2): the neighbors of each channel and the
    weights (2, channels, width).

    The gradient acts on P(r) as N d/dr + K/r, with K = −(l+1) N from l to l + 1 and K = l N from l
    to l − 1.
    """
    place = {channel: i for i, channel in enumerate(channels)}
    steps = [(dl, dm) for dl in (-1, 1) for dm in ((0,) if component == 2 else (-1, 1))]
    rows = np.repeat(np.arange(len(channels))[:, None], len(steps), axis=1)
    weights = np.zeros((2, *rows.shape), complex)
    for (l, m), i in place.items():
        for slot, (dl, dm) in enumerate(steps):
            j = place.get((l + dl, m + dm))
            if j is not None:
                rows[i, slot] = j
                unit = _element(l, m, dl, dm, component)
                weights[:, i, slot] = unit, (l + 1 if dl == 1 else -l) * unit
    return Neighbors(rows), weights


def _element(l: int, m: int, dl: int, dm: int, component: int) -> complex:
    """⟨l m| n |l + dl, m + dm⟩."""
    low = min(l, l + dl)
    if component == 2:
        return angular.cosine(low, m)
    # n₊ = n_x + i n_y raises m, n₋ = n₊† lowers it: n_x = (n₊ + n₋)/2, n_y = (n₊ − n₋)/2i.
    rise = dl * dm  # of m from the smaller l to the larger one
    high = low + rise * (m if dl == -1 else m + dm)
    ladder = -rise * np.sqrt(high * (high + 1) / ((2 * low + 1) * (2 * low + 3)))
    return 0.5 * ladder if component == 0 else 0.5j * dm * ladder
