"""Quadratures on the unit sphere: ∫ f dΩ/4π = Σ_q w_q f(Ω_q), exact for all Y_lm up to some l.

Points are vertices, edges and faces of regular bodies, weights are fractions, and Σ w_q = 1
(Mitáš, Shirley and Ceperley, J. Chem. Phys. 95, 3467 (1991)).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks

# Points of a rule → the largest l it integrates.
EXACT = {4: 2, 6: 3, 12: 5, 18: 5, 26: 7, 32: 9, 50: 11}
_GOLDEN = (1 + math.sqrt(5)) / 2


def sphere_rule(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions (points, 3) and weights (points,)."""
    checks.choice("quadrature", points, EXACT)
    shells = _SHELLS[points]()
    directions = [np.asarray(list(vertices), np.float64) for vertices, _ in shells]
    directions = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in directions]
    weights = [np.full(len(x), w) for x, (_, w) in zip(directions, shells, strict=True)]
    return np.concatenate(directions), np.concatenate(weights)


def _signed(*vector: float) -> list[tuple[float, ...]]:
    """All different changes of sign."""
    return list(dict.fromkeys(itertools.product(*([x, -x] if x else [0.0] for x in vector))))


def _cyclic(*vector: float) -> Iterable[tuple[float, ...]]:
    return (x[i:] + x[:i] for x in _signed(*vector) for i in range(3))


def _permuted(*vector: float) -> Iterable[tuple[float, ...]]:
    return dict.fromkeys(y for x in _signed(*vector) for y in itertools.permutations(x))


_AXES, _EDGES, _CORNERS = (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)
_SHELLS: dict[int, Any] = {
    4: lambda: [([x for x in _signed(*_CORNERS) if np.prod(x) > 0], 1 / 4)],
    6: lambda: [(_permuted(*_AXES), 1 / 6)],
    12: lambda: [(_cyclic(0.0, 1.0, _GOLDEN), 1 / 12)],
    18: lambda: [(_permuted(*_AXES), 1 / 30), (_permuted(*_EDGES), 1 / 15)],
    26: lambda: [
        (_permuted(*_AXES), 1 / 21),
        (_permuted(*_EDGES), 4 / 105),
        (_permuted(*_CORNERS), 27 / 840),
    ],
    32: lambda: [
        (_cyclic(0.0, 1.0, _GOLDEN), 5 / 168),
        ([*_signed(*_CORNERS), *_cyclic(0.0, _GOLDEN, 1 / _GOLDEN)], 27 / 840),
    ],
    50: lambda: [
        (_permuted(*_AXES), 4 / 315),
        (_permuted(*_EDGES), 64 / 2835),
        (_permuted(*_CORNERS), 27 / 1280),
        (_permuted(1.0, 1.0, 3.0), 14641 / 725760),
    ],
}


def random_rotations(key: Any, count: int) -> Any:
    """Matrices (count, 3, 3) of rotations, all equally likely: those of random quaternions."""
    q = jax.random.normal(key, (count, 4), jnp.float64)
    w, x, y, z = jnp.moveaxis(q / jnp.linalg.norm(q, axis=1, keepdims=True), 1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.moveaxis(jnp.stack([jnp.stack(row) for row in rows]), -1, 0)


def legendre(x: Any, lmax: int) -> list[Any]:
    """P_0(x) … P_lmax(x)."""
    values = [jnp.ones_like(x), x]
    for l in range(1, lmax):
        values.append(((2 * l + 1) * x * values[l] - l * values[l - 1]) / (l + 1))
    return values[: lmax + 1]
