"""Which few rows each row is coupled to: matrices of numbers between rows, with their zeros left
out.

    A[row, neighbors[row, j]] = weights[row, j]
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph


class Neighbors:
    """For each row the rows it is coupled to, (rows, width); where there are fewer, the row itself
    stands, and its weight is zero.

    Known before anything is compiled: it can be compared and hashed.
    """

    def __init__(self, rows: Any):
        self.rows = np.array(rows, np.int32)
        self.rows.setflags(write=False)
        self._hash = hash((self.rows.shape, self.rows.tobytes()))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Neighbors):
            return self is other
        return self._hash == other._hash and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return self._hash

    @property
    def reach(self) -> int:
        """The farthest neighbor."""
        return int(np.max(np.abs(self.rows - np.arange(len(self.rows))[:, None]), initial=0))

    def kept(self, rows: np.ndarray) -> Neighbors:
        """The same among some rows, whose neighbors are among them."""
        place = np.full(len(self.rows), -1)
        place[rows] = np.arange(len(rows))
        return Neighbors(place[self.rows[rows]])

    def groups(self) -> np.ndarray:
        """A number for each row, the same for those that are linked, by others too."""
        ones = np.ones(self.rows.shape)
        return csgraph.connected_components(self.matrix(ones), directed=False)[1]

    def element(self, weights: Any, row: Any, column: Any) -> Any:
        """A[row, column]."""
        places = np.flatnonzero(self.rows[row] == column)
        return weights[row, places].sum() if len(places) else 0.0

    def matrix(self, weights: Any) -> sparse.csr_array:
        """A, on the host."""
        count, width = self.rows.shape
        row = np.repeat(np.arange(count), width)
        entries = (np.asarray(weights).ravel(), (row, self.rows.ravel()))
        return sparse.coo_array(entries, (count, count)).tocsr()


def joined(one: Neighbors, other: Neighbors) -> Neighbors:
    """The neighbors by either, one after the other."""
    return Neighbors(np.concatenate([one.rows, other.rows], axis=1))


@functools.lru_cache(maxsize=64)
def united(one: Neighbors, other: Neighbors) -> tuple[Neighbors, np.ndarray, np.ndarray]:
    """The neighbors by either, and the place among them of each neighbor by one and by the other.

    A row that stands for itself, where neighbors are missing, is one more of them.
    """
    lists = [list(dict.fromkeys([*a, *b])) for a, b in zip(one.rows, other.rows, strict=True)]
    width = max(map(len, lists))
    rows = [[*found, *[i] * (width - len(found))] for i, found in enumerate(lists)]

    def places(neighbors: Neighbors) -> np.ndarray:
        pairs = zip(lists, neighbors.rows, strict=True)
        return np.asarray([[found.index(row) for row in own] for found, own in pairs])

    return Neighbors(rows), places(one), places(other)
