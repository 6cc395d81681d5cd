"""Cosine and sine of many angles at once.

XLA computes them one by one in double precision on CPUs, which would be a third of a step. Here
x = qπ/2 + r with |r| ≤ π/4, π/2 in three parts (Cody & Waite, Software Manual for the Elementary
Functions (1980)), and Taylor's series to below 1e-17: sums of products only.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from zitter import runtime

# π/2 in parts: q times each of the first two is exact for |q| < 2²⁰.
_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)


@jax.custom_jvp
def cos_sin(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(cos x, sin x) to rounding, for |x| < 10⁵ on CPUs."""
    if x.dtype != jnp.float64 or not runtime.on_host():
        return jnp.cos(x), jnp.sin(x)
    q = jnp.round(x * (2 / math.pi))
    for part in _PARTS:
        x = x - q * part
    square = x * x
    cosine, sine = _series(square, 16), x * _series(square, 17)
    q = q - 4 * jnp.round(0.25 * q)  # −2 … 2
    odd = jnp.abs(q) == 1
    cosine, sine = jnp.where(odd, sine, cosine), jnp.where(odd, cosine, sine)
    turned = jnp.abs(q) == 2
    return (
        jnp.where(turned | (q == 1), -cosine, cosine),
        jnp.where(turned | (q == -1), -sine, sine),
    )


@cos_sin.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    cosine, sine = cos_sin(*primals)
    (change,) = tangents
    return (cosine, sine), (-sine * change, cosine * change)


def _series(square: jax.Array, last: int) -> jax.Array:
    """Σ (−x²)ᵏ k₀!/(2k + k₀)! up to xˡᵃˢᵗ, with k₀ = 0 or 1 by its parity."""
    powers = range(last, last % 2 - 1, -2)
    total: Any = 0.0
    for power in powers:
        total = total * square + (-1) ** (power // 2) / math.factorial(power)
    return total
