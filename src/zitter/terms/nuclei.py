"""Nuclei of finite size: the potential of a charge −Z·ρ(r) with a given charge radius.

`rms` is √⟨r²⟩ of the charge, about 0.836 A^{1/3} + 0.570 fm for a nucleus of A nucleons
(W. R. Johnson and G. Soff, At. Data Nucl. Data Tables 33, 405 (1985)).
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.hamiltonian import Contribution
from zitter.terms.potentials import OneBody

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(256)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1), 0.5 * _WEIGHTS


class _Nucleus(OneBody):
    """A spherical charge in the origin."""

    Z: eqx.AbstractVar[Any]
    rms: eqx.AbstractVar[Any]

    def discretize(self, basis: Basis) -> list[Contribution]:
        pieces = OneBody.discretize(self, basis)
        if not checks.is_traced(self):
            origin = np.zeros((1, basis.dimension))
            basis.check_nuclei([self.Z], origin, float(self.rms), self.central)
        return pieces

    def value(self, *coordinates):
        return self.central(jnp.sqrt(sum(x**2 for x in coordinates)))


class UniformNucleus(_Nucleus):
    """A sphere of constant charge: V = −(Z/2R)(3 − r²/R²) inside R = √(5/3) rms, −Z/r outside.

    Its size is the charge radius `rms` or, instead, `radius`, which is R.
    """

    Z: Any
    rms: Any

    def __init__(
        self, Z: float, rms: float | str | None = None, *, radius: float | str | None = None
    ):
        self.Z = checks.positive("Z", Z)
        if checks.only_one({"rms": rms, "radius": radius}, "rms") == "rms":
            self.rms = checks.positive("rms", rms, "length")
        else:
            self.rms = checks.positive("radius", radius, "length") / math.sqrt(5 / 3)

    @property
    def radius(self) -> Any:
        """R."""
        return math.sqrt(5 / 3) * self.rms

    def central(self, r):
        radius = self.radius
        outside = jnp.maximum(r, radius)
        inside = (3 - (jnp.minimum(r, radius) / radius) ** 2) / (2 * radius)
        return -self.Z * jnp.where(r < radius, inside, 1 / outside)


class FermiNucleus(_Nucleus):
    """ρ ∝ 1/(1 + e^{(r−c)/a}): a core of half-density radius c with a skin of `thickness` 4a ln 3.

    c follows from the charge radius, ⟨r²⟩ = (3c² + 7π²a²)/5 (F. A. Parpia and A. K. Mohanty,
    Phys. Rev. A 46, 3735 (1992)). The integrals of ρ are taken by Gauss–Legendre quadrature.
    """

    Z: Any
    rms: Any
    thickness: Any

    def __init__(self, Z: float, rms: float | str, thickness: float | str = "2.3 fm"):
        self.Z = checks.positive("Z", Z)
        self.rms = checks.positive("rms", rms, "length")
        self.thickness = checks.positive("thickness", thickness, "length")
        if not checks.is_traced(self.core) and not self.core > 0:
            raise checks.InputError(
                "thickness",
                f"must be below {1.182 * self.rms:.4g} for this rms, but is {thickness}",
            )

    @property
    def skin(self) -> Any:
        """a."""
        return self.thickness / (4 * math.log(3))

    @property
    def core(self) -> Any:
        """c."""
        square = (5 * self.rms**2 - 7 * math.pi**2 * self.skin**2) / 3
        return jnp.sqrt(square) if checks.is_traced(square) else math.sqrt(max(square, 0.0))

    def central(self, r):
        edge = self.core + 40 * self.skin  # no charge to double precision beyond

        def charge(start, end, power):
            """∫ s^power ρ ds."""
            width = jnp.asarray(end - start)[..., None]
            s = jnp.asarray(start)[..., None] + width * _NODES
            density = 1 / (1 + jnp.exp((s - self.core) / self.skin))
            return jnp.sum(_WEIGHTS * s**power * density, axis=-1) * width[..., 0]

        total, r_inside = charge(0.0 * edge, edge, 2), jnp.minimum(r, edge)
        # V = −(Z/N)[∫_0^r s²ρ ds/r + ∫_r^∞ sρ ds]
        near = charge(0.0 * r_inside, r_inside, 2) / jnp.where(r_inside > 0, r_inside, 1.0)
        inside = (near + charge(r_inside, edge + 0.0 * r_inside, 1)) / total
        return -self.Z * jnp.where(r < edge, inside, 1 / jnp.maximum(r, edge))
