"""Steps near nuclei: of VMC in proportion to the distance, of DMC with care for the cusp.

Around a nucleus electrons move on the scale of their distance from it: steps that suit valence
electrons are refused in the core, where walkers then stay for a hundred sweeps. So VMC proposes

    r' = r + s(r) ξ,   s(r) = w min_I √(a_I² + |r − R_I|²),   a_I = 1/Z_I (2 at pseudopotentials),

accepted with |Ψ'/Ψ|² G(r ← r')/G(r' ← r), where G is the Gaussian of width s at its start.

DMC drifts and diffuses as Umrigar, Nightingale and Runge say (J. Chem. Phys. 99, 2865). With z the
distance to the nearest bare nucleus, of charge Z, and v = ∇ln|Ψ|,

    v̄ = v (√(1 + 2 a v²τ) − 1)/(a v²τ),   a = ½(1 + v̂·ẑ) + Z²z²/(10(4 + Z²z²)),

the electron drifts in cylindrical coordinates around the nucleus, z'' = max(z + v̄_z τ, 0) and
ρ'' = 2 v̄_ρ τ z''/(z + z''), which does not overshoot it. With the probability that diffusion alone
would carry it across, q = ½ erfc((z + v̄_z τ)/√(2τ)), its new place comes from (ζ³/π) e^{−2ζ|r'−R|},
ζ = √(Z² + 1/τ), which has the cusp of Ψ; else from a Gaussian around r''.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from zitter.qmc.cells import Cell, squared
from zitter.qmc.systems import System
from zitter.qmc.walk.dynamics import DriftDiffusion, Dynamics, GaussianSteps

VALENCE = 2.0  # bohr: the size of a pseudopotential's shell of electrons


class NuclearSteps(Dynamics):
    """Steps in proportion to the distance to the nearest nucleus, and to its size within that."""

    width: Any
    sizes: Any  # (nuclei,) a
    positions: Any  # (nuclei, 3)
    cell: Cell | None
    drifts: ClassVar[bool] = False

    def propose(self, old, gradient, noise, uniform=None):
        return old + self._width_at(old) * noise

    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio):
        return 2 * log_ratio + self.asymmetry(old, new)

    def asymmetry(self, old, new):
        here, there = self._width_at(old), self._width_at(new)
        square = jnp.sum((new - old) ** 2, axis=0)
        return 3 * jnp.log(here / there) + 0.5 * square * (1 / here**2 - 1 / there**2)

    def _width_at(self, r: Any) -> Any:
        """s(r) of places r (3, …)."""
        places = jnp.asarray(self.positions).T
        parts = [x[..., None] - p for x, p in zip(r, places, strict=True)]
        if self.cell is not None:
            parts = self.cell.nearest(parts)
        nearest = jnp.min(squared(parts) + jnp.asarray(self.sizes) ** 2, axis=-1)
        return self.width * jnp.sqrt(nearest)


class _Aim(NamedTuple):
    """Where an electron would go without diffusion, and how near the nucleus that is."""

    nucleus: Any  # R (3,)
    place: Any  # r''
    zeta: Any
    across: Any  # q


class NuclearDriftDiffusion(Dynamics):
    """Drift, diffusion, and a share of moves drawn around the nearest of the bare nuclei."""

    timestep: Any
    charges: Any  # (nuclei,)
    positions: Any  # (nuclei, 3)
    cell: Cell | None
    drifts: ClassVar[bool] = True
    uniforms: ClassVar[int] = 4

    def propose(self, old, gradient, noise, uniform=None):
        assert uniform is not None
        aim = self._aim(old, gradient)
        radius = -jnp.sum(jnp.log(uniform[1:])) / (2 * aim.zeta)
        around = aim.nucleus + radius * noise / jnp.sqrt(jnp.sum(noise**2))
        diffused = aim.place + jnp.sqrt(self.timestep) * noise
        return jnp.where(uniform[0] < aim.across, around, diffused)

    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio):
        forward = self._log_density(self._aim(old, gradient_old), new)
        backward = self._log_density(self._aim(new, gradient_new), old)
        return 2 * log_ratio + backward - forward

    def _aim(self, r: Any, gradient: Any) -> _Aim:
        tau = self.timestep
        parts = [x - p for x, p in zip(r, jnp.asarray(self.positions).T, strict=True)]
        if self.cell is not None:
            parts = self.cell.nearest(parts)
        distances = jnp.sqrt(squared(parts))
        nearest = jnp.argmin(distances)
        z, charge = distances[nearest], jnp.asarray(self.charges)[nearest]
        away = jnp.stack(parts)[:, nearest]
        axis = away / z
        speed = jnp.sqrt(jnp.sum(gradient**2))
        cosine = gradient @ axis / jnp.where(speed > 0, speed, 1.0)
        scaled = (charge * z) ** 2
        a = 0.5 * (1 + cosine) + scaled / (10 * (4 + scaled))
        drift = gradient * 2 / (jnp.sqrt(1 + 2 * a * speed**2 * tau) + 1)
        along = drift @ axis
        aside = drift - along * axis
        there = jnp.maximum(z + along * tau, 0.0)
        place = there * axis + 2 * tau * there / (z + there) * aside
        across = 0.5 * jax.scipy.special.erfc((z + along * tau) / jnp.sqrt(2 * tau))
        nucleus = r - away
        return _Aim(nucleus, nucleus + place, jnp.sqrt(charge**2 + 1 / tau), across)

    def _log_density(self, aim: _Aim, new: Any) -> Any:
        """ln of the density at which `new` is proposed."""
        tau = self.timestep
        diffused = -jnp.sum((new - aim.place) ** 2) / (2 * tau) - 1.5 * jnp.log(2 * jnp.pi * tau)
        distance = jnp.sqrt(jnp.sum((new - aim.nucleus) ** 2))
        around = 3 * jnp.log(aim.zeta) - jnp.log(jnp.pi) - 2 * aim.zeta * distance
        return jnp.logaddexp(jnp.log1p(-aim.across) + diffused, jnp.log(aim.across) + around)


def drift_diffusion(system: System, timestep: Any) -> Dynamics:
    """The dynamics of DMC in a system: with care for bare nuclei, where there are any."""
    nuclei = system.nuclei
    bare = nuclei.bare
    if system.dimension != 3 or not bare.any():
        return DriftDiffusion(timestep)
    return NuclearDriftDiffusion(
        timestep, nuclei.charges[bare], nuclei.positions[bare], system.cell
    )


def steps(system: System, width: Any) -> Dynamics:
    """The dynamics of VMC in a system.

    Without bare nuclei there are no cores, and steps of one width suit all electrons.
    """
    nuclei = system.nuclei
    if system.dimension != 3 or not nuclei.bare.any():
        return GaussianSteps(width)
    sizes = jnp.where(nuclei.bare, 1 / jnp.asarray(nuclei.charges), VALENCE)
    return NuclearSteps(width, sizes, nuclei.positions, system.cell)
