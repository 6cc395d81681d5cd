"""Complex numbers as pairs of real ones, where a real matrix meets a complex state.

The matrix is the cost: it is read once, stays real, and meets both parts of the state as twice as
many real rows or columns.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def times_columns(matrix: jax.Array, columns: jax.Array) -> jax.Array:
    """matrix @ columns over the last two axes."""
    if not jnp.iscomplexobj(columns) or jnp.iscomplexobj(matrix):
        return matrix @ columns
    m = columns.shape[-1]
    parts = matrix @ jnp.concatenate([jnp.real(columns), jnp.imag(columns)], axis=-1)
    return jax.lax.complex(parts[..., :m], parts[..., m:])


def times_rows(rows: jax.Array, matrix: jax.Array) -> jax.Array:
    """rows @ matrix over the last two axes."""
    if not jnp.iscomplexobj(rows) or jnp.iscomplexobj(matrix):
        return rows @ matrix
    m = rows.shape[-2]
    parts = jnp.concatenate([jnp.real(rows), jnp.imag(rows)], axis=-2) @ matrix
    return jax.lax.complex(parts[..., :m, :], parts[..., m:, :])


def times_vector(matrix: jax.Array, vector: jax.Array) -> jax.Array:
    """matrix @ vector over the last axis."""
    return times_columns(matrix, vector[..., None])[..., 0]


def as_parts(vector: jax.Array) -> jax.Array:
    """(…, 1 or 2): the real and, where there is one, the imaginary part as columns."""
    if jnp.iscomplexobj(vector):
        return jnp.stack([jnp.real(vector), jnp.imag(vector)], axis=-1)
    return vector[..., None]


def joined(parts: jax.Array) -> jax.Array:
    """The inverse of `as_parts`."""
    if parts.shape[-1] == 2:
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    return parts[..., 0]


def stacked(matrix: jax.Array) -> jax.Array:
    """A complex matrix as (2a, b): its real part above its imaginary part."""
    return jnp.concatenate([jnp.real(matrix), jnp.imag(matrix)], axis=-2)


def stacked_product(matrix: jax.Array, columns: jax.Array) -> jax.Array:
    """A complex matrix, `stacked`, times m complex columns kept as (b, 2m): real parts, then
    imaginary ones."""
    parts = matrix @ columns
    a, m = parts.shape[-2] // 2, parts.shape[-1] // 2
    real = parts[..., :a, :m] - parts[..., a:, m:]
    imaginary = parts[..., :a, m:] + parts[..., a:, :m]
    return jnp.concatenate([real, imaginary], axis=-1)
