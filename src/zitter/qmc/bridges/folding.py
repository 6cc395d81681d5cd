"""k-points of a primitive cell as orbitals of a supercell.

The supercell A_s = S A, with integers S and lattice vectors as rows, holds |det S| primitive cells.
A function of the supercell with twist t (in its reciprocal vectors) has A_s·k = 2π(t + m), so the
k-points that it is made of are, in reciprocal vectors of the primitive cell,

    f = S⁻¹(t + m)        |det S| of them modulo 1, one for each class of integers m.

Points are compared modulo 1: PySCF's own carry rounding, and k + G is the same as k.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from zitter import checks

TOLERANCE = 1e-6  # of fractions: far above rounding, far below the spacing of any mesh


class Folding(NamedTuple):
    """The supercell, its twist, and which k-points of a list it is made of."""

    supercell: np.ndarray  # S (3, 3)
    twist: np.ndarray  # (3,), in (−½, ½]
    chosen: list[int]

    @property
    def cells(self) -> int:
        return len(self.chosen)


def folded(
    fractions: np.ndarray, supercell: Any = None, twist: Sequence[float] | None = None
) -> Folding:
    """How k-points (k, 3), in reciprocal lattice vectors, fill a supercell.

    Without a `supercell` all of them do, as a mesh n1 × n2 × n3. It may be three numbers or a
    matrix of integers. Without a `twist` it is that of the first k-point.
    """
    if supercell is None:
        S = np.diag(_mesh(fractions))
    else:
        S = checked_supercell(supercell)
    if twist is None:
        t = wrapped(S @ fractions[0])
    else:
        t = wrapped(checks.array("twist", twist, (3,)))
    chosen, missing = [], []
    for k in needed(S, t):
        here = [i for i, f in enumerate(fractions) if same(f, k)]
        if here:
            chosen.append(here[0])
        else:
            missing.append("(" + ", ".join(checks.as_given(round(x, 6)) for x in k) + ")")
    if missing:
        some = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if missing[4:] else "")
        raise checks.InputError(
            "supercell",
            f"must be filled by the k-points of the file, but of {len(missing) + len(chosen)} "
            f"that it needs these are missing, in reciprocal lattice vectors: {some}",
        )
    return Folding(S, t, chosen)


def checked_supercell(supercell: Any) -> np.ndarray:
    """S (3, 3) of three numbers or a matrix of integers."""
    given = np.asarray(supercell)
    if given.shape not in ((3,), (3, 3)) or not np.issubdtype(given.dtype, np.integer):
        raise checks.InputError(
            "supercell", f"must be 3 whole numbers or 3 × 3 of them, but is {supercell!r}"
        )
    S = np.diag(given) if given.ndim == 1 else given
    if round(abs(np.linalg.det(S))) == 0:
        raise checks.InputError("supercell", f"must have a volume, but is {supercell!r}")
    return S


def fractions_of(k_points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """k-points in 1/bohr in units of the reciprocal lattice vectors."""
    return np.asarray(k_points) @ np.asarray(vectors).T / (2 * np.pi)


def wrapped(fractions: Any) -> np.ndarray:
    """Fractions in (−½, ½], with those that rounding has moved put back."""
    fractions = np.asarray(fractions, np.float64)
    found = fractions - np.round(fractions)
    found = np.where(np.abs(found) < TOLERANCE, 0.0, found)
    return np.where(np.abs(np.abs(found) - 0.5) < TOLERANCE, 0.5, found)


def same(a: Any, b: Any) -> bool:
    """Whether two k-points differ by a reciprocal lattice vector."""
    return bool(np.all(np.abs(wrapped(np.asarray(a) - np.asarray(b))) < TOLERANCE))


def needed(S: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """(|det S|, 3): the k-points at a twist of the supercell, in (−½, ½]."""
    return wrapped(np.linalg.solve(S, (twist + classes(S)).T).T)


def classes(S: np.ndarray) -> np.ndarray:
    """(|det S|, 3): integers m = S x with 0 ≤ x < 1, one of each class modulo columns of S."""
    low, high = np.minimum(S, 0).sum(axis=1), np.maximum(S, 0).sum(axis=1)
    box = itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
    m = np.asarray(list(box))
    x = np.linalg.solve(S, m.T).T
    return m[np.all((x > -TOLERANCE) & (x < 1 - TOLERANCE), axis=1)]


def translations(S: np.ndarray) -> np.ndarray:
    """(|det S|, 3): the primitive cells of the supercell, in primitive lattice vectors."""
    return classes(S.T)


def is_real(twist: np.ndarray) -> bool:
    """Whether −k is in the set with each k, so that orbitals can be real."""
    return bool(np.all(np.abs(wrapped(2 * twist)) < TOLERANCE))


def _mesh(fractions: np.ndarray) -> np.ndarray:
    """n1, n2, n3 of a mesh of k-points at any offset."""
    steps = []
    for values in np.asarray(fractions).T:
        distinct: list[float] = []
        for value in values:
            if not any(same(value, other) for other in distinct):
                distinct.append(value)
        n = len(distinct)
        regular = all(same(n * (value - distinct[0]), 0.0) for value in distinct)
        steps.append(n if regular else 0)
    if np.prod(steps) != len(fractions):
        raise checks.InputError(
            "supercell",
            f"must be given where the {len(fractions)} k-points of the file are no mesh "
            "n1 × n2 × n3; symmetry must not have reduced them",
        )
    return np.asarray(steps)
