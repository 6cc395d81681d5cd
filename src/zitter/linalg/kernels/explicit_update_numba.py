"""The explicit update on all cores of a CPU; imported only where numba is installed.

XLA runs such an update on one core, one pass over memory for each. Here every thread takes a slab
of planes and does two updates in a pass: going along x it keeps the last three planes of the first
update, from which the second follows one plane behind. Only the planes beside a slab are computed
twice.
"""

from __future__ import annotations

import os

import numpy as np

# Threads of GNU OpenMP that wait for one another spin for milliseconds, and on a busy machine keep
# the other from its core, so that a small update takes many times as long. It is read only once.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import numba  # type: ignore[import-not-found]


def advance(psi: np.ndarray, g: np.ndarray, weights: np.ndarray, updates: int) -> np.ndarray:
    """`updates` (even) updates of one ψ, which is left as it is."""
    here = np.pad(psi, 1)  # the shell of zeros is the boundary
    there = np.zeros_like(here)
    kx, ky, kz = weights.astype(psi.dtype)
    slabs = min(numba.get_num_threads(), psi.shape[0])
    for _ in range(updates // 2):
        _two_updates(here, g, kx, ky, kz, slabs, there)
        here, there = there, here
    return here[1:-1, 1:-1, 1:-1]


@numba.njit(parallel=True, fastmath=True, cache=True)
def _two_updates(psi, g, kx, ky, kz, slabs, out):
    nx, ny, nz = g.shape
    for slab in numba.prange(slabs):
        first, last = slab * nx // slabs, (slab + 1) * nx // slabs
        ring = np.zeros((3, ny + 2, nz + 2), psi.dtype)
        for x in range(first - 1, last + 1):
            new = ring[(x + 3) % 3]
            if x < 0 or x == nx:
                new[:] = 0
            else:
                _update_plane(psi[x], psi[x + 1], psi[x + 2], g[x], kx, ky, kz, new)
            if x > first:
                before, middle = ring[(x + 1) % 3], ring[(x + 2) % 3]
                _update_plane(before, middle, new, g[x - 1], kx, ky, kz, out[x])


@numba.njit(fastmath=True, inline="always")
def _update_plane(left, here, right, g, kx, ky, kz, out):
    """One plane from itself and its neighbours along x; all but g have the shell of zeros."""
    ny, nz = g.shape
    middle = 4 - 2 * (kx + ky + kz)
    for y in range(1, ny + 1):
        for z in range(1, nz + 1):
            center = here[y, z]
            around = kx * (left[y, z] + right[y, z])
            around += ky * (here[y - 1, z] + here[y + 1, z])
            around += kz * (here[y, z - 1] + here[y, z + 1])
            out[y, z] = g[y - 1, z - 1] * (around + middle * center) - center
