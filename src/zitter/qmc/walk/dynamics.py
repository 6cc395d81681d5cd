"""How steps are proposed and judged: plain Gaussian steps, and drift with diffusion."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp


class Dynamics(eqx.Module):
    """How a step is proposed and judged."""

    drifts: eqx.AbstractClassVar[bool]
    uniforms: ClassVar[int] = 0  # random numbers in (0, 1) it takes beside the noise

    @abc.abstractmethod
    def propose(self, old: Any, gradient: Any, noise: Any, uniform: Any = None) -> Any:
        """The new position from the old, ∇_i ln|Ψ| there (None without drift) and normal noise."""

    @abc.abstractmethod
    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio) -> Any:
        """ln of the Metropolis quotient, with log_ratio = ln|Ψ'/Ψ|."""

    def asymmetry(self, old: Any, new: Any) -> Any:
        """ln G(r ← r')/G(r' ← r) of places (d, …), for dynamics without drift."""
        return jnp.zeros(jnp.shape(old)[1:])


class GaussianSteps(Dynamics):
    """r' = r + σξ, accepted with |Ψ'/Ψ|²."""

    width: Any
    drifts: ClassVar[bool] = False

    def propose(self, old, gradient, noise, uniform=None):
        return old + self.width * noise

    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio):
        return 2 * log_ratio


class DriftDiffusion(Dynamics):
    """r' = r + τ v̄ + √τ ξ with the limited drift of Umrigar, Nightingale and Runge,

        v̄ = v (√(1 + 2 a v²τ) − 1)/(a v²τ),  a = 1      (J. Chem. Phys. 99, 2865),

    accepted with |Ψ'/Ψ|² G(r ← r')/G(r' ← r). Moves across a node are refused (fixed node).
    """

    timestep: Any
    drifts: ClassVar[bool] = True

    def drift(self, gradient):
        square = jnp.sum(gradient**2) * self.timestep
        # (√(1+2s) − 1)/s without cancellation for small s.
        return gradient * 2 / (jnp.sqrt(1 + 2 * square) + 1)

    def propose(self, old, gradient, noise, uniform=None):
        return old + self.timestep * self.drift(gradient) + jnp.sqrt(self.timestep) * noise

    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio):
        forward = new - old - self.timestep * self.drift(gradient_old)
        backward = old - new - self.timestep * self.drift(gradient_new)
        green = (jnp.sum(forward**2) - jnp.sum(backward**2)) / (2 * self.timestep)
        return 2 * log_ratio + green
