"""Simulation cells: lattice vectors, nearest images, shells of reciprocal vectors.

Rows of `vectors` are the lattice vectors a_i; rows of `reciprocal` the b_j with a_i·b_j = 2πδ_ij.
The nearest image of a displacement is exact for every cell: cubic, face- and body-centred,
hexagonal and triangular lattices along the axes are unions of a few shifted rectangular lattices,
where rounding is exact; any other lattice is reduced first and its 3^d neighbouring images are
compared. A slab has two lattice vectors in the plane of x and y and no images along z.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime

_HALF = 0.5
# name → (dimension, primitive vectors for the constant 1 of the box).
_LATTICES: dict[str, tuple[int, list]] = {
    "sc": (3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "fcc": (3, [[0, _HALF, _HALF], [_HALF, 0, _HALF], [_HALF, _HALF, 0]]),
    "bcc": (3, [[-_HALF, _HALF, _HALF], [_HALF, -_HALF, _HALF], [_HALF, _HALF, -_HALF]]),
    "square": (2, [[1, 0], [0, 1]]),
    "triangular": (2, [[1, 0], [_HALF, math.sqrt(3) / 2]]),
}
LATTICES = tuple(_LATTICES)
ALIGNED = 1e-9  # of the box: how exactly lattice vectors must lie along the axes
MOST_COPIES = 4  # of a rectangular lattice; more would take as long as comparing neighbours


class Cell(eqx.Module):
    """A cell that is repeated in a plane, in space, or in the plane of x and y in space (a slab).

    The rows of `vectors` are the lattice vectors: 2 or 3 of that length, or 2 of length 3 with
    z = 0 for a slab.
    """

    vectors: Any
    reciprocal: Any
    inverse: Any  # r @ inverse are coordinates along the lattice vectors
    volume: Any  # the area of a slab
    inradius: Any  # of the Wigner–Seitz cell: half the shortest lattice vector
    box: Any  # edges of the rectangular lattice whose shifted copies make up this lattice
    shifts: Any
    fractional: Any  # the inverse of the reduced lattice vectors
    name: str = eqx.field(static=True)
    rectangular: bool = eqx.field(static=True)
    even_sum: bool = eqx.field(static=True)  # face-centred: half boxes whose sum is even

    def __init__(self, vectors: Sequence[Sequence[float]], name: str = "custom"):
        runtime.settings()  # tables in double precision
        given = checks.array("vectors", vectors)
        if given.ndim != 2 or given.shape not in ((2, 2), (3, 3), (2, 3)):
            raise checks.InputError(
                "vectors",
                "must be 2 or 3 lattice vectors, or 2 with z = 0 of a slab, but have shape "
                f"{given.shape}",
            )
        if given.shape == (2, 3) and np.any(np.abs(given[:, 2]) > 1e-12 * np.max(np.abs(given))):
            raise checks.InputError(
                "vectors", f"must have z = 0 in a slab, but are {given.tolist()}"
            )
        content = float(np.prod(np.linalg.svd(given, compute_uv=False)))
        if content < 1e-12 * np.max(np.abs(given)) ** len(given):
            raise checks.InputError("vectors", "must span the space, but are linearly dependent")
        self.vectors = given
        self.inverse = np.linalg.pinv(given)
        self.reciprocal = 2 * np.pi * self.inverse.T
        self.volume = np.float64(content)
        reduced = reduce_lattice(given)[:, : len(given)]
        self.inradius = np.float64(np.min(np.linalg.norm(reduced, axis=1)) / 2)
        self.name = name
        found = _rectangular(reduced)
        self.rectangular = found is not None
        if found is not None:
            self.box, self.shifts = found
            self.fractional = self.inverse
        else:
            steps = list(itertools.product((-1, 0, 1), repeat=len(given)))
            self.box = reduced
            self.shifts = np.asarray(steps, np.float64) @ reduced
            self.fractional = np.linalg.inv(reduced)
        self.even_sum = (
            self.rectangular
            and self.shifts.shape == (4, 3)
            and np.ptp(self.box) < ALIGNED * self.box[0]
            and bool(np.all(np.sum(self.shifts > ALIGNED * self.box[0], axis=1) % 2 == 0))
        )

    @classmethod
    def of_volume(cls, lattice: str, volume: float) -> Cell:
        """The named lattice with the given volume (area in two dimensions) of its cell."""
        checks.choice("lattice", lattice, LATTICES)
        dimension, primitive = _LATTICES[lattice]
        unit = np.asarray(primitive, np.float64)
        constant = (float(volume) / abs(np.linalg.det(unit))) ** (1 / dimension)
        return cls((unit * constant).tolist(), lattice)

    @classmethod
    def of_lattice(cls, lattice: Any, volume: float, dimension: int | None = None) -> Cell:
        """A named lattice, or one of the given vectors, scaled to the volume (area) of its cell."""
        if isinstance(lattice, str):
            fitting = [n for n, kind in _LATTICES.items() if dimension in (None, kind[0])]
            return cls.of_volume(checks.choice("lattice", lattice, fitting), volume)
        vectors = checks.array("lattice", lattice)
        sizes = (2, 3) if dimension is None else (dimension,)
        if vectors.ndim != 2 or vectors.shape[0] != vectors.shape[1] or len(vectors) not in sizes:
            shown = " or ".join(map(str, sizes))
            raise checks.InputError(
                "lattice", f"must be {shown} lattice vectors, but has shape {vectors.shape}"
            )
        content = abs(np.linalg.det(vectors))
        if content < 1e-12 * np.max(np.abs(vectors)) ** len(vectors):
            raise checks.InputError("lattice", "must span the space, but is linearly dependent")
        return cls((vectors * (volume / content) ** (1 / len(vectors))).tolist())

    @property
    def dimension(self) -> int:
        """Of how many directions the cell is periodic in."""
        return self.vectors.shape[0]

    @property
    def is_slab(self) -> bool:
        return self.vectors.shape[0] < self.vectors.shape[1]

    def nearest(self, parts: Sequence[Any]) -> list[Any]:
        """The shortest of all images of displacements, given and returned as their components.

        Separate components keep loops over pairs contiguous, which is worth a factor of twenty.
        """
        if self.is_slab:
            flat = self.dimension
            return [*self._nearest(parts[:flat]), *parts[flat:]]
        return self._nearest(parts)

    def _nearest(self, parts: Sequence[Any]) -> list[Any]:
        if self.even_sum:
            return _nearest_of_even_sum(parts, self.box[0] / 2)
        if self.rectangular:
            edges = [1 / edge for edge in self.box]
            candidates = []
            for shift in self.shifts:
                moved = [x - s for x, s in zip(parts, shift, strict=True)]
                candidates.append(
                    [
                        x - edge * jnp.round(x * inverse)
                        for x, edge, inverse in zip(moved, self.box, edges, strict=True)
                    ]
                )
        else:
            turns = [jnp.round(t) for t in _combine(parts, self.fractional)]
            inside = [x - y for x, y in zip(parts, _combine(turns, self.box), strict=True)]
            candidates = [
                [x - s for x, s in zip(inside, shift, strict=True)] for shift in self.shifts
            ]
        best, shortest = candidates[0], squared(candidates[0])
        for candidate in candidates[1:]:
            length = squared(candidate)
            closer = length < shortest
            best = [jnp.where(closer, new, old) for new, old in zip(candidate, best, strict=True)]
            shortest = jnp.where(closer, length, shortest)
        return best

    def lattice_points(self, radius: float) -> np.ndarray:
        """All lattice vectors within `radius` of the origin, shortest first."""
        return points_within(self.vectors, radius)[1]

    def reciprocal_points(self, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """(integers, vectors) of all reciprocal lattice points within `radius`, shortest first."""
        return points_within(self.reciprocal, radius)


def _nearest_of_even_sum(parts: Sequence[Any], scale: Any) -> list[Any]:
    """Displacements from the nearest of the points scale·n with integers n of even sum.

    Conway and Sloane, IEEE Trans. Inf. Theory 28, 227 (1982): round each coordinate; where the sum
    is odd, round the one that was farthest from an integer the other way.
    """
    scaled = [x / scale for x in parts]
    whole = [jnp.round(x) for x in scaled]
    rest = [x - n for x, n in zip(scaled, whole, strict=True)]
    total = whole[0] + whole[1] + whole[2]
    odd = total != 2 * jnp.round(total / 2)
    size = [jnp.abs(x) for x in rest]
    first = (size[0] >= size[1]) & (size[0] >= size[2])
    second = ~first & (size[1] >= size[2])
    turned = [first, second, ~first & ~second]
    return [
        scale * jnp.where(odd & chosen, x - jnp.where(x < 0, -1.0, 1.0), x)
        for x, chosen in zip(rest, turned, strict=True)
    ]


def squared(parts: Sequence[Any]) -> Any:
    """Σ_a x_a² of a vector given by its components."""
    return sum((x * x for x in parts[1:]), parts[0] * parts[0])


def row_sums(table: Any) -> Any:
    """Σ_j of a table of pairs that is made first and summed afterwards.

    Fused into one kernel, pair functions and the sum take minutes to compile on a GPU and do not
    vectorize on a CPU.
    """
    return jax.lax.optimization_barrier(table) @ jnp.ones(table.shape[-1], table.dtype)


def _combine(parts: Sequence[Any], matrix: Any) -> list[Any]:
    """Components of the row vector `parts` times `matrix`."""
    columns = range(len(parts))
    return [sum(x * matrix[i, j] for i, x in enumerate(parts)) for j in columns]


def _rectangular(reduced: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(edges, shifts): the lattice as a few shifted copies of a box along the axes, or None."""
    dimension = len(reduced)
    steps = np.asarray(list(itertools.product(range(-3, 4), repeat=dimension)))
    points = (steps @ reduced)[np.any(steps != 0, axis=1)]
    lengths = np.linalg.norm(points, axis=1)
    edges = []
    for axis in range(dimension):
        across = np.max(np.abs(np.delete(points, axis, axis=1)), axis=1)
        along = (points[:, axis] > 0) & (across <= ALIGNED * lengths)
        if not along.any():
            return None
        edges.append(np.min(lengths[along]))
    box = np.asarray(edges)
    turns = points / box
    inside = np.all((turns > -ALIGNED) & (turns < 1 - ALIGNED), axis=1)
    shifts = np.vstack([np.zeros(dimension), points[inside]])
    copies = round(float(np.prod(box)) / abs(np.linalg.det(reduced)))
    return (box, shifts) if len(shifts) == copies <= MOST_COPIES else None


def reduce_lattice(vectors: np.ndarray) -> np.ndarray:
    """The shortest independent lattice vectors (a Minkowski-reduced basis up to dimension 3)."""
    dimension = len(vectors)
    basis = np.array(vectors, np.float64)
    # Pairwise (Gauss–Lagrange) reduction until nothing shrinks, then the exact choice among
    # small combinations, which are enough once the pairs are reduced.
    for _ in range(1000):
        before = np.sum(basis**2)
        for i, j in itertools.permutations(range(dimension), 2):
            basis[i] -= np.round(basis[i] @ basis[j] / (basis[j] @ basis[j])) * basis[j]
        if np.sum(basis**2) >= before * (1 - 1e-13):
            break
    steps = np.asarray(list(itertools.product((-2, -1, 0, 1, 2), repeat=dimension)))
    points = (steps @ basis)[np.any(steps != 0, axis=1)]
    points = points[np.argsort(np.sum(points**2, axis=1), kind="stable")]
    chosen: list[np.ndarray] = []
    for point in points:
        trial = np.array([*chosen, point])
        if np.linalg.matrix_rank(trial, tol=1e-9 * np.linalg.norm(trial)) == len(trial):
            chosen.append(point)
        if len(chosen) == dimension:
            break
    return np.array(chosen)


def points_within(vectors: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """(integers, points) of the lattice with these rows inside a sphere, shortest first."""
    # |n_i| ≤ radius·|dual_i|, because n_i is the component of the point along the dual vector.
    dual = np.linalg.pinv(vectors).T
    limits = np.floor(radius * np.linalg.norm(dual, axis=1) + 1e-9).astype(int)
    ranges = [np.arange(-m, m + 1) for m in limits]
    integers = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(vectors))
    points = integers @ vectors
    lengths = np.linalg.norm(points, axis=1)
    inside = lengths <= radius * (1 + 1e-12)
    integers, points, lengths = integers[inside], points[inside], lengths[inside]
    order = np.argsort(np.round(lengths, 10), kind="stable")
    return integers[order], points[order]


def half_space(integers: np.ndarray) -> np.ndarray:
    """Mask that keeps one of each pair ±n and drops 0: the first nonzero integer is positive."""
    keep = np.zeros(len(integers), bool)
    undecided = np.ones(len(integers), bool)
    for column in integers.T:
        keep |= undecided & (column > 0)
        undecided &= column == 0
    return keep


def shells(lengths: np.ndarray) -> np.ndarray:
    """Index of the shell of each entry of a sorted array of lengths."""
    scale = max(float(lengths[-1]), 1e-300) if len(lengths) else 1.0
    return np.concatenate([[0], np.cumsum(np.diff(lengths) > 1e-8 * scale)])


def closed_shells(
    lattice: str | Sequence[Sequence[float]] = "sc",
    maximum: int = 2000,
    polarized: bool = False,
    twist: Sequence[float] = (),
) -> list[int]:
    """Numbers of electrons that fill whole shells of plane waves, up to `maximum`.

    `lattice` is a name or lattice vectors of any length. Without `polarized` each orbital holds two
    electrons. `twist` is in units of the reciprocal lattice vectors.
    """
    maximum = checks.integer("maximum", maximum, 1)
    cell = Cell.of_lattice(lattice, 1.0)
    per_orbital = 1 if polarized else 2
    shift = np.zeros(cell.dimension) if len(twist) == 0 else checks.array("twist", twist)
    density = cell.volume / (2 * np.pi) ** cell.dimension
    ball = {2: np.pi, 3: 4 * np.pi / 3}[cell.dimension]
    needed = maximum / per_orbital
    longest = np.max(np.linalg.norm(cell.reciprocal, axis=1))
    radius = 1.3 * (needed / (density * ball)) ** (1 / cell.dimension) + 2 * longest
    integers, _ = cell.reciprocal_points(radius)
    energies = np.sort(np.linalg.norm((integers + shift) @ cell.reciprocal, axis=1))
    energies = energies[energies < radius - longest]
    index = shells(energies)
    ends = np.flatnonzero(np.diff(index)) + 1
    return [int(per_orbital * n) for n in ends if per_orbital * n <= maximum]
