"""Determinants of many small matrices, picked out of one.

D_I/D_0 = det T[h, p] for a determinant I that has orbitals p in place of the orbitals h of the
reference, T = A⁻¹Φ: as many rows and columns as electrons are excited, two for a double.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


def minors(T: Any, holes: Sequence[Any], particles: Sequence[Any]) -> Any:
    """(1, det T[h, p], …) of the reference and of all excitations, one rank after another.

    `holes` and `particles` hold indices (excitations, k), for each rank k that there is.
    """
    found = [jnp.ones(1, T.dtype)]
    for h, p in zip(holes, particles, strict=True):
        found.append(small_determinant(T[h[:, :, None], p[:, None, :]]))
    return jnp.concatenate(found)


class Slopes(NamedTuple):
    """∂ ln Σ_s w_s det T[h_s, p_s] / ∂T, as numbers for each string and element of its minor.

    They are used by products: put together into a matrix like T, they would have to be scattered,
    which is slow.
    """

    total: Any  # Σ_s w_s det T[h_s, p_s]
    cofactors: list[Any]  # (excitations, k, k) of each rank


def slopes(T: Any, weights: Any, holes: Sequence[Any], particles: Sequence[Any]) -> Slopes:
    total, found, first = weights[0], [], 1
    for h, p in zip(holes, particles, strict=True):
        own = weights[first : first + h.shape[0]]
        values, pull = jax.vjp(small_determinant, T[h[:, :, None], p[:, None, :]])
        total = total + jnp.sum(own * values)
        found += pull(own.astype(values.dtype))
        first += h.shape[0]
    return Slopes(total, [cofactors / total for cofactors in found])


def along_rows(found: Slopes, a: Any, holes: Sequence[Any], spread: Sequence[Any]) -> Any:
    """Γᵀa (v, m) of a matrix a (n, m).

    `spread` (excitations × k, v) of each rank is one where a column of a minor is a column of T.
    """
    total = jnp.zeros((), a.dtype)
    for cofactors, h, onto in zip(found.cofactors, holes, spread, strict=True):
        each = jnp.einsum("shp,shm->spm", cofactors, a[h])
        total = total + onto.T @ each.reshape(-1, a.shape[1])
    return total


def contraction(found: Slopes, B: Any, holes: Sequence[Any], particles: Sequence[Any]) -> Any:
    """Σ Γ∘B of a matrix B (n, v)."""
    total = jnp.zeros((), B.dtype)
    for cofactors, h, p in zip(found.cofactors, holes, particles, strict=True):
        total = total + jnp.sum(cofactors * B[h[:, :, None], p[:, None, :]])
    return total


def small_determinant(a: Any) -> Any:
    """Determinants of (…, k, k): polynomials up to k = 4, by elimination beyond.

    A polynomial has derivatives where the determinant vanishes, too.
    """
    k = a.shape[-1]
    if k == 1:
        return a[..., 0, 0]
    if k == 2:
        return _two(a, 0, 1, 0, 1)
    if k == 3:
        return (
            a[..., 0, 0] * _two(a, 1, 2, 1, 2)
            - a[..., 0, 1] * _two(a, 1, 2, 0, 2)
            + a[..., 0, 2] * _two(a, 1, 2, 0, 1)
        )
    if k == 4:  # Laplace's expansion by the first two rows
        return (
            _two(a, 0, 1, 0, 1) * _two(a, 2, 3, 2, 3)
            - _two(a, 0, 1, 0, 2) * _two(a, 2, 3, 1, 3)
            + _two(a, 0, 1, 0, 3) * _two(a, 2, 3, 1, 2)
            + _two(a, 0, 1, 1, 2) * _two(a, 2, 3, 0, 3)
            - _two(a, 0, 1, 1, 3) * _two(a, 2, 3, 0, 2)
            + _two(a, 0, 1, 2, 3) * _two(a, 2, 3, 0, 1)
        )
    return jnp.linalg.det(a)


def _two(a: Any, i: int, j: int, k: int, l: int) -> Any:
    """The determinant of rows i, j and columns k, l."""
    return a[..., i, k] * a[..., j, l] - a[..., i, l] * a[..., j, k]
