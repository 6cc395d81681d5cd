"""cos and sin of many angles at once, as two polynomials on [−π/4, π/4].

Library functions treat angles of any size and one at a time; those of plane waves are moderate,
and both functions are always needed. The reduced angle is made in double, so that single precision
keeps its digits for large arguments. Rounding is that of the angle itself, |x|·1e-16.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

# π/2 as a double and what is missing from it.
_HIGH, _LOW = math.pi / 2, 6.123233995736766e-17
# Taylor series to y¹⁵ and y¹⁶: what follows is below 4e-18 at π/4.
_SINE = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]
_COSINE = [(-1) ** k / math.factorial(2 * k) for k in range(9)]


def cos_sin(angles: Any, dtype: Any = jnp.float64) -> tuple[Any, Any]:
    """(cos, sin) of angles in double, evaluated in `dtype`."""
    quarters = jnp.round(angles * (2 / math.pi))
    y = ((angles - quarters * _HIGH) - quarters * _LOW).astype(dtype)
    square = y * y
    s, c = y * _horner(_SINE, square), _horner(_COSINE, square)
    # cos and sin swap in odd quarters and change sign as they go round.
    place = (quarters - 4 * jnp.floor(quarters / 4)).astype(dtype)
    odd = (place == 1) | (place == 3)
    cosine, sine = jnp.where(odd, s, c), jnp.where(odd, c, s)
    cosine = jnp.where((place == 1) | (place == 2), -cosine, cosine)
    return cosine, jnp.where(place >= 2, -sine, sine)


def _horner(coefficients: list[float], x: Any) -> Any:
    total = jnp.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total
