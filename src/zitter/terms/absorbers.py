"""Absorbing boundaries: a complex potential in H, or a mask after each step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.eigen.basis import EigenBasis
from zitter.bases.grid.basis import Grid
from zitter.bases.spherical.basis import SphericalBasis
from zitter.hamiltonian import Absorbing, Contribution, Mask
from zitter.linalg.bands import banded_product
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.channel_matrices import ChannelMatrices
from zitter.linalg.diagonal import Diagonal
from zitter.terms.atomic import radial_blocks
from zitter.terms.base import Term, unsupported


def _depth(grid: Grid, width: float) -> list[np.ndarray]:
    """For each axis 0 outside the absorber, rising to 1 one spacing beyond the end of the grid."""
    depths = []
    for axis, (n, h) in enumerate(zip(grid.shape, grid.spacing, strict=True)):
        if 2 * width >= n * h:
            raise checks.InputError(
                "width", f"must be below half the box ({n * h / 2:g} bohr), but is {width:g}"
            )
        x = grid.points(axis)
        edge = np.maximum(x[0] - h + width - x, x - (x[-1] + h - width)) / width
        shape = [-1 if a == axis else 1 for a in range(grid.ndim)]
        depths.append(np.clip(edge, 0.0, 1.0).reshape(shape))
    return depths


def _radial_depth(basis: SphericalBasis, width: float, r: np.ndarray) -> np.ndarray:
    """0 up to rmax − width, rising to 1 at rmax."""
    rmax = basis.radial.rmax
    if width >= rmax or basis.radial.scaling is not None:
        raise checks.InputError(
            "width", f"must be below rmax ({rmax:g}) on a real coordinate, but is {width:g}"
        )
    return np.clip((r - (rmax - width)) / width, 0.0, 1.0)


class ComplexAbsorber(Term):
    """The transmission-free absorbing potential of Manolopoulos, J. Chem. Phys. 117, 9552 (2002).

        V = −i E_min y(x),   y(x) = ax − bx³ + 4/(c−x)² − 4/(c+x)²,   0 ≤ x < c = 2.62206
        a = 1 − 16/c³,  b = (1 − 17/c³)/c²,  E_min = k_min²/2m,  k_min = c/(2δ·width)

    Waves with k ≥ k_min are absorbed, with reflection below about 1 % for δ = 0.2. The rise to
    infinity at the edge is cut at 1/(2mh²), the scale of the largest kinetic energy. `mass` is that
    of the particle, as in `Kinetic`.
    """

    width: Any
    delta: Any
    mass: Any

    def __init__(self, width: float | str, delta: float = 0.2, mass: float | str = 1.0):
        self.width = checks.positive("width", width, "length")
        self.delta = checks.positive("delta", delta)
        self.mass = checks.positive("mass", mass, "mass")

    def discretize(self, basis: Basis) -> list[Contribution]:
        if isinstance(basis, SphericalBasis):
            points, last = basis.radial.points, np.diff(basis.radial.knots).max()
            values = self._strength(_radial_depth(basis, self.width, points), last)
            return [Absorbing(radial_blocks(basis, basis.radial.matrix(-1j * values), False))]
        if isinstance(basis, EigenBasis):
            return [Absorbing(ChannelMatrices(self._between_states(basis), -1j))]
        if not isinstance(basis, Grid):
            raise unsupported(self, basis)
        total = np.zeros((1,) * basis.ndim)
        for depth, h in zip(_depth(basis, self.width), basis.spacing, strict=True):
            total = total + self._strength(depth, h)
        return [Absorbing(Diagonal(-1j * total, basis.shape))]

    def _between_states(self, basis: EigenBasis) -> jax.Array:
        """⟨li|W|lj⟩ of the potential −iW, from the states' radial functions."""
        if basis.parent is None or basis.vectors is None:
            raise unsupported(self, basis, "the states were read without their radial functions")
        [piece] = self.discretize(basis.parent)
        assert isinstance(piece, Absorbing) and isinstance(piece.operator, RadialBlocks)
        images = jax.vmap(lambda bands, rows: banded_product(bands, rows.T).T)(
            -jnp.imag(piece.operator.bands), basis.vectors
        )
        return jnp.einsum("lin,lim->lnm", basis.vectors, images)

    def _strength(self, depth: np.ndarray, h: float) -> np.ndarray:
        """E_min y at a depth of 0 … 1, cut at the scale that the spacing h can carry."""
        c = 2.62206
        a, b = 1 - 16 / c**3, (1 - 17 / c**3) / c**2
        energy = (c / (2 * self.delta * self.width)) ** 2 / (2 * self.mass)
        x = c * np.minimum(depth, 1 - 1e-9)
        y = a * x - b * x**3 + 4 / (c - x) ** 2 - 4 / (c + x) ** 2
        return np.minimum(energy * y, 1 / (2 * self.mass * h**2))


class MaskAbsorber(Term):
    """ψ is multiplied by M(x)^{Δt/τ} after each step, where, in the outer
    `width`, M = cos(π·depth/2)^power and the depth goes from 0 to 1.

    `per` is τ, so that the absorption does not depend on the time step.
    """

    width: Any
    power: Any
    per: Any

    def __init__(self, width: float | str, power: float = 0.125, per: float | str = 0.1):
        self.width = checks.positive("width", width, "length")
        self.power = checks.positive("power", power)
        self.per = checks.positive("per", per, "time")

    def discretize(self, basis: Basis) -> list[Contribution]:
        if isinstance(basis, SphericalBasis):
            # The mask acts on coefficients, each at the centre of its spline.
            depth = _radial_depth(basis, self.width, basis.radial.centers)
            logs = self.power * np.log(np.cos(0.5 * np.pi * np.minimum(depth, 0.999)))
            return [Mask(jnp.asarray(logs / self.per))]
        if isinstance(basis, EigenBasis):
            raise unsupported(
                self, basis, "a mask is a factor at each r; take ComplexAbsorber, which acts in H"
            )
        if not isinstance(basis, Grid):
            raise unsupported(self, basis)
        logs = [self.power * np.log(np.cos(0.5 * np.pi * d)) for d in _depth(basis, self.width)]
        return [Mask(jnp.asarray(sum(logs[1:], logs[0]) / self.per))]
