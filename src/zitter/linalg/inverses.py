"""Inverses of many matrices at a time."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from zitter import runtime


def inverses(matrices: jax.Array) -> jax.Array:
    """M⁻¹ of matrices (…, n, n), on a CPU one after another.

    There LAPACK gets a batch in parts, each of which waits for a thread: several batches in one
    program may hold all threads and wait for each other for good (JAX 0.10 and 0.11; the factors of
    spinors with |κ| ≤ 16 on two cores, within a minute). A matrix alone waits for nobody, and a
    loop over them takes as long.
    """
    now = runtime.settings()
    if matrices.ndim == 2 or now.device.platform != "cpu" or now.mesh is not None:
        return jnp.linalg.inv(matrices)
    each = matrices.reshape(-1, *matrices.shape[-2:])
    return jax.lax.map(jnp.linalg.inv, each).reshape(matrices.shape)
