"""A wave function given by its logarithm alone; everything else follows by differentiation.

    ∇lnΨ by reverse mode        ∇²Ψ/Ψ = Σ [∂² lnΨ + (∂ lnΨ)²] over all coordinates, forward over it

Every ratio evaluates Ψ anew, so a sweep costs N evaluations with their gradients: the way to try an
idea, or to check a faster form of it.
"""

from __future__ import annotations

import abc
from typing import Any

import jax
import jax.numpy as jnp

from zitter.qmc.wavefunction import Block, Ratio, Seat, Walker, Wavefunction


class PlainWalker(Walker):
    """Positions, and Ψ there."""

    r: Any
    phase: Any
    log: Any


class PlainWavefunction(Wavefunction):
    """Ψ by `log_psi(r)`; a subclass also has `system`, `parameters` and `with_parameters`.

    It may depend on its parameters in any way that JAX can differentiate.
    """

    @abc.abstractmethod
    def log_psi(self, r: Any) -> Any:
        """ln Ψ of positions r (d, N): complex numbers where Ψ changes sign or is complex."""

    def start(self, r, dtype=jnp.float64):
        value = self.log_psi(r)
        phase = jnp.exp(1j * jnp.imag(value))
        return PlainWalker(r, phase if self.is_complex else jnp.real(phase), jnp.real(value))

    def derivatives(self, walker, dtype=jnp.float64):
        r = walker.r
        slope = lambda x: self._slope(self.log_psi, x.reshape(r.shape)).ravel()  # noqa: E731
        flat = r.ravel()
        along = lambda axis: jax.jvp(slope, (flat,), (axis,))[1] @ axis  # noqa: E731
        gradient = slope(flat)
        second = jnp.sum(jax.vmap(along)(jnp.eye(flat.size)))
        return gradient.reshape(r.shape), second + jnp.sum(gradient**2)

    def over_blocks(self, body, carry, walkers):
        """One electron after another: blocks of one."""
        up = self.system.spins[0]

        def block(state, electron):
            spin = (electron >= up).astype(jnp.int32)
            inside = electron - jnp.where(spin == 0, 0, up)
            here = Block(spin, inside, electron[None], jnp.ones(1, bool))
            carry, walkers = state
            return body(carry, walkers, here), None

        return jax.lax.scan(block, (carry, walkers), jnp.arange(self.system.electrons))[0]

    def open(self, walker, block):
        return walker

    def alone(self, walker, electron):
        spin = (jnp.asarray(electron) >= self.system.spins[0]).astype(jnp.int32)
        return walker, Seat(0, electron, spin)

    def gradient(self, opened, seat, dtype=jnp.float64):
        here = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
        return jnp.real(self._slope(self._with_electron(opened, seat), here))

    def ratio(self, opened, seat, new, gradient, dtype=jnp.float64):
        moved = self._with_electron(opened, seat)
        after = self.start(opened.r.at[:, seat.electron].set(new))
        slope = jnp.real(self._slope(moved, new)) if gradient else None
        return Ratio(after.phase / opened.phase, after.log - opened.log, slope, after)

    def ratios(self, opened, seat, points, dtype=jnp.float64):
        one = lambda new: self.ratio(opened, seat, new, False)  # noqa: E731
        found = jax.vmap(one, in_axes=1)(points)
        return found.phase * jnp.exp(found.log)

    def accept(self, opened, seat, new, ratio, accepted):
        return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), ratio.news, opened)

    def close(self, walker, opened, block):
        return opened

    @property
    def moves_together(self) -> bool:
        return False

    def keep(self, walker, ratios, dtype=jnp.float64):
        return walker.r

    def recall(self, kept, dtype=jnp.float64):
        return self.start(kept)

    def __repr__(self) -> str:
        up, down = self.system.spins
        kind = type(self.system).__name__
        count = jnp.size(self.parameters)
        return f"{type(self).__name__} of {up} + {down} electrons ({kind}), {count} parameters"

    def _with_electron(self, walker: Any, seat: Seat) -> Any:
        """ln Ψ as a function of the position of one electron."""
        return lambda point: self.log_psi(walker.r.at[:, seat.electron].set(point))

    def _slope(self, function: Any, x: Any) -> Any:
        """The gradient of ln Ψ; the phase of a real Ψ has none."""
        real = jax.grad(lambda x: jnp.real(function(x)))(x)
        if not self.is_complex:
            return real
        return real + 1j * jax.grad(lambda x: jnp.imag(function(x)))(x)
