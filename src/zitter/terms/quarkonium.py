"""Potentials between a heavy quark and its antiquark: Cornell, screened, and anisotropic.

Quark physics counts in GeV with ħ = c = 1 (lengths in 1/GeV, 0.1973 fm). The equations here know
no units: with a reduced mass μ = m_q/2 in GeV and lengths in 1/GeV, energies come out in GeV, and
the mass of a state is 2m_q + E. The −α/r at the origin is treated like a nucleus of charge α
(`zitter.terms.singularity`), so `mass` must be the one given to `Kinetic`.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.places import Places
from zitter.hamiltonian import Contribution
from zitter.terms.base import Term, unsupported
from zitter.terms.sampling import multiplication
from zitter.terms.singularity import regularized


class _AtTheOrigin(Term):
    """−α/r with a smooth core, plus a bounded remainder that the subclass gives."""

    moves: ClassVar[bool] = False
    alpha: Any
    mass: Any

    @abc.abstractmethod
    def remainder(self, x: Any, y: Any, z: Any) -> jax.Array:
        """V + α/r."""

    def discretize(self, basis: Basis) -> list[Contribution]:
        spacings = basis.lattice
        if basis.dimension != 3 or spacings is None:
            raise unsupported(self, basis, "it needs a grid in three dimensions")

        def sample(places: Places) -> jax.Array:
            x, y, z = (jnp.asarray(c) for c in places.of_particle(0))
            distance_squared = x**2 + y**2 + z**2
            alpha = jnp.asarray(self.alpha)
            core = regularized(alpha, distance_squared, max(spacings), self.mass)
            return core + self.remainder(x, y, z)

        return [multiplication(basis, sample)]


class Cornell(_AtTheOrigin):
    """V = −α/r + σr: one-gluon exchange and a string (Eichten et al., Phys. Rev. D 21, 203 (1980)).

    α is 4α_s/3, σ the string tension in GeV².
    """

    alpha: Any
    sigma: Any
    mass: Any

    def __init__(self, alpha: float, sigma: float, mass: float = 1.0):
        self.alpha = checks.positive("alpha", alpha)
        self.sigma = checks.non_negative("sigma", sigma)
        self.mass = checks.positive("mass", mass)

    def remainder(self, x, y, z):
        return self.sigma * jnp.sqrt(x**2 + y**2 + z**2)


class ScreenedCornell(_AtTheOrigin):
    """V = −(α/r) e^{−m_D r} + (σ/m_D)(1 − e^{−m_D r}), in a hot medium.

    F. Karsch, M. T. Mehr and H. Satz, Z. Phys. C 37, 617 (1988); m_D is the Debye mass. V(∞) is
    σ/m_D, and a state is bound where its energy lies below that.
    """

    alpha: Any
    sigma: Any
    debye_mass: Any
    mass: Any

    def __init__(self, alpha: float, sigma: float, debye_mass: float, mass: float = 1.0):
        self.alpha = checks.positive("alpha", alpha)
        self.sigma = checks.non_negative("sigma", sigma)
        self.debye_mass = checks.positive("debye_mass", debye_mass)
        self.mass = checks.positive("mass", mass)

    def remainder(self, x, y, z):
        return _screened(jnp.sqrt(x**2 + y**2 + z**2), self.alpha, self.sigma, self.debye_mass)


class AnisotropicCornell(_AtTheOrigin):
    """The screened potential in a plasma whose momenta are squeezed along z.

        V = −(α/r) e^{−μr} + (σ/μ)(1 − e^{−μr}),
        μ(θ) = m_D [1 − ξ (3 + cos 2θ)/16],      θ the angle between r and the z axis

    the form of A. Dumitru, Y. Guo, Á. Mócsy and M. Strickland, Phys. Rev. D 79, 054019 (2009), to
    first order in the anisotropy ξ ≥ 0 of the gluon momenta, without their small correction at
    large distance. At the same m_D states are bound more strongly, those along z most.
    """

    alpha: Any
    sigma: Any
    debye_mass: Any
    anisotropy: Any
    mass: Any

    def __init__(
        self,
        alpha: float,
        sigma: float,
        debye_mass: float,
        anisotropy: float,
        mass: float = 1.0,
    ):
        self.alpha = checks.positive("alpha", alpha)
        self.sigma = checks.non_negative("sigma", sigma)
        self.debye_mass = checks.positive("debye_mass", debye_mass)
        self.anisotropy = checks.non_negative("anisotropy", anisotropy)
        self.mass = checks.positive("mass", mass)
        if not checks.is_traced(self.anisotropy) and self.anisotropy >= 4:
            raise checks.InputError(
                "anisotropy",
                "must be below 4, where the screening along z vanishes to first order, "
                f"but is {checks.as_given(anisotropy)}",
            )

    def remainder(self, x, y, z):
        square = x**2 + y**2 + z**2
        r = jnp.sqrt(square)
        # cos 2θ = 2 z²/r² − 1; at the origin any direction will do.
        cos_squared = jnp.where(square > 0, z**2 / jnp.where(square > 0, square, 1.0), 1 / 3)
        mu = self.debye_mass * (1 - self.anisotropy * (2 + 2 * cos_squared) / 16)
        return _screened(r, self.alpha, self.sigma, mu)


def _screened(r: jax.Array, alpha: Any, sigma: Any, mu: Any) -> jax.Array:
    """α(1 − e^{−μr})/r + (σ/μ)(1 − e^{−μr}), finite at r = 0."""
    part = -jnp.expm1(-mu * r)
    near = r < 1e-12
    ratio = jnp.where(near, mu, part / jnp.where(near, 1.0, r))
    return alpha * ratio + sigma / mu * part


def quarkonium_masses(energies: Any, quark_mass: float) -> np.ndarray:
    """M = 2m_q + E for each level, in the units of the input (GeV)."""
    return 2 * float(checks.positive("quark_mass", quark_mass)) + np.asarray(energies)
