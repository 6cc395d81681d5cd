"""From one grid to another: a coarser Hamiltonian to start on, and its states on the finer grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.grid.scaling import in_same_box
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.spectral import Fourier, Spectral, along_axis
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import add, diagonal_of, parts_of

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


def interpolation(fine: Grid, coarse: Grid, axis: int) -> np.ndarray:
    """The matrix that takes values on one axis of `coarse` to that of `fine`, linearly.

    Beyond the last points ψ falls to zero over one spacing, or continues periodically.
    """
    x, known = fine.points(axis), coarse.points(axis)
    h, n = coarse.spacing[axis], coarse.shape[axis]
    place = (x - known[0]) / h
    left = np.floor(place).astype(int)
    matrix = np.zeros((len(x), n))
    for offset, weight in ((0, 1 - (place - left)), (1, place - left)):
        column = left + offset
        if fine.boundary == "periodic":
            matrix[np.arange(len(x)), column % n] += weight
        else:
            inside = (column >= 0) & (column < n)
            matrix[np.arange(len(x))[inside], column[inside]] += weight[inside]
    return matrix


def prolong(states: jax.Array, coarse: Grid, fine: Grid) -> jax.Array:
    """States (first axis: the state) of a coarse grid on a finer one, by linear interpolation."""
    for axis in range(fine.ndim):
        matrix = interpolation(fine, coarse, axis)
        states = along_axis(matrix, states, axis + 1)
    return states


def coarser(fine: Grid, operator: Operator) -> tuple[Grid, Operator, Callable[[Any], Any]]:
    """(a grid of about twice the spacing in the same box, H there with V interpolated, the way of
    its states back to the fine grid)."""
    edge = 0 if fine.boundary == "periodic" else 1
    coarse = in_same_box(fine, [(n + edge) // 2 - edge for n in fine.shape])
    values = diagonal_of(operator)
    for axis in range(fine.ndim):
        matrix = interpolation(coarse, fine, axis)
        # Rows at the boundary reach beyond the last point, where V is continued as a constant.
        values = along_axis(matrix / matrix.sum(axis=1, keepdims=True), values, axis)
    kept = [
        _on(coarse, fine, part) for part in parts_of(operator) if not isinstance(part, Diagonal)
    ]
    there = add([*kept, Diagonal(values, coarse.shape)])
    return coarse, there, lambda states: prolong(states, coarse, fine)


def _on(coarse: Grid, fine: Grid, part: Operator) -> Operator:
    """A kinetic energy on the coarse grid: −∇²/2m scales with h⁻²."""
    ratios = [(a / b) ** 2 for a, b in zip(fine.spacing, coarse.spacing, strict=True)]
    match part:
        case Stencil():
            scale = jnp.asarray(ratios, part.coefficients.dtype)[:, None]
            return Stencil(part.coefficients * scale, coarse.shape, part.periodic)
        case Spectral():
            masses = []
            for axis, symbol in enumerate(part.symbols):
                k = part.transform.wave_numbers(fine.shape[axis], fine.spacing[axis])
                masses.append(float(symbol[1]) / k[1] ** 2)
            waves = [
                part.transform.wave_numbers(n, h)
                for n, h in zip(coarse.shape, coarse.spacing, strict=True)
            ]
            symbols = [m * k**2 for m, k in zip(masses, waves, strict=True)]
            even = isinstance(part.transform, Fourier)
            return Spectral(part.transform, symbols, coarse.shape, even or part.even)
        case _:
            raise Unsupported(
                f"{type(part).__name__} has no coarser form: coarse_levels needs a kinetic energy "
                "of differences or of waves"
            )
