"""From one grid to another: a coarser Hamiltonian to start on, and its states on the finer grid."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.grid.basis import Grid
from zitter.eigensolvers.separable import potential_of
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.spectral import Fourier, Spectral, along_axis
from zitter.linalg.stencil import Stencil
from zitter.linalg.sums import Sum, add


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


def coarser(H: Hamiltonian) -> Hamiltonian:
    """H on a grid of about twice the spacing in the same box; V is interpolated."""
    fine = H.basis
    assert isinstance(fine, Grid)
    edge = 0 if fine.boundary == "periodic" else 1
    shape = tuple((n + edge) // 2 - edge for n in fine.shape)
    spacing = [
        h * (n + edge) / (m + edge) for h, n, m in zip(fine.spacing, fine.shape, shape, strict=True)
    ]
    center = [
        c if edge else c + 0.5 * (s - h)
        for c, s, h in zip(fine.center, spacing, fine.spacing, strict=True)
    ]
    coarse = Grid(shape, spacing, fine.boundary, center=center, particles=fine.particles)
    values = potential_of(H)
    for axis in range(fine.ndim):
        matrix = interpolation(coarse, fine, axis)
        # Rows at the boundary reach beyond the last point, where V is continued as a constant.
        values = along_axis(matrix / matrix.sum(axis=1, keepdims=True), values, axis)
    operator = H.operator
    parts = operator.parts if isinstance(operator, Sum) else (operator,)
    kept = [_on(coarse, fine, part) for part in parts if not isinstance(part, Diagonal)]
    return Hamiltonian(coarse, add([*kept, Diagonal(values, shape)]))


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
            return part
