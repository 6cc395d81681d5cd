"""Nested dissection: an order of elimination for unknowns on a box of indices (George, SIAM J.
Numer. Anal. 10, 345 (1973)).

Unknowns are coupled as far as `reach` along each axis. A slab of that thickness across the longest
axis leaves two boxes that know nothing of each other: they are eliminated first, by the same rule,
and the slab last. Factors of a cube of n³ points so take of the order of n⁴ numbers and n⁶
operations, and how many is known before, as long as diagonals are pivots: a slab of s unknowns is a
full matrix (a box that is left, one of so many bands), coupled to the b unknowns around its box.

    numbers of L and U:  s² + 2sb        operations:  (2/3)s³ + 2s²b + 2sb²
    of p bands:          2sp + 2sb                    2sp² + 2spb + 2sb²
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

LEAF = 64  # unknowns that are eliminated as they come
SHORT = 3  # a ring is longer than so many times its reach


@dataclasses.dataclass(frozen=True)
class Part:
    """Unknowns (first index and length along each axis) that are eliminated together, after those
    which they part; `around`: how many come later and are coupled to them; `bands` beside the
    diagonal, on one side."""

    first: tuple[int, ...]
    lengths: tuple[int, ...]
    around: int
    bands: int

    @property
    def size(self) -> int:
        return math.prod(self.lengths)

    @property
    def numbers(self) -> int:
        """Of L and U."""
        return self.size * (min(self.size, 2 * self.bands + 1) + 2 * self.around)

    @property
    def operations(self) -> float:
        s, p, b = self.size, self.bands, self.around
        inside = min(2 / 3 * s**2 + 2 * s * b, 2.0 * p**2 + 2 * p * b)
        return s * max(inside + 2 * b**2, 1.0)  # a division for each, at least


@dataclasses.dataclass(frozen=True)
class Dissection:
    """A box of so many unknowns along each axis, coupled so far (not at all: 0); `closed` axes are
    rings."""

    shape: tuple[int, ...]
    reach: tuple[int, ...]
    closed: tuple[bool, ...]

    @classmethod
    def of(cls, matrix: Any, shape: tuple[int, ...]) -> Dissection:
        """Of a sparse matrix whose unknowns are those of an array of this shape."""
        found = matrix.tocoo()
        places = (np.unravel_index(k, shape) for k in (found.row, found.col))
        reach, closed = [], []
        for n, row, column in zip(shape, *places, strict=True):
            apart = np.abs(row - column)
            width = int(apart.max(initial=0))
            around = int(np.minimum(apart, n - apart).max(initial=0))
            ring = width > n // 2 and SHORT * around <= n  # else all of an axis are coupled
            reach.append(around if ring else width)
            closed.append(ring)
        return cls(tuple(shape), tuple(reach), tuple(closed))

    @functools.cached_property
    def parts(self) -> list[Part]:
        """In the order of their elimination."""
        whole = [_Side(0, n, ring=ring) for n, ring in zip(self.shape, self.closed, strict=True)]
        return list(self._divided(whole))

    def _divided(self, box: list[_Side]) -> Iterator[Part]:
        """A slab across the axis that is longest beside its reach; across a ring there are two,
        and none where nothing is coupled."""
        slabs_of = [width * side.slabs for width, side in zip(self.reach, box, strict=True)]
        axis = max(range(len(box)), key=lambda k: (box[k].length - 1) / (slabs_of[k] + 1e-9))
        side, width = box[axis], self.reach[axis]
        around = self._around(box)
        size = math.prod(each.length for each in box)
        if size <= LEAF or side.length <= max(1, 2 * width * side.slabs):
            yield _part(box, around, self._bands(box))
            return
        others, slabs = side.divided(width)
        for other in others:
            yield from self._divided(_with(box, axis, other))
        for later, slab in enumerate(slabs if width else [], 1 - len(slabs)):
            # Two slabs know of each other, once what they part is gone.
            later_ones = around - later * width * (size // side.length)
            yield _part(_with(box, axis, slab), later_ones, width * (size // side.length) - 1)

    def _around(self, box: list[_Side]) -> int:
        """How many unknowns beyond the ends of a box are coupled to it, and come later."""
        size = math.prod(side.length for side in box)
        return sum(
            size // side.length * width * side.open_ends
            for side, width in zip(box, self.reach, strict=True)
        )

    def _bands(self, box: list[_Side]) -> int:
        """Beside the diagonal of what is eliminated as it comes, last axis first."""
        lengths = [side.length for side in box]
        # The ends of a ring are coupled.
        reach = (
            side.length - 1 if side.ring and width else min(width, side.length - 1)
            for width, side in zip(self.reach, box, strict=True)
        )
        return sum(width * math.prod(lengths[axis + 1 :]) for axis, width in enumerate(reach))

    def order(self) -> np.ndarray:
        """The unknowns, by their numbers, as they are eliminated."""
        numbers = np.arange(math.prod(self.shape)).reshape(self.shape)
        return np.concatenate(
            [
                numbers[tuple(map(slice, part.first, np.add(part.first, part.lengths)))].ravel()
                for part in self.parts
            ]
        )

    @property
    def numbers(self) -> int:
        """How many L and U have together, at most, while diagonals are pivots."""
        return sum(part.numbers for part in self.parts)

    @property
    def operations(self) -> float:
        """Of the factorization."""
        return sum(part.operations for part in self.parts)


@dataclasses.dataclass(frozen=True)
class _Side:
    """A box along one axis: from its first unknown to before the last, and whether unknowns that
    come later lie before and after it. A ring has no ends."""

    first: int
    last: int
    before: bool = False
    after: bool = False
    ring: bool = False

    @property
    def open_ends(self) -> int:
        return self.before + self.after

    @property
    def length(self) -> int:
        return self.last - self.first

    @property
    def slabs(self) -> int:
        """That part it."""
        return 2 if self.ring else 1

    def divided(self, width: int) -> tuple[list[_Side], list[_Side]]:
        """(what is left on both sides of the slabs, the slabs)."""
        first = self.first + (width if self.ring else 0)
        cut = first + (self.last - first - width) // 2
        slabs = [_Side(0, width)] if self.ring else []
        others = [
            _Side(first, cut, self.ring or self.before, True),
            _Side(cut + width, self.last, True, self.ring or self.after),
        ]
        return others, [*slabs, _Side(cut, cut + width)]


def _part(box: list[_Side], around: int, bands: int) -> Part:
    return Part(
        tuple(side.first for side in box), tuple(side.length for side in box), around, bands
    )


def _with(items: list[Any], place: int, item: Any) -> list[Any]:
    return [*items[:place], item, *items[place + 1 :]]
