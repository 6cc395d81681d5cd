"""One sweep: every electron of every walker is offered one move, block by block.

All walkers move the same electron at the same time, so one compiled scan over moves serves them
all, and nothing in it waits for the host.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc.jastrow import Move
from zitter.qmc.slater import replace_row
from zitter.qmc.wavefunction import SlaterJastrow, Walker


class Tally(NamedTuple):
    """Sums over the moves of one sweep, for each walker."""

    accepted: Any  # accepted moves
    crossed: Any  # moves refused because they cross a node
    diffused: Any  # Σ of squared diffusive steps
    diffused_accepted: Any  # the same, each times its probability of acceptance


class Dynamics(eqx.Module):
    """How a step is proposed and judged."""

    drifts: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def propose(self, old: Any, gradient: Any, noise: Any) -> Any:
        """The new position from the old, ∇_i ln|Ψ| there (None without drift) and normal noise."""

    @abc.abstractmethod
    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio) -> Any:
        """ln of the Metropolis quotient, with log_ratio = ln|Ψ'/Ψ|."""


class GaussianSteps(Dynamics):
    """r' = r + σξ, accepted with |Ψ'/Ψ|²."""

    width: Any
    drifts: ClassVar[bool] = False

    def propose(self, old, gradient, noise):
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

    def propose(self, old, gradient, noise):
        return old + self.timestep * self.drift(gradient) + jnp.sqrt(self.timestep) * noise

    def log_acceptance(self, old, new, gradient_old, gradient_new, log_ratio):
        forward = new - old - self.timestep * self.drift(gradient_old)
        backward = old - new - self.timestep * self.drift(gradient_new)
        green = (jnp.sum(forward**2) - jnp.sum(backward**2)) / (2 * self.timestep)
        return 2 * log_ratio + green


def sweep(
    psi: SlaterJastrow, dynamics: Dynamics, walkers: Walker, key: Any, dtype: Any = jnp.float64
) -> tuple[Walker, Tally]:
    """Offer each electron of each walker one move."""
    slater = psi.slater
    count, dimension = walkers.r.shape[0], walkers.r.shape[1]
    k = slater.delay

    def block(carry, entry):
        walkers, tally, key = carry
        spin, first, done = entry
        key, noise_key, chance_key = jax.random.split(key, 3)
        noise = jax.random.normal(noise_key, (k, count, dimension), jnp.float64)
        chance = jax.random.uniform(chance_key, (k, count), jnp.float64, 1e-300, 1.0)
        electrons, exists = slater.electrons_of_block(first, spin)
        allowed = exists & (jnp.arange(k) >= done)
        slabs = jax.vmap(lambda m: slater.open_block(m, spin, first))(walkers.inverse)
        rows = jnp.zeros((count, k, slater.orbitals.count), slater.dtype)
        accepted = jnp.zeros((count, k), bool)

        def offer(carry, entry):
            walkers, slabs, rows, accepted, tally = carry
            place, electron, may, noise, chance = entry
            one = lambda w, s, n, c: _offer(  # noqa: E731
                psi, dynamics, w, s, place, electron, spin, may, n, c, dtype
            )
            r, phase, log, memory, slabs, row, accept, this = jax.vmap(one)(
                walkers, slabs, noise, chance
            )
            walkers = Walker(r, walkers.inverse, phase, log, memory)
            rows = jax.lax.dynamic_update_index_in_dim(rows, row, place, 1)
            accepted = jax.lax.dynamic_update_index_in_dim(accepted, accept, place, 1)
            tally = jax.tree.map(jnp.add, tally, this)
            return (walkers, slabs, rows, accepted, tally), None

        # The inverses stay out of the inner loop's carry: it neither reads nor writes them.
        inverse = walkers.inverse
        light = Walker(walkers.r, None, walkers.phase, walkers.log, walkers.memory)
        entries = (jnp.arange(k), electrons, allowed, noise, chance)
        (light, _, rows, accepted, tally), _ = jax.lax.scan(
            offer, (light, slabs, rows, accepted, tally), entries
        )
        inverse = jax.vmap(lambda m, f, a: slater.close_block(m, spin, first, f, a))(
            inverse, rows, accepted
        )
        walkers = Walker(light.r, inverse, light.phase, light.log, light.memory)
        return (walkers, tally, key), None

    zero = jnp.zeros(count)
    blocks = tuple(jnp.asarray(column) for column in slater.blocks())
    carry = (walkers, Tally(zero, zero, zero, zero), key)
    (walkers, tally, _), _ = jax.lax.scan(block, carry, blocks)
    return walkers, tally


def _offer(psi, dynamics, walker, slab, place, electron, spin, may, noise, chance, dtype):
    """One proposed move of one walker."""
    slater = psi.slater
    old = jax.lax.dynamic_index_in_dim(walker.r, electron, 1, keepdims=False)
    column = jax.lax.dynamic_index_in_dim(slab, place, 1, keepdims=False)
    occupied = slater.occupied(spin)
    gradient_old = gradient_new = None
    if dynamics.drifts:
        # J's gradient before the move is part of its change, which needs the move: ask with the
        # electron at rest first.
        _, slope, _ = slater.orbitals.derivatives(old, dtype)
        gradient_old = jnp.real(slope @ jnp.where(occupied, column, 0))
        rest = Move(electron, spin, old, old)
        for term, memory in zip(psi.terms, walker.memory, strict=True):
            gradient_old += term.change(walker.r, memory, rest, True, dtype).gradient_old
    new = dynamics.propose(old, gradient_old, noise)
    move = Move(electron, spin, old, new)
    if dynamics.drifts:
        row, slope, _ = slater.orbitals.derivatives(new, dtype)
    else:
        row, slope = slater.orbitals.values(new, dtype), None
    row = jnp.where(occupied, row, 0).astype(slater.dtype)
    ratio = row @ column
    log_ratio = jnp.log(jnp.abs(ratio))
    if slope is not None:
        gradient_new = jnp.real((slope @ jnp.where(occupied, column, 0)) / ratio)
    news = []
    for term, memory in zip(psi.terms, walker.memory, strict=True):
        change = term.change(walker.r, memory, move, dynamics.drifts, dtype)
        log_ratio += change.value
        if dynamics.drifts:
            gradient_new += change.gradient_new
        news.append(change.news)
    quotient = dynamics.log_acceptance(old, new, gradient_old, gradient_new, log_ratio)
    crossed = jnp.zeros((), bool)
    if dynamics.drifts and not slater.orbitals.is_complex:
        crossed = ratio <= 0
    probability = jnp.where(
        crossed | ~jnp.isfinite(quotient), 0.0, jnp.exp(jnp.minimum(quotient, 0))
    )
    accept = may & (chance < probability)
    memory = tuple(
        term.update(memory, move, fresh, accept)
        for term, memory, fresh in zip(psi.terms, walker.memory, news, strict=True)
    )
    r = jax.lax.dynamic_update_index_in_dim(walker.r, jnp.where(accept, new, old), electron, 1)
    phase = walker.phase * jnp.where(accept, ratio / jnp.abs(ratio), 1)
    log = walker.log + jnp.where(accept, log_ratio, 0.0)
    step = jnp.sum((new - old) ** 2) if not dynamics.drifts else jnp.sum(noise**2)
    offered = jnp.where(may, step, 0.0)
    tally = Tally(
        accept.astype(jnp.float64),
        (may & crossed).astype(jnp.float64),
        offered,
        offered * probability,
    )
    slab = replace_row(slab, place, row, ratio, accept)
    return r, phase, log, memory, slab, row, accept, tally
