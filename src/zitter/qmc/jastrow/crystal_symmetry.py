"""Which rotations and translations map a crystal onto itself, and plane waves they leave alone.

An operation r → Rr + t turns e^{iG·r} into e^{−iRG·t} e^{iRG·r}. Averaged over all operations a
wave becomes a symmetric function of its star, or nothing: waves of the supercell that the primitive
lattice does not have vanish.
"""

from __future__ import annotations

import itertools

import numpy as np

from zitter.qmc.cells import Cell, half_space, reduce_lattice, shells
from zitter.qmc.systems.nuclei import Nuclei

SAME = 1e-5  # bohr: places that are one


def operations(cell: Cell, nuclei: Nuclei) -> list[tuple[np.ndarray, np.ndarray]]:
    """All (R, t) with t in the cell; the identity alone has t = 0 in a primitive cell."""
    kinds = np.asarray(nuclei.species)
    counts = np.bincount(kinds)
    rare = np.flatnonzero(kinds == np.argmin(counts))  # one of these must go to another
    places = np.asarray(nuclei.positions)
    found = []
    for R in _rotations(cell):
        turned = places @ R.T
        for target in rare:
            t = places[target] - turned[rare[0]]
            if _same_crystal(cell, turned + t, places, kinds):
                found.append((R, t))
    return found


def _rotations(cell: Cell) -> list[np.ndarray]:
    """All R that map the lattice onto itself: integer matrices of shortest vectors that keep their
    scalar products. Across a slab they do nothing."""
    basis = reduce_lattice(np.asarray(cell.vectors))
    inverse = np.linalg.pinv(basis)
    across = np.eye(basis.shape[1]) - inverse @ basis if cell.is_slab else 0.0
    metric = basis @ basis.T
    d = len(basis)
    rows = np.asarray(list(itertools.product((-1, 0, 1), repeat=d)))
    lengths = np.einsum("ri,ij,rj->r", rows, metric, rows)
    choices = [rows[np.abs(lengths - metric[i, i]) < SAME] for i in range(d)]
    found = []
    for picked in itertools.product(*choices):
        N = np.asarray(picked)
        if np.all(np.abs(N @ metric @ N.T - metric) < SAME):
            found.append((inverse @ (N @ basis) + across).T)
    return found


def _same_crystal(cell: Cell, moved: np.ndarray, places: np.ndarray, kinds: np.ndarray) -> bool:
    inverse, vectors = np.asarray(cell.inverse), np.asarray(cell.vectors)
    for place, kind in zip(moved, kinds, strict=True):
        apart = places[kinds == kind] - place
        apart = apart - np.round(apart @ inverse) @ vectors
        if np.min(np.sum(apart**2, axis=1)) > SAME**2:
            return False
    return True


def symmetric_waves(cell: Cell, nuclei: Nuclei, stars: int) -> tuple[np.ndarray, np.ndarray]:
    """(G, C): real symmetric functions Σ_G C_k0G cos(G·r) + C_k1G sin(G·r) of the shortest stars.

    G (N_G, d) has one of each ±G; C is (functions, 2, N_G). A star is a length |G| with at least
    one function, which has unit norm.
    """
    ops = operations(cell, nuclei)
    radius = 2 * np.max(np.linalg.norm(cell.reciprocal, axis=1))
    while True:
        integers, vectors = cell.reciprocal_points(radius)
        index = shells(np.linalg.norm(vectors, axis=1))
        found = []
        # The last shell may be cut by the sphere that was searched.
        for shell in range(1, int(index[-1])):
            own = vectors[(index == shell) & half_space(integers)]
            functions = _invariant(own, ops)
            if len(functions):
                found.append((own, functions))
            if len(found) == stars:
                return _joined(found)
        radius *= 1.5


def _invariant(G: np.ndarray, ops: list) -> np.ndarray:
    """Symmetric functions of one shell, (functions, 2, N_G), orthonormal in their coefficients."""
    count = len(G)
    project = np.zeros((2 * count, 2 * count))
    for R, t in ops:
        turned = G @ R.T
        for column, wave in enumerate(turned):
            same = np.flatnonzero(np.sum((G - wave) ** 2, axis=1) < SAME**2)
            sign = 1 if len(same) else -1
            row = int(same[0]) if sign == 1 else int(np.argmin(np.sum((G + wave) ** 2, axis=1)))
            # cos(RG·(r − t)) and sin(RG·(r − t)), with RG = ±G of the list.
            c, s = np.cos(wave @ t), np.sin(wave @ t)
            project[row, column] += c
            project[count + row, column] += sign * s
            project[row, count + column] += -s
            project[count + row, count + column] += sign * c
    project /= len(ops)
    # One wave after another in a fixed order: the same functions on every machine.
    kept: list[np.ndarray] = []
    for column in project.T:
        rest = column - sum((k * (k @ column) for k in kept), np.zeros(2 * count))
        if np.linalg.norm(rest) > 1e-6:
            kept.append(rest / np.linalg.norm(rest))
    return np.asarray(kept).reshape(-1, 2, count)


def _joined(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    G = np.concatenate([own for own, _ in found])
    C = np.zeros((sum(len(f) for _, f in found), 2, len(G)))
    row = column = 0
    for own, functions in found:
        C[row : row + len(functions), :, column : column + len(own)] = functions
        row, column = row + len(functions), column + len(own)
    used = np.any(C != 0, axis=(0, 1))
    return G[used], C[:, :, used]
