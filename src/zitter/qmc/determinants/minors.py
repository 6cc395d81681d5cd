"""Determinants of many small matrices, picked out of one.

D_I/D_0 = det T[h, p] for a determinant I that has orbitals p in place of the orbitals h of the
reference, T = A⁻¹Φ: as many rows and columns as electrons are excited, two for a double.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def slopes(T: Any, weights: Any, holes: Sequence[Any], particles: Sequence[Any]) -> tuple[Any, Any]:
    """Σ_s weights_s det T[h_s, p_s], and its derivative with respect to T."""
    total, pull = jax.vjp(lambda T: jnp.sum(weights * minors(T, holes, particles)), T)
    return total, pull(jnp.ones((), total.dtype))[0]


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
