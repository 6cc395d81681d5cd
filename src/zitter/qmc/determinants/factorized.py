"""Inverses and determinants of the same matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def inverse_and_determinant(matrix: Any) -> tuple[Any, Any, Any]:
    """(A⁻¹, det A/|det A|, ln|det A|) of square matrices (…, n, n) by one factorization PA = LU.

    Two would cost twice as much, and two batches of them that run at a time can wait for each
    other's threads for good on a CPU (`linalg.inverses`).
    """
    factors, pivots = jax.scipy.linalg.lu_factor(matrix)
    diagonal = jnp.diagonal(factors, axis1=-2, axis2=-1)
    swaps = jnp.sum(pivots != jnp.arange(matrix.shape[-1]), axis=-1)
    phase = jnp.prod(jnp.sign(diagonal), axis=-1) * (1 - 2 * (swaps % 2))
    log = jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1)
    unit = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    return jax.scipy.linalg.lu_solve((factors, pivots), unit), phase, log
