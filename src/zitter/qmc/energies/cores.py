"""Which electrons are inside which cores: spheres around nuclei, their periodic images included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, squared


class Near(NamedTuple):
    """The few cores that may hold each electron, the deepest first."""

    displacement: Any  # (N, K, d): electron − nucleus
    kind: Any  # (N, K)
    inside: Any  # (N, K)


class Cores(eqx.Module):
    """Spheres of radius `radii` (C,) around `positions` (C, d), each of a kind.

    No point lies in more than `overlap` of them, which bounds the pairs of an electron: it is the
    largest number of spheres of which any two touch.
    """

    positions: Any
    radii: Any
    kinds: Any
    images: Any  # lattice vectors added to the nearest image; only 0 where that is enough
    cell: Cell | None
    overlap: int = eqx.field(static=True)

    def __init__(self, positions: Any, radii: Any, kinds: Sequence[int], cell: Cell | None = None):
        self.positions = np.asarray(positions, np.float64)
        self.radii = np.asarray(radii, np.float64)
        self.kinds = np.asarray(kinds, np.int32)
        self.cell = cell
        widest = float(np.max(self.radii, initial=0.0))
        self.images = images_within(cell, widest, self.positions.shape[1])
        self.overlap = _overlap(self.positions, self.radii, cell)

    @property
    def count(self) -> int:
        return len(self.positions)

    def displaced(self, carry: Callable[[Any], Any]) -> Cores:
        return eqx.tree_at(lambda c: c.positions, self, carry(self.positions))

    def near(self, r: Any) -> Near:
        """The cores that electrons r (d, N) may be in."""
        apart = displacements(r, self.positions, self.images, self.cell)  # (d, N, C·T)
        distance = jnp.sqrt(squared(list(apart)))
        repeats = len(self.images)
        depth = jnp.repeat(jnp.asarray(self.radii), repeats) - distance
        deepest, which = jax.lax.top_k(depth, min(self.overlap, depth.shape[1]))
        chosen = jnp.take_along_axis(apart, which[None], axis=2)
        return Near(
            jnp.moveaxis(chosen, 0, -1), jnp.asarray(self.kinds)[which // repeats], deepest > 0
        )


def displacements(r: Any, positions: Any, images: Any, cell: Cell | None) -> Any:
    """r_i − R_I − T (d, N, C·T) of electrons (d, N) and nuclei (C, d), each as near as it gets."""
    apart = [x[:, None] - p[None, :] for x, p in zip(r, jnp.asarray(positions).T, strict=True)]
    if cell is not None:
        apart = cell.nearest(apart)
    away = [x[:, :, None] - t for x, t in zip(apart, images.T, strict=True)]
    return jnp.stack([x.reshape(x.shape[0], -1) for x in away])


def images_within(cell: Cell | None, radius: float, dimension: int) -> np.ndarray:
    """Lattice vectors to add to a nearest image so that none within `radius` is left out."""
    if cell is None or radius <= float(cell.inradius):
        return np.zeros((1, dimension))
    # A nearest image is no longer than half the sum of the edges.
    farthest = 0.5 * float(np.sum(np.linalg.norm(np.asarray(cell.vectors), axis=1)))
    return cell.lattice_points(radius + farthest)


def reach(functions: Sequence[Callable[[Any], Any]], tolerance: float, key: str) -> float:
    """The radius beyond which all functions of r are smaller than `tolerance`."""
    if not functions:
        return 0.0
    r = np.linspace(0.0, FARTHEST, 8001)[1:]
    largest = np.max([np.abs(np.asarray(f(r))) for f in functions], axis=0)
    if not np.all(np.isfinite(largest)):
        raise checks.InputError(key, "must be finite away from the nucleus, but is not")
    beyond = np.flatnonzero(largest >= tolerance)
    if len(beyond) == 0:
        return 0.0
    if beyond[-1] == len(r) - 1:
        raise checks.InputError(
            key, f"must vanish far from the nucleus, but is {largest[-1]:.2g} at {FARTHEST:g} bohr"
        )
    return float(r[beyond[-1] + 1])


FARTHEST = 20.0  # bohr: what does not vanish there is no core


def _overlap(positions: np.ndarray, radii: np.ndarray, cell: Cell | None) -> int:
    """The size of the largest set of spheres of which any two touch, at least 1."""
    if len(positions) == 0:
        return 1
    dimension = positions.shape[1]
    best = 1
    for i in range(len(positions)):
        # All spheres, of images too, that touch this one.
        shifts = np.zeros((1, dimension))
        if cell is not None:
            span = float(np.max(np.linalg.norm(positions - positions[i], axis=1)))
            shifts = cell.lattice_points(span + 2 * float(np.max(radii)))
        places = (positions[:, None] + shifts[None]).reshape(-1, dimension)
        sizes = np.repeat(radii, len(shifts))
        distance = np.linalg.norm(places - positions[i], axis=1)
        touching = (distance < sizes + radii[i]) & (distance > 1e-9)
        around, own = places[touching], sizes[touching]
        apart = np.linalg.norm(around[:, None] - around[None], axis=-1)
        best = max(best, 1 + _clique(apart < own[:, None] + own[None, :]))
    return best


def _clique(touch: np.ndarray) -> int:
    """The size of the largest complete subgraph, by search with bounds."""
    best = 0

    def grow(size: int, candidates: np.ndarray) -> None:
        nonlocal best
        best = max(best, size)
        for position, vertex in enumerate(candidates):
            rest = candidates[position + 1 :]
            if size + 1 + len(rest) <= best:
                return
            grow(size + 1, rest[touch[vertex, rest]])

    grow(0, np.arange(len(touch)))
    return best
