"""One sweep: every electron of every walker is offered one move, block by block.

All walkers move the same electron at the same time, so one compiled scan over moves serves them
all, and nothing in it waits for the host.

Without drift the proposals of a block do not depend on what is accepted in it. Then Ψ may decide
about the whole block at once (`move_together`). With drift, or where Ψ cannot do that, each move is
evaluated when its turn comes (`move_in_turn`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from zitter.qmc.spread import over_walkers
from zitter.qmc.walk.dynamics import Dynamics
from zitter.qmc.wavefunction import Block, Seat, Wavefunction


class Tally(NamedTuple):
    """Sums over the moves of one sweep, for each walker."""

    accepted: Any  # accepted moves
    crossed: Any  # moves refused because they cross a node
    diffused: Any  # Σ of squared diffusive steps
    diffused_accepted: Any  # the same, each times its probability of acceptance


class Offers(NamedTuple):
    """The random numbers of one block, for all walkers."""

    noise: Any  # (K, walkers, d)
    chance: Any  # (K, walkers)
    uniform: Any  # (K, walkers, those the dynamics takes)


def sweep(
    psi: Wavefunction, dynamics: Dynamics, walkers: Any, key: Any, dtype: Any = jnp.float64
) -> tuple[Any, Tally]:
    """Offer each electron of each walker one move."""
    together = not dynamics.drifts and psi.moves_together
    one_block = move_together if together else move_in_turn
    count, dimension = walkers.r.shape[0], walkers.r.shape[1]

    def moved(shared, walkers, offers):
        psi, dynamics, block = shared
        return one_block(psi, dynamics, walkers, block, offers, dtype)

    def body(carry, walkers, block: Block):
        tally, key = carry
        key, noise_key, chance_key = jax.random.split(key, 3)
        k = block.electrons.shape[0]
        chances = lambda key, *shape: jax.random.uniform(key, shape, jnp.float64, 1e-300, 1.0)  # noqa: E731
        more = dynamics.uniforms
        offers = Offers(
            jax.random.normal(noise_key, (k, count, dimension), jnp.float64),
            chances(chance_key, k, count),
            # Not an array without numbers: cut over devices, it ends JAX 0.11 in a crash.
            chances(jax.random.fold_in(chance_key, 1), k, count, more) if more else None,
        )
        walkers, this = over_walkers(moved, (psi, dynamics, block), walkers, offers)
        return (jax.tree.map(jnp.add, tally, this), key), walkers

    (tally, _), walkers = psi.over_blocks(body, (no_tally(count), key), walkers)
    return walkers, tally


def no_tally(count: int) -> Tally:
    return Tally(*(jnp.zeros(count) for _ in Tally._fields))


def move_in_turn(psi, dynamics, walkers: Any, block: Block, offers: Offers, dtype: Any):
    """A block whose moves are proposed one after another, each where the last one left Ψ."""
    opened = jax.vmap(lambda walker: psi.open(walker, block))(walkers)

    def offer(carry, entry):
        opened, tally = carry
        place, electron, may, mine = entry
        seat = Seat(place, electron, block.spin)
        one = lambda o, n, c, u: offer_move(psi, dynamics, o, seat, may, n, c, dtype, u)  # noqa: E731
        opened, this = jax.vmap(one)(opened, *mine)
        return (opened, jax.tree.map(jnp.add, tally, this)), None

    places = jnp.arange(block.electrons.shape[0])
    entries = (places, block.electrons, block.allowed, offers)
    carry = (opened, no_tally(walkers.r.shape[0]))
    (opened, tally), _ = jax.lax.scan(offer, carry, entries)
    return jax.vmap(lambda w, o: psi.close(w, o, block))(walkers, opened), tally


def move_together(psi, dynamics, walkers: Any, block: Block, offers: Offers, dtype: Any):
    """A block whose proposals are all known at its beginning."""

    def propose(r, noise):
        old = r[:, block.electrons]
        # The barrier keeps the making of random numbers out of every kernel that uses them.
        return jax.lax.optimization_barrier((old, dynamics.propose(old, None, noise.T)))

    old, new = jax.vmap(propose)(walkers.r, jnp.moveaxis(offers.noise, 1, 0))
    # |Ψ'/Ψ|² G(r ← r')/G(r' ← r) exceeds a random number where |Ψ'/Ψ|² exceeds this.
    chance = offers.chance.T * jnp.exp(-jax.vmap(dynamics.asymmetry)(old, new))
    walkers, found = psi.move_block(walkers, block, new, chance, dtype)
    steps = jnp.where(block.allowed, jnp.sum((new - old) ** 2, axis=1), 0)
    tally = Tally(
        jnp.sum(found.accepted, axis=1, dtype=jnp.float64),
        jnp.zeros(found.accepted.shape[0]),
        jnp.sum(steps, axis=1),
        jnp.sum(steps * found.probability, axis=1),
    )
    return walkers, tally


def offer_move(
    psi: Wavefunction,
    dynamics: Dynamics,
    opened: Any,
    seat: Seat,
    may: Any,
    noise: Any,
    chance: Any,
    dtype: Any,
    uniform: Any = None,
) -> tuple[Any, Tally]:
    """One proposed move of one walker."""
    old = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
    before = psi.gradient(opened, seat, dtype) if dynamics.drifts else None
    # An empty seat has no gradient, and what is not a number must not get into Ψ's tables.
    new = jnp.where(may, dynamics.propose(old, before, noise, uniform), old)
    ratio = psi.ratio(opened, seat, new, dynamics.drifts, dtype)
    quotient = dynamics.log_acceptance(old, new, before, ratio.gradient, ratio.log)
    crossed = jnp.zeros((), bool)
    if dynamics.drifts and not psi.is_complex:
        crossed = ~(ratio.phase > 0)  # a ratio of 0 has no phase
    probability = jnp.where(
        crossed | ~jnp.isfinite(quotient), 0.0, jnp.exp(jnp.minimum(quotient, 0))
    )
    accepted = may & (chance < probability)
    step = jnp.sum(noise**2) if dynamics.drifts else jnp.sum((new - old) ** 2)
    offered = jnp.where(may, step, 0.0)
    tally = Tally(
        accepted.astype(jnp.float64),
        (may & crossed).astype(jnp.float64),
        offered,
        offered * probability,
    )
    return psi.accept(opened, seat, new, ratio, accepted), tally
