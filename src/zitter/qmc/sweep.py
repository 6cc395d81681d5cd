"""One sweep: every electron of every walker is offered one move, block by block.

All walkers move the same electron at the same time, so one compiled scan over moves serves them
all, and nothing in it waits for the host.

Without drift the proposals of a block do not depend on what is accepted in it. Then everything a
move needs (determinant ratios, changes of J) is made for the whole block by matrix products, and
what remains in turn is a K × K elimination (`move_together`). With drift, or with three-body terms,
each move is evaluated when its turn comes (`move_in_turn`).
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc.elimination import decide
from zitter.qmc.jastrow import Move, Moves
from zitter.qmc.slater import replace_row
from zitter.qmc.wavefunction import SlaterJastrow, Walker


class Tally(NamedTuple):
    """Sums over the moves of one sweep, for each walker."""

    accepted: Any  # accepted moves
    crossed: Any  # moves refused because they cross a node
    diffused: Any  # Σ of squared diffusive steps
    diffused_accepted: Any  # the same, each times its probability of acceptance


class Offers(NamedTuple):
    """What one block offers to all walkers."""

    spin: Any
    first: Any  # electron of that spin
    electrons: Any  # (K,) among all
    allowed: Any  # (K,)
    noise: Any  # (K, walkers, d)
    chance: Any  # (K, walkers)


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
    # Without drift a block's proposals are known before it begins, and pairwise terms are tables.
    together = not dynamics.drifts and all(term.pairwise for term in psi.terms)
    one_block = move_together if together else move_in_turn
    count, dimension = walkers.r.shape[0], walkers.r.shape[1]
    k = slater.delay

    def block(carry, entry):
        rest, inverse, tally, key = carry
        spin, first, done = entry
        key, noise_key, chance_key = jax.random.split(key, 3)
        electrons, exists = slater.electrons_of_block(first, spin)
        offers = Offers(
            spin,
            first,
            electrons,
            exists & (jnp.arange(k) >= done),
            jax.random.normal(noise_key, (k, count, dimension), jnp.float64),
            jax.random.uniform(chance_key, (k, count), jnp.float64, 1e-300, 1.0),
        )
        rest, inverse, this = one_block(psi, dynamics, rest, inverse, offers, dtype)
        return (rest, inverse, jax.tree.map(jnp.add, tally, this), key), None

    def one_spin(carry, entry):
        rest, tally, key = carry
        spin, inverse, first, done = entry
        each = (jnp.full(first.shape, spin), first, done)
        (rest, inverse, tally, key), _ = jax.lax.scan(block, (rest, inverse, tally, key), each)
        return (rest, tally, key), inverse

    # The inverses of one spin at a time: blocks then read and write arrays of their own.
    rest = Walker(walkers.r, None, walkers.phase, walkers.log, walkers.memory)
    blocks = slater.blocks()
    entries = (
        jnp.arange(slater.species),
        jnp.moveaxis(walkers.inverse, 1, 0),
        jnp.asarray(blocks.first),
        jnp.asarray(blocks.done),
    )
    (rest, tally, _), inverse = jax.lax.scan(one_spin, (rest, no_tally(count), key), entries)
    return Walker(rest.r, jnp.moveaxis(inverse, 0, 1), rest.phase, rest.log, rest.memory), tally


def no_tally(count: int) -> Tally:
    return Tally(*(jnp.zeros(count) for _ in Tally._fields))


def move_in_turn(psi, dynamics, walkers: Walker, inverse: Any, offers: Offers, dtype: Any):
    """A block whose moves are proposed one after another, each where the last one left Ψ."""
    slater = psi.slater
    count, k = walkers.r.shape[0], slater.delay
    slabs = jax.vmap(lambda m: slater.open_block(m, offers.first))(inverse)
    Q = jnp.broadcast_to(jnp.eye(k, dtype=slater.dtype), (count, k, k))
    rows = jnp.zeros((count, k, slater.size), slater.dtype)
    accepted = jnp.zeros((count, k), bool)

    def offer(carry, entry):
        walkers, Q, rows, accepted, tally = carry
        place, electron, may, noise, chance = entry
        one = lambda w, s, q, n, c: _offer(  # noqa: E731
            psi, dynamics, w, s, q, place, electron, offers.spin, may, n, c, dtype
        )
        walkers, Q, row, accept, this = jax.vmap(one)(walkers, slabs, Q, noise, chance)
        rows = jax.lax.dynamic_update_index_in_dim(rows, row, place, 1)
        accepted = jax.lax.dynamic_update_index_in_dim(accepted, accept, place, 1)
        return (walkers, Q, rows, accepted, jax.tree.map(jnp.add, tally, this)), None

    entries = (jnp.arange(k), offers.electrons, offers.allowed, offers.noise, offers.chance)
    carry = (walkers, Q, rows, accepted, no_tally(count))
    (walkers, Q, rows, accepted, tally), _ = jax.lax.scan(offer, carry, entries)
    close = lambda m, f, a, q: slater.close_block(m, offers.first, f, a, q)  # noqa: E731
    return walkers, jax.vmap(close)(inverse, rows, accepted, Q), tally


def move_together(psi, dynamics, walkers: Walker, inverse: Any, offers: Offers, dtype: Any):
    """A block whose proposals are all known at its beginning."""
    slater = psi.slater
    count, k = walkers.r.shape[0], slater.delay

    def prepare(r, memory, inverse, noise):
        old = r[:, offers.electrons]
        # The barrier keeps the making of random numbers out of every kernel that uses them.
        old, new = jax.lax.optimization_barrier((old, dynamics.propose(old, None, noise.T)))
        rows = slater.rows(slater.orbitals.values(new, dtype), offers.spin).astype(slater.dtype)
        T = rows @ slater.open_block(inverse, offers.first)
        moves = Moves(offers.electrons, offers.spin, old, new)
        values, pairs, news = jnp.zeros(k), jnp.zeros((k, k)), []
        for term, own in zip(psi.terms, memory, strict=True):
            found = term.couplings(r, own, moves, dtype)
            values, pairs = values + found.values, pairs + found.pairs
            news.append(found.news)
        return old, new, rows, T, values, pairs, tuple(news)

    each_noise = jnp.moveaxis(offers.noise, 1, 0)
    old, new, rows, T, jastrow, pairs, news = jax.vmap(prepare)(
        walkers.r, walkers.memory, inverse, each_noise
    )
    decided = decide(T, jastrow, pairs, offers.allowed, offers.chance.T)
    accepted = decided.accepted
    close = lambda m, f, a, q: slater.close_block(m, offers.first, f, a, q)  # noqa: E731
    inverse = jax.vmap(close)(inverse, rows, accepted, decided.Q)
    moved = jnp.where(accepted[:, None], new, old)
    r = walkers.r.at[:, :, offers.electrons].set(moved, mode="drop", unique_indices=True)

    def remember(memory, old, new, news, accepted):
        moves = Moves(offers.electrons, offers.spin, old, new)
        terms = zip(psi.terms, memory, news, strict=True)
        return tuple(term.update_block(m, moves, f, accepted) for term, m, f in terms)

    memory = jax.vmap(remember)(walkers.memory, old, new, news, accepted)
    steps = jnp.where(offers.allowed, jnp.sum((new - old) ** 2, axis=1), 0)
    tally = Tally(
        jnp.sum(accepted, axis=1, dtype=jnp.float64),
        jnp.zeros(count),
        jnp.sum(steps, axis=1),
        jnp.sum(steps * decided.probability, axis=1),
    )
    phase, log = walkers.phase * decided.phase, walkers.log + decided.log
    return Walker(r, None, phase, log, memory), inverse, tally


def _offer(psi, dynamics, walker, slab, Q, place, electron, spin, may, noise, chance, dtype):
    """One proposed move of one walker."""
    slater = psi.slater
    old = jax.lax.dynamic_index_in_dim(walker.r, electron, 1, keepdims=False)
    column = slab @ jax.lax.dynamic_index_in_dim(Q, place, 1, keepdims=False)
    gradient_old = gradient_new = None
    if dynamics.drifts:
        # J's gradient before the move is part of its change, which needs the move: ask with the
        # electron at rest first.
        _, slope, _ = slater.orbitals.derivatives(old, dtype)
        gradient_old = jnp.real(slater.rows(slope, spin) @ column)
        rest = Move(electron, spin, old, old)
        for term, memory in zip(psi.terms, walker.memory, strict=True):
            gradient_old += term.change(walker.r, memory, rest, True, dtype).gradient_old
    new = dynamics.propose(old, gradient_old, noise)
    move = Move(electron, spin, old, new)
    if dynamics.drifts:
        row, slope, _ = slater.orbitals.derivatives(new, dtype)
    else:
        row, slope = slater.orbitals.values(new, dtype), None
    row = slater.rows(row, spin).astype(slater.dtype)
    ratio = row @ column
    log_ratio = jnp.log(jnp.abs(ratio))
    if slope is not None:
        gradient_new = jnp.real((slater.rows(slope, spin) @ column) / ratio)
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
    Q = replace_row(Q, place, (row @ slab) @ Q, ratio, accept)
    return Walker(r, None, phase, log, memory), Q, row, accept, tally
