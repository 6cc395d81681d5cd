"""Derivatives, positions and ends of a grid.

T = −∇²/2m and p = −i∇ are "spectral" (plane waves on a periodic grid, sines on one with zero
boundary: errors fall faster than any power of the spacing) or central differences of order 2, 4, 6
or 8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from zitter import checks
from zitter.bases.base import check_something_outside
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.spectral import Fourier, PaddedMomentum, Sine, Spectral
from zitter.linalg.stencil import Stencil, first_derivative, second_derivative

if TYPE_CHECKING:
    from zitter.bases.grid.basis import Grid


def kinetic(grid: Grid, mass: Any, order: Any) -> Operator:
    """−∇²/2m of all particles."""
    periodic = grid.boundary == "periodic"
    if order == "spectral":
        transform = Fourier() if periodic else Sine()
        waves = [
            transform.wave_numbers(n, h) for n, h in zip(grid.shape, grid.spacing, strict=True)
        ]
        symbols = [k**2 / (2 * mass) for k in waves]
        return Spectral(transform, symbols, grid.shape, even=True)
    _check_width(grid, order)
    weights = second_derivative(order)
    rows = np.stack([weights / h**2 for h in grid.spacing])
    return Stencil(-rows / (2 * mass), grid.shape, periodic)


def momentum(grid: Grid, unit: Any, order: Any) -> Operator:
    """u·p = −i u·∇ summed over the particles, in the same discretization as `kinetic`."""
    directions, periodic = np.tile(unit, grid.particles), grid.boundary == "periodic"
    if order != "spectral":
        _check_width(grid, order)
        weights = first_derivative(order)
        rows = np.stack([d * weights / h for d, h in zip(directions, grid.spacing, strict=True)])
        return Stencil(-1j * rows, grid.shape, periodic)
    if not periodic:
        return PaddedMomentum(directions, grid.spacing, grid.shape)
    symbols = []
    for d, n, h in zip(directions, grid.shape, grid.spacing, strict=True):
        k = Fourier().wave_numbers(n, h)
        if n % 2 == 0:
            k[n // 2] = 0.0  # the Nyquist wave has no partner of opposite sign
        symbols.append(d * k)
    return Spectral(Fourier(), symbols, grid.shape)


def _check_width(grid: Grid, order: int) -> None:
    if min(grid.shape) <= order:
        raise checks.InputError(
            "order", f"must be below the number of points ({min(grid.shape)}), but is {order}"
        )


def position(grid: Grid, unit: Any) -> Diagonal:
    """u·r summed over the particles."""
    values: Any = np.zeros((1,) * grid.ndim)
    for particle in range(grid.particles):
        for u, x in zip(unit, grid.coordinates(particle), strict=True):
            # Along one axis the values are one row: what is zero must not fill the whole grid.
            values = values + u * x if u != 0 else values
    return Diagonal(values, grid.shape)


def depths(grid: Grid, width: float) -> list[tuple[np.ndarray, float]]:
    """For each axis 0 outside the absorber, rising to 1 one spacing beyond the end of the grid."""
    found = []
    for axis, (n, h) in enumerate(zip(grid.shape, grid.spacing, strict=True)):
        if 2 * width >= n * h:
            raise checks.InputError(
                "width", f"must be below half the box ({n * h / 2:g} bohr), but is {width:g}"
            )
        x = grid.points(axis)
        edge = np.maximum(x[0] - h + width - x, x - (x[-1] + h - width)) / width
        shape = [-1 if a == axis else 1 for a in range(grid.ndim)]
        found.append((np.clip(edge, 0.0, 1.0).reshape(shape), h))
    return found


def sphere(grid: Grid, radius: float) -> Diagonal:
    """1 where all particles are within `radius` of the middle of the box."""
    every = []
    for particle in range(grid.particles):
        center = grid.center[particle * grid.dimension : (particle + 1) * grid.dimension]
        places = zip(grid.coordinates(particle), center, strict=True)
        every.append([(x - c) ** 2 for x, c in places])
    farthest = max(math.sqrt(sum(float(square.max()) for square in squares)) for squares in every)
    check_something_outside(radius, farthest)  # first: of what passes the square is a number
    inside = np.ones((1,) * grid.ndim, bool)
    for squares in every:
        inside = inside & (sum(squares[1:], squares[0]) <= radius**2)
    # As truth values: a program has it as a constant, of an eighth of the size of numbers.
    return Diagonal(inside, grid.shape)
