"""Coefficients of f that leave all cusps alone.

In x = r/L the conditions on f = (1 − x_i)^C (1 − x_j)^C Σ γ_lmn x_i^l x_j^m x_ij^n, with γ_lmn =
γ_mln, are (Drummond, Towler and Needs, Phys. Rev. B 70, 235119)

    electron–electron:  Σ_{l+m=k} γ_lm1 = 0                  for k = 0 … 2N_en
    electron–nucleus:   Σ_{m+n=k} (C γ_0mn − γ_1mn) = 0      for k = 0 … N_en + N_ee

They do not depend on L. Solved in rational numbers, high powers depend on low ones: the free γ are
the same on every machine, and so is what files say.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

Triple = tuple[int, int, int]


def free_tensors(en: int, ee: int, smoothness: int, distinct: bool) -> np.ndarray:
    """γ_lmn as linear functions of the free ones: (free, en+1, en+1, ee+1).

    `distinct` drops γ_00n and γ_l00, which are nearly what u and χ have.
    """
    # The last powers come first, because leading columns become the dependent ones.
    triples = [
        (l, m, n)
        for l, m, n in itertools.product(range(en + 1), range(en + 1), range(ee + 1))
        if l <= m
    ]
    triples.sort(key=lambda t: (sum(t), t), reverse=True)
    place = {triple: column for column, triple in enumerate(triples)}
    rows = _conditions(en, ee, smoothness, distinct, place)
    dependent, reduced = _row_echelon(rows)
    free = [column for column in reversed(range(len(triples))) if column not in dependent]
    tensors = np.zeros((len(free), en + 1, en + 1, ee + 1))

    def put(index: int, column: int, value: float) -> None:
        l, m, n = triples[column]
        tensors[index, l, m, n] = tensors[index, m, l, n] = value

    for index, column in enumerate(free):
        put(index, column, 1.0)
        for own, row in zip(dependent, reduced, strict=True):
            if row[column] != 0:
                put(index, own, -float(row[column]))
    return tensors


def _conditions(
    en: int, ee: int, c: int, distinct: bool, place: dict[Triple, int]
) -> list[list[Fraction]]:
    rows = []

    def add(parts: list[tuple[Triple, int]]) -> None:
        row = [Fraction(0)] * len(place)
        for (l, m, n), factor in parts:
            row[place[min(l, m), max(l, m), n]] += factor
        rows.append(row)

    for k in range(2 * en + 1):
        add([((l, k - l, 1), 1) for l in range(en + 1) if 0 <= k - l <= en])
    for k in range(en + ee + 1):
        pairs = [(m, k - m) for m in range(en + 1) if 0 <= k - m <= ee]
        add([((0, m, n), c) for m, n in pairs] + [((1, m, n), -1) for m, n in pairs])
    if distinct:
        for n in range(ee + 1):
            add([((0, 0, n), 1)])
        for l in range(1, en + 1):
            add([((0, l, 0), 1)])
    return rows


def _row_echelon(rows: list[list[Fraction]]) -> tuple[list[int], list[list[Fraction]]]:
    """(leading columns, rows) of the reduced row echelon form."""
    rows = [list(row) for row in rows]
    leading: list[int] = []
    for column in range(len(rows[0])):
        done = len(leading)
        pivot = next((i for i in range(done, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        head = rows[done][column]
        rows[done] = [value / head for value in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column] != 0:
                factor = row[column]
                rows[i] = [a - factor * b for a, b in zip(row, rows[done], strict=True)]
        leading.append(column)
    return leading, rows[: len(leading)]
