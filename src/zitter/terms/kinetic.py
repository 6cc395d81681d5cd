"""Kinetic energy −∇²/2m and momentum −i∇, on every basis that has them."""

from __future__ import annotations

from typing import Any, Literal

import equinox as eqx
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.bases.spinor.basis import SpinorBasis
from zitter.hamiltonian import Contribution
from zitter.linalg.base import Operator
from zitter.linalg.spectral import Fourier, PaddedMomentum, Sine, Spectral
from zitter.linalg.stencil import Stencil, first_derivative, second_derivative
from zitter.terms.atomic import radial_blocks
from zitter.terms.base import Term, unsupported

Order = Literal["spectral", 2, 4, 6, 8]
ORDERS = ("spectral", 2, 4, 6, 8)


class Kinetic(Term):
    """T = −∇²/(2m).

    On grids `order` is "spectral" (plane waves on a periodic grid, sines on one with zero
    boundary: errors fall faster than any power of the spacing) or the order 2, 4, 6, 8 of a
    central finite difference.
    """

    mass: Any
    order: Order = eqx.field(static=True)

    def __init__(self, mass: float | str = 1.0, order: Order = "spectral"):
        self.mass = checks.positive("mass", mass, "mass")
        self.order = checks.choice("order", order, ORDERS)

    def discretize(self, basis: Basis) -> list[Contribution]:
        match basis:
            case Grid():
                return [self._on_grid(basis)]
            case SphericalBasis():
                return [self._on_spherical(basis)]
            case SpinorBasis():
                raise unsupported(self, basis, "use Dirac()")
            case EigenBasis():
                raise unsupported(self, basis, "use FieldFree(), which stands for the whole atom")
            case _:
                raise unsupported(self, basis)

    def _on_spherical(self, basis: SphericalBasis) -> Operator:
        """½ ∫ B′B′ dr + l(l+1)/2r² in each channel."""
        radial, l = basis.radial, basis.l[:, None, None]
        centrifugal = radial.matrix(lambda r: 0.5 / r**2)
        bands = 0.5 * radial.matrix(1.0, 1, 1) + l * (l + 1) * centrifugal
        return radial_blocks(basis, bands / self.mass)

    def _on_grid(self, grid: Grid) -> Operator:
        periodic = grid.boundary == "periodic"
        if self.order == "spectral":
            transform = Fourier() if periodic else Sine()
            waves = [
                transform.wave_numbers(n, h) for n, h in zip(grid.shape, grid.spacing, strict=True)
            ]
            symbols = [k**2 / (2 * self.mass) for k in waves]
            return Spectral(transform, symbols, grid.shape, even=True)
        _check_width(grid, self.order)
        weights = second_derivative(self.order)
        rows = np.stack([weights / h**2 for h in grid.spacing])
        return Stencil(-rows / (2 * self.mass), grid.shape, periodic)


def momentum(grid: Grid, directions: np.ndarray, order: Order) -> Operator:
    """d·p = −i d·∇ with one weight for each grid axis, in the same discretization as `Kinetic`."""
    periodic = grid.boundary == "periodic"
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
