"""A basis that the package has never heard of: orthonormal sinc functions on a line."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import zitter as zt
from zitter.bases.places import Places
from zitter.linalg.dense import Dense
from zitter.linalg.diagonal import Diagonal


class SincDVR(zt.Basis):
    """Orthonormal sinc functions at x_i = (i − (n−1)/2)h, ψ(x_i) = c_i/√h.

    T and p are those of D. T. Colbert and W. H. Miller, J. Chem. Phys. 96, 1982 (1992).
    """

    shape: tuple[int, ...] = eqx.field(static=True)
    spacing: float = eqx.field(static=True)
    orthonormal = True
    dimension = 1

    @property
    def x(self):
        return (np.arange(self.size) - (self.size - 1) / 2) * self.spacing

    @property
    def _steps(self):
        """i − j, one on the diagonal, and (−1)^{i−j} with zeros there."""
        steps = np.subtract.outer(np.arange(self.size), np.arange(self.size))
        return steps + np.eye(self.size), (-1.0) ** steps - np.eye(self.size)

    def inner(self, bra, ket):
        return jnp.vdot(bra, ket)

    def axes(self):
        return {"x": self.x}

    def places(self):
        return Places(("x",), (self.x,))

    def multiply(self, values):
        return Diagonal(jnp.broadcast_to(jnp.asarray(values), self.shape), self.shape)

    def kinetic(self, mass=1.0, order="spectral"):
        steps, signs = self._steps
        matrix = 2 * signs / steps**2 + np.eye(self.size) * np.pi**2 / 3
        return Dense(matrix / (2 * mass * self.spacing**2), self.shape)

    def position(self, unit):
        return self.multiply(unit[0] * self.x)

    def momentum(self, unit, order="spectral"):
        steps, signs = self._steps
        return Dense(-1j * unit[0] * signs / (steps * self.spacing), self.shape)

    def depths(self, width):
        end = self.x[-1] + self.spacing
        return [(np.clip((np.abs(self.x) - end + width) / width, 0.0, 1.0), self.spacing)]

    def mask_depths(self, width):
        return [depth for depth, _ in self.depths(width)]
