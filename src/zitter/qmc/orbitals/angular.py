"""Angular parts of functions around a center: solid harmonics or monomials, and their slopes.

Solid harmonics are real and in Racah's norm, S_lm = r^l C_lm, in the order m = −l … l. From
S_00 = 1 and y, z, x follow

    S_{l+1,l+1} + iS_{l+1,−l−1} = √((2l+1)/(2l+2)) (x + iy) (S_ll + iS_{l,−l})
    S_{l+1,m} = [(2l+1) z S_lm − √(l²−m²) r² S_{l−1,m}] / √((l+1)²−m²)

Monomials x^i y^j z^k are those of degree l in the order of i, then j, descending. First derivatives
of either kind are combinations of few functions of degree l−1. The Laplacian vanishes for solid
harmonics and is of degree l−2 for monomials.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

HIGHEST = 4  # g


def functions(highest: int, cartesian: bool, x: Any, y: Any, z: Any) -> list[Any]:
    """The functions of each degree up to `highest`, stacked, of coordinates of equal shapes."""
    one = jnp.ones((1, *x.shape), x.dtype)
    levels = [one, jnp.stack([x, y, z] if cartesian else [y, z, x])][: highest + 1]
    square = x * x + y * y + z * z
    for l in range(1, highest):
        last = levels[l]
        if cartesian:
            # x times all, then y times those without x, then z times z^l
            higher = [x * last, y * last[-(l + 1) :], (z * last[-1])[None]]
        else:
            factor = math.sqrt((2 * l + 1) / (2 * l + 2))
            left = factor * (y * last[-1] + x * last[0])
            right = factor * (x * last[-1] - y * last[0])
            higher = [left[None], _inner(l, last, levels[l - 1], z, square), right[None]]
        # Each level is made once: fused into the next ones it would be made again and again.
        levels.append(jax.lax.optimization_barrier(jnp.concatenate(higher)))
    return levels


def _inner(l: int, last: Any, before: Any, z: Any, square: Any) -> Any:
    """S_{l+1,m} for |m| ≤ l; the factor of S_{l−1,m} is 0 where there is none."""
    m = np.arange(-l, l + 1)
    root = 1 / np.sqrt((l + 1) ** 2 - m * m)
    up, back = (
        jnp.asarray(factors * root, z.dtype).reshape(-1, *(1,) * z.ndim)
        for factors in ((2 * l + 1), np.sqrt(l * l - m * m))
    )
    padded = jnp.pad(before, [(1, 1), *[(0, 0)] * z.ndim])
    return up * z * last - back * square * padded


def size(l: int, cartesian: bool) -> int:
    """How many functions have degree l."""
    return (l + 1) * (l + 2) // 2 if cartesian else 2 * l + 1


def norm(l: int, cartesian: bool) -> float:
    """What makes our functions those of PySCF: orthonormal Y_lm, and monomials bare from d on."""
    return 1.0 if cartesian and l > 1 else math.sqrt((2 * l + 1) / (4 * math.pi))


def places(l: int, cartesian: bool) -> list[int]:
    """Where our functions of degree l stand in the order of PySCF, which has x, y, z for l = 1."""
    return [1, 2, 0] if l == 1 and not cartesian else list(range(size(l, cartesian)))


def powers(l: int) -> list[tuple[int, int, int]]:
    """(i, j, k) of the monomials of degree l."""
    return [(i, j, l - i - j) for i in range(l, -1, -1) for j in range(l - i, -1, -1)]


@functools.cache
def slopes(l: int, cartesian: bool) -> np.ndarray:
    """∂_a of the functions of degree l ≥ 1, as combinations of those below: (3, size, lower size).

    With R_lm = r^l C_lm: ∂_z R_lm = √(l²−m²) R_{l−1,m} and
    (∂_x ± i∂_y) R_lm = ±√((l∓m)(l∓m−1)) R_{l−1,m±1}.
    """
    if cartesian:
        return np.stack([_lowered(l, a, 1) for a in range(3)])
    z, plus, minus = np.zeros((3, 2 * l + 1, 2 * l - 1))
    for m in range(-l, l + 1):
        for shift, table, factor in (
            (0, z, math.sqrt(l * l - m * m)),
            (1, plus, math.sqrt((l - m) * max(l - m - 1, 0))),
            (-1, minus, -math.sqrt((l + m) * max(l + m - 1, 0))),
        ):
            if abs(m + shift) < l:
                table[m + l, m + shift + l - 1] = factor
    both = [(plus + minus) / 2, (plus - minus) / 2j, z]
    return np.stack([(_real(l) @ table @ _real(l - 1).conj().T).real for table in both])


@functools.cache
def laplacians(l: int, cartesian: bool) -> np.ndarray | None:
    """∇² of the functions of degree l as combinations of those of degree l−2; None if it is 0."""
    if not cartesian or l < 2:
        return None
    return np.sum([_lowered(l, a, 2) for a in range(3)], axis=0)


def _lowered(l: int, a: int, times: int) -> np.ndarray:
    """∂_a, repeated, of the monomials of degree l as multiples of lower ones."""
    lower = powers(l - times)
    table = np.zeros((len(powers(l)), len(lower)))
    for row, key in enumerate(powers(l)):
        if key[a] >= times:
            i, j, k = (n - times * (b == a) for b, n in enumerate(key))
            table[row, lower.index((i, j, k))] = math.perm(key[a], times)
    return table


def _real(l: int) -> np.ndarray:
    """S = U R: √2 (−1)^m Re R_lm for m > 0 and √2 (−1)^m Im R_l|m| for m < 0."""
    table = np.zeros((2 * l + 1, 2 * l + 1), complex)
    table[l, l] = 1
    for m in range(1, l + 1):
        sign, root = (-1) ** m, math.sqrt(0.5)
        table[l + m, [l + m, l - m]] = sign * root, root
        table[l - m, [l + m, l - m]] = -1j * sign * root, 1j * root
    return table
