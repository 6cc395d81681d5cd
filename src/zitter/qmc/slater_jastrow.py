"""Ψ = e^J D, kept as (phase, ln|Ψ|): a Jastrow factor and an antisymmetric one.

D is a determinant for each spin, or a sum of such products; it follows one-electron moves by itself
(`determinants`), and so does each term of J. Derivatives are closed forms:

    ∇lnΨ = ∇lnD + ∇J        ∇²Ψ/Ψ = ∇²D/D + 2∇J·∇lnD + |∇J|² + ∇²J
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, io
from zitter.qmc.determinants import (
    Antisymmetric,
    Derivatives,
    Determinants,
    MultiSlater,
    Slater,
)
from zitter.qmc.jastrow import Jastrow, JastrowTerm, Move, Moves, PreparedTerm
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.systems import System
from zitter.qmc.systems.nuclei import carried
from zitter.qmc.wavefunction import Block, Ratio, Seat, Verdicts, Walker, Wavefunction


class SlaterWalker(Walker):
    """A walker of an antisymmetric factor and Jastrow terms."""

    r: Any
    phase: Any
    log: Any
    slater: Any  # what D remembers; within blocks what belongs to one spin
    memory: tuple[Any, ...]  # of each Jastrow term
    known: Derivatives | None = None  # those of Ψ, in recalled samples


class OpenWalker(eqx.Module):
    """A walker inside a block."""

    r: Any
    phase: Any
    log: Any
    slater: Any
    memory: tuple[Any, ...]


class Kept(eqx.Module):
    """A stored sample: where it is, and what no parameter changes of D there."""

    r: Any
    slater: Any
    ratios: bool = eqx.field(static=True)


class SlaterJastrow(Wavefunction):
    """A Slater–Jastrow wave function of a system.

    `jastrow` lists terms such as `U(order=8)`; without any, Ψ is the bare determinant. Orbitals are
    the system's own unless given: one set for both spins, or a pair for spin up and spin down. Each
    spin fills the lowest ones, unless `determinants` lists several products of determinants.
    `delay` is the number of moves that one determinant gathers before it enters them.
    """

    system: System
    slater: Antisymmetric
    jastrow: Jastrow

    def __init__(
        self,
        system: System,
        jastrow: Sequence[JastrowTerm] = (),
        orbitals: Orbitals | Sequence[Orbitals] | None = None,
        delay: int | None = None,
        determinants: Determinants | None = None,
    ):
        self.system = checks.instance("system", system, System)
        if delay is not None:
            checks.integer("delay", delay, 1)
        orbitals = system.default_orbitals() if orbitals is None else orbitals
        if determinants is None:
            self.slater = Slater(orbitals, system.spins, delay)
        elif delay is None:
            self.slater = MultiSlater(orbitals, system.spins, determinants)
        else:
            raise checks.InputError(
                "delay",
                "must not be given with several determinants, which enter each move at once",
            )
        self.jastrow = Jastrow(system, jastrow)

    @property
    def terms(self) -> tuple[PreparedTerm, ...]:
        """The terms of J."""
        return self.jastrow.terms

    # Parameters: those of J, then those of D.

    @property
    def parameters(self) -> jax.Array:
        return jnp.concatenate([self.jastrow.parameters, self.slater.parameters])

    def with_parameters(self, vector: Any) -> Self:
        if not isinstance(vector, jax.Array):  # those of optimizers are
            vector = jnp.asarray(checks.array("vector", vector, self.parameters.shape))
        split = self.jastrow.parameters.size
        jastrow = self.jastrow.with_parameters(vector[:split]) if self.terms else self.jastrow
        slater = self.slater.with_parameters(vector[split:])
        return eqx.tree_at(lambda psi: (psi.jastrow, psi.slater), self, (jastrow, slater))

    def stored_parameters(self) -> dict[str, io.Variable]:
        return self.jastrow.stored_parameters() | self.slater.stored_parameters()

    def load_parameters(self, path: str | os.PathLike[str]) -> Self:
        path = checks.path("path", path)
        jastrow = self.jastrow.load_parameters(path) if self.terms else self.jastrow
        slater = self.slater.load_parameters(path)
        return eqx.tree_at(lambda psi: (psi.jastrow, psi.slater), self, (jastrow, slater))

    # A configuration.

    @property
    def is_complex(self) -> bool:
        return self.slater.is_complex

    def start(self, r: Any, dtype: Any = jnp.float64) -> SlaterWalker:
        found = self.slater.start(r, dtype)
        log = found.log + self.jastrow.derivatives(r, dtype)[0]
        return SlaterWalker(r, found.phase, log, found.memory, self.jastrow.start(r, dtype))

    def derivatives(self, walker: SlaterWalker, dtype: Any = jnp.float64) -> Derivatives:
        if walker.known is not None:
            return walker.known
        bare = self.slater.derivatives(walker.r, walker.slater, dtype)
        _, gradient, laplacian = self.jastrow.derivatives(walker.r, dtype)
        return _product(bare, gradient, laplacian)

    # Moves one after another.

    def over_blocks(self, body, carry, walkers):
        def block(state, slater, block):
            carry, rest = state
            here = eqx.tree_at(lambda w: w.slater, rest, slater, is_leaf=_is_none)
            carry, here = body(carry, here, block)
            return (carry, eqx.tree_at(lambda w: w.slater, here, None)), here.slater

        rest = eqx.tree_at(lambda w: w.slater, walkers, None)
        (carry, rest), slater = self.slater.over_blocks(block, (carry, rest), walkers.slater)
        slater = self.slater.settle(slater, rest.r)
        return carry, eqx.tree_at(lambda w: w.slater, rest, slater, is_leaf=_is_none)

    def open(self, walker: SlaterWalker, block: Block) -> OpenWalker:
        slater = self.slater.open(walker.slater, block)
        return OpenWalker(walker.r, walker.phase, walker.log, slater, walker.memory)

    def alone(self, walker, electron):
        spin = (jnp.asarray(electron) >= self.system.spins[0]).astype(jnp.int32)
        slater = self.slater.alone(walker.slater, electron, spin)
        opened = OpenWalker(walker.r, walker.phase, walker.log, slater, walker.memory)
        return opened, Seat(0, electron, spin)

    def gradient(self, opened, seat, dtype=jnp.float64):
        old = _place(opened, seat)
        gradient = jnp.real(self.slater.gradient(opened.slater, seat, old, dtype))
        # J's gradient before a move is part of its change: ask with the electron at rest.
        rest = Move(seat.electron, seat.spin, old, old)
        return (
            gradient + self.jastrow.change(opened.r, opened.memory, rest, True, dtype).gradient_old
        )

    def ratio(self, opened, seat, new, gradient, dtype=jnp.float64):
        found = self.slater.propose(opened.slater, seat, new, gradient, dtype)
        size = jnp.abs(found.ratio)
        move = Move(seat.electron, seat.spin, _place(opened, seat), new)
        change = self.jastrow.change(opened.r, opened.memory, move, gradient, dtype)
        after = jnp.real(found.gradient) + change.gradient_new if gradient else None
        news = (found, change.news)
        return Ratio(found.ratio / size, jnp.log(size) + change.value, after, news)

    def ratios(self, opened, seat, points, dtype=jnp.float64):
        old = _place(opened, seat)
        at_rest = Move(seat.electron, seat.spin, old, old)
        change = self.jastrow.changes(opened.r, opened.memory, at_rest, points, dtype)
        return self.determinant_ratios(opened, seat, points, dtype) * jnp.exp(change)

    def determinant_ratios(self, opened, seat, points, dtype=jnp.float64):
        return self.slater.ratios(opened.slater, seat, points, dtype)

    def accept(self, opened, seat, new, ratio, accepted):
        proposal, news = ratio.news
        old = _place(opened, seat)
        move = Move(seat.electron, seat.spin, old, new)
        put = jax.lax.dynamic_update_index_in_dim
        return OpenWalker(
            put(opened.r, jnp.where(accepted, new, old), seat.electron, 1),
            opened.phase * jnp.where(accepted, ratio.phase, 1),
            opened.log + jnp.where(accepted, ratio.log, 0.0),
            self.slater.accept(opened.slater, seat, proposal, accepted),
            self.jastrow.update(opened.memory, move, news, accepted),
        )

    def close(self, walker, opened, block):
        slater = self.slater.close(walker.slater, opened.slater, block)
        return SlaterWalker(opened.r, opened.phase, opened.log, slater, opened.memory)

    # Moves together: all proposals of a block are known beforehand.

    @property
    def moves_together(self) -> bool:
        """Pairwise terms are tables for a block; others must be evaluated move by move."""
        return self.jastrow.pairwise and self.slater.moves_together

    def move_block(self, walkers, block, new, chance, dtype=jnp.float64):
        old = walkers.r[:, :, block.electrons]

        def couple(walker, old, new):
            moves = Moves(block.electrons, block.spin, old, new)
            return self.jastrow.couplings(walker.r, walker.memory, moves, dtype)

        found = jax.vmap(couple)(walkers, old, new)
        slater, decided = self.slater.move_block(
            walkers.slater, block, new, (found.values, found.pairs), chance, dtype
        )
        accepted = decided.accepted
        moved = jnp.where(accepted[:, None], new, old)
        r = walkers.r.at[:, :, block.electrons].set(moved, mode="drop", unique_indices=True)

        def remember(memory, old, new, news, accepted):
            moves = Moves(block.electrons, block.spin, old, new)
            return self.jastrow.update_block(memory, moves, news, accepted)

        memory = jax.vmap(remember)(walkers.memory, old, new, found.news, accepted)
        phase, log = walkers.phase * decided.phase, walkers.log + decided.log
        walkers = SlaterWalker(r, phase, log, slater, memory)
        return walkers, Verdicts(accepted, decided.probability)

    # Samples under other parameters: orbitals stay as they are.

    def keep(self, walker, ratios, dtype=jnp.float64):
        log = walker.log - self.jastrow.derivatives(walker.r, dtype)[0]
        bare = self.slater.keep(walker.r, walker.slater, walker.phase, log, dtype)
        return Kept(walker.r, bare, ratios)

    def recall(self, kept, dtype=jnp.float64):
        value, gradient, laplacian = self.jastrow.derivatives(kept.r, dtype)
        bare = self.slater.recall(kept.slater)
        known = _product(bare.derivatives, gradient, laplacian)
        memory = self.jastrow.start(kept.r, dtype)
        # Ratios ask for orbitals at many more places than an inverse is made of: storing one of
        # N² numbers for each sample would save little, and fill the memory.
        slater = self.slater.start(kept.r, dtype).memory if kept.ratios else None
        return SlaterWalker(kept.r, bare.phase, bare.log + value, slater, memory, known)

    def displaced(self, shift):
        carry = carried(self.system.nuclei, shift)
        system = self.system.displaced(carry)
        changed = (system, self.slater.displaced(carry), self.jastrow.displaced(system))
        return eqx.tree_at(lambda psi: (psi.system, psi.slater, psi.jastrow), self, changed)

    def at_twist(self, twist):
        slater = self.slater.at_twist(self.system.cell, twist)
        return eqx.tree_at(lambda psi: psi.slater, self, slater)

    def __repr__(self) -> str:
        names = self.jastrow.names
        kind = type(self.system).__name__
        up, down = self.system.spins
        factor = f"e^({' + '.join(names)}) " if names else ""
        return (
            f"SlaterJastrow: {factor}{self.slater.label} of {up} + {down} electrons ({kind}), "
            f"{self.parameters.size} parameters"
        )


def _place(opened: OpenWalker, seat: Seat) -> Any:
    """Where the electron at a seat is."""
    return jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)


def _product(bare: Derivatives, gradient: Any, laplacian: Any) -> Derivatives:
    """Derivatives of e^J D from those of D and of J."""
    crossed = jnp.sum(2 * gradient * bare.gradient)
    total = bare.laplacian + crossed + jnp.sum(gradient**2) + laplacian
    return Derivatives(bare.gradient + gradient, total)


def _is_none(x: Any) -> bool:
    return x is None
