"""Several determinants as a user lists them, and as excitations from one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from zitter import checks


class Determinants(eqx.Module):
    """Σ_I c_I D_I↑ D_I↓: which orbitals each determinant holds, and its coefficient.

    `up` (determinants, n_up) and `down` (determinants, n_down) number orbitals from 0, ascending in
    each row: that order gives a determinant its sign. `down` is left out where all spins are up.
    Ψ is not normalized: all coefficients are divided by the largest, whose determinant is the
    reference that others are computed from.

        pairs = zt.qmc.Determinants([0.95, -0.18], up=[[0, 1], [0, 2]], down=[[0, 1], [0, 2]])
    """

    coefficients: Any
    up: Any
    down: Any

    def __init__(
        self,
        coefficients: Sequence[float],
        up: Sequence[Sequence[int]],
        down: Sequence[Sequence[int]] = (),
    ):
        self.coefficients = checks.array("coefficients", coefficients, (None,))
        count = len(self.coefficients)
        if not np.any(self.coefficients):
            raise checks.InputError("coefficients", "must not all be zero")
        self.up = _occupied("up", up, count)
        self.down = _occupied("down", down, count) if len(down) else np.zeros((count, 0), int)
        if self.up.shape[1] == 0:
            raise checks.InputError("up", "must hold orbitals, but is empty")
        both = np.concatenate([self.up, self.down], axis=1)
        _, first, inverse = np.unique(both, axis=0, return_index=True, return_inverse=True)
        twice = np.flatnonzero(first[np.ravel(inverse)] != np.arange(count))
        if len(twice):
            i, j = first[np.ravel(inverse)[twice[0]]], twice[0]
            raise checks.InputError(
                "up", f"must give each determinant once, but {i} and {j} are the same"
            )

    @property
    def count(self) -> int:
        return len(self.coefficients)

    @property
    def reference(self) -> int:
        return int(np.argmax(np.abs(self.coefficients)))

    def check(self, spins: tuple[int, int], orbitals: tuple[int, ...]) -> None:
        """Refuse what does not fit the electrons or the orbitals of each spin."""
        for spin, (name, rows) in enumerate((("up", self.up), ("down", self.down))):
            if rows.shape[1] != spins[spin]:
                raise checks.InputError(
                    f"determinants.{name}",
                    f"must hold {spins[spin]} orbitals for as many electrons, but holds "
                    f"{rows.shape[1]}",
                )
            if rows.size and rows.max() >= orbitals[spin]:
                raise checks.InputError(
                    f"determinants.{name}",
                    f"must number the {orbitals[spin]} orbitals from 0, but holds {rows.max()}",
                )


def _occupied(name: str, rows: Any, count: int) -> np.ndarray:
    found = checks.array(name, rows, (count, None))
    whole = found.astype(np.int64)
    if np.any(whole != found) or np.any(whole < 0):
        raise checks.InputError(name, "must hold numbers of orbitals, from 0")
    wrong = np.flatnonzero(np.any(np.diff(whole, axis=1) <= 0, axis=1))
    if len(wrong):
        raise checks.InputError(
            f"{name}.{wrong[0]}", f"must be ascending, but is {whole[wrong[0]].tolist()}"
        )
    return whole


class Strings(NamedTuple):
    """The different occupations of one spin, the reference first, as excitations from it."""

    order: np.ndarray  # orbitals: those of the reference, then the others that are needed
    holes: list[np.ndarray]  # of each string: places among the reference's orbitals
    particles: list[np.ndarray]  # places among the others
    signs: np.ndarray  # of bringing the replaced orbitals into ascending order
    of: np.ndarray  # the string of each determinant


def strings(rows: np.ndarray, reference: int) -> Strings:
    """The strings of one spin, from the occupations of all determinants."""
    first = rows[reference]
    unique, of = np.unique(rows, axis=0, return_inverse=True)
    of = np.ravel(of)
    # Reference first, then by rank of excitation.
    rank = np.asarray([len(set(row) - set(first)) for row in unique])
    sequence = np.argsort(rank, kind="stable")
    place = np.empty_like(sequence)
    place[sequence] = np.arange(len(sequence))
    others = np.setdiff1d(unique, first)
    holes, particles, signs = [], [], []
    for row in unique[sequence]:
        h = np.flatnonzero(~np.isin(first, row))
        p = np.setdiff1d(row, first)
        replaced = first.copy()
        replaced[h] = p
        inversions = np.sum(np.triu(replaced[:, None] > replaced[None, :], 1))
        holes.append(h)
        particles.append(np.searchsorted(others, p))
        signs.append(-1.0 if inversions % 2 else 1.0)
    order = np.concatenate([first, others]).astype(np.int64)
    return Strings(order, holes, particles, np.asarray(signs), place[of])


class Tables(NamedTuple):
    """The strings of all spins in arrays of one shape, and where determinants are among them."""

    order: np.ndarray  # (species, n + v)
    filled: np.ndarray  # (species, n + v): false where a spin has fewer orbitals
    holes: tuple[np.ndarray, ...]  # (species, strings, k) of each rank k
    particles: tuple[np.ndarray, ...]
    place: np.ndarray  # (determinants, 2): string up, string down
    sign: np.ndarray  # (determinants,)
    strings: int  # of one spin, the padding included


def tabulate(given: Determinants, spins: tuple[int, int]) -> Tables:
    """Padding strings are excitations 0 → 0 that no determinant refers to."""
    rows = (given.up, given.down)
    each = [strings(rows[spin], given.reference) for spin in range(2 if all(spins) else 1)]
    n = max(spins)
    v = max(len(s.order) - count for s, count in zip(each, spins, strict=False))
    order, filled = np.zeros((len(each), n + v), int), np.zeros((len(each), n + v), bool)
    for spin, (one, count) in enumerate(zip(each, spins, strict=False)):
        places = np.r_[np.arange(count), n + np.arange(len(one.order) - count)]
        order[spin, places], filled[spin, places] = one.order, True
    place = np.zeros((given.count, 2), int)
    sign = np.ones(given.count)
    holes, particles, number = [], [], 1
    renumbered = [np.zeros(len(s.holes), int) for s in each]
    for k in sorted({len(h) for s in each for h in s.holes} - {0}):
        members = [[i for i, h in enumerate(s.holes) if len(h) == k] for s in each]
        most = max(map(len, members))
        h, p = np.zeros((2, len(each), most, k), int)
        for spin, (one, those) in enumerate(zip(each, members, strict=True)):
            for position, string in enumerate(those):
                h[spin, position], p[spin, position] = one.holes[string], one.particles[string]
                renumbered[spin][string] = number + position
        holes.append(h)
        particles.append(p)
        number += most
    for spin, one in enumerate(each):
        place[:, spin] = renumbered[spin][one.of]
        sign *= one.signs[one.of]
    return Tables(order, filled, tuple(holes), tuple(particles), place, sign, number)
