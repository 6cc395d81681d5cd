"""Ψ = e^J D↑D↓, kept as (phase, ln|Ψ|).

One-electron moves follow the delayed updates of `determinants.slater`; each term of J keeps what
makes its own changes cheap. Derivatives are closed forms:

    ∇lnΨ = ∇lnD + ∇J        ∇²Ψ/Ψ = ∇²D/D + 2∇J·∇lnD + |∇J|² + ∇²J
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, io
from zitter.qmc.determinants.elimination import decide
from zitter.qmc.determinants.slater import Slater, replace_row
from zitter.qmc.jastrow import Jastrow, JastrowTerm, Move, Moves, PreparedTerm
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.systems import System
from zitter.qmc.wavefunction import Block, Ratio, Seat, Verdicts, Walker, Wavefunction


class Derivatives(NamedTuple):
    """∇_i ln of something (d, N) and Σ_i ∇_i² of it, divided by it."""

    gradient: Any
    laplacian: Any


class SlaterWalker(Walker):
    """A walker of determinants and Jastrow terms."""

    r: Any
    phase: Any
    log: Any
    inverse: Any  # (species, n, n); (n, n) of one spin within blocks
    memory: tuple[Any, ...]  # of each Jastrow term
    known: Derivatives | None = None  # those of D in stored samples, those of Ψ in recalled ones


class OpenWalker(eqx.Module):
    """A walker inside a block: M_·B as the block began, and what was accepted since."""

    r: Any
    phase: Any
    log: Any
    memory: tuple[Any, ...]
    slab: Any  # M_·B (n, K)
    Q: Any  # (K, K)
    rows: Any  # Φ (K, n)
    accepted: Any  # (K,)


class SlaterJastrow(Wavefunction):
    """A Slater–Jastrow wave function of a system.

    `jastrow` lists terms such as `U(order=8)`; without any, Ψ is the bare determinant. Orbitals are
    the system's own unless given: one set for both spins, or a pair for spin up and spin down.
    """

    system: System
    slater: Slater
    jastrow: Jastrow

    def __init__(
        self,
        system: System,
        jastrow: Sequence[JastrowTerm] = (),
        orbitals: Orbitals | Sequence[Orbitals] | None = None,
        delay: int | None = None,
    ):
        self.system = checks.instance("system", system, System)
        if delay is not None:
            checks.integer("delay", delay, 1)
        orbitals = system.default_orbitals() if orbitals is None else orbitals
        self.slater = Slater(orbitals, system.spins, delay)
        self.jastrow = Jastrow(system, jastrow)

    @property
    def terms(self) -> tuple[PreparedTerm, ...]:
        """The terms of J."""
        return self.jastrow.terms

    # Parameters: those of J.

    @property
    def parameters(self) -> jax.Array:
        return self.jastrow.parameters

    def with_parameters(self, vector: Any) -> Self:
        return eqx.tree_at(lambda psi: psi.jastrow, self, self.jastrow.with_parameters(vector))

    def save_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write all Jastrow parameters to a file."""
        io.write(path, io.Dataset(self.stored_parameters(), {"kind": "jastrow"}))

    def stored_parameters(self) -> dict[str, io.Variable]:
        """The Jastrow parameters as files name them, term by term."""
        return self.jastrow.stored_parameters()

    def load_parameters(self, path: str | os.PathLike[str]) -> Self:
        """The same wave function with the parameters that `save_parameters` wrote."""
        return eqx.tree_at(lambda psi: psi.jastrow, self, self.jastrow.load_parameters(path))

    # A configuration.

    @property
    def is_complex(self) -> bool:
        return self.slater.is_complex

    def start(self, r: Any, dtype: Any = jnp.float64) -> SlaterWalker:
        inverse, phase, log = self.slater.fresh(r, dtype)
        log = log + self.jastrow.derivatives(r, dtype)[0]
        return SlaterWalker(r, phase, log, inverse, self.jastrow.start(r, dtype))

    def derivatives(self, walker: SlaterWalker, dtype: Any = jnp.float64) -> Derivatives:
        if walker.known is not None:
            return walker.known
        bare = Derivatives(*self.slater.derivatives(walker.r, walker.inverse, dtype))
        _, gradient, laplacian = self.jastrow.derivatives(walker.r, dtype)
        return _product(bare, gradient, laplacian)

    # Moves one after another.

    def over_blocks(self, body, carry, walkers):
        def block(state, entry):
            carry, walkers = state
            spin, first, done = entry
            return body(carry, walkers, self.slater.block(spin, first, done)), None

        def one_spin(state, entry):
            carry, rest = state
            spin, inverse, first, done = entry
            here = eqx.tree_at(lambda w: w.inverse, rest, inverse, is_leaf=_is_none)
            each = (jnp.full(first.shape, spin), first, done)
            (carry, here), _ = jax.lax.scan(block, (carry, here), each)
            return (carry, eqx.tree_at(lambda w: w.inverse, here, None)), here.inverse

        # The inverses of one spin at a time: blocks then read and write arrays of their own.
        rest = eqx.tree_at(lambda w: w.inverse, walkers, None)
        schedule = self.slater.schedule()
        entries = (
            jnp.arange(self.slater.species),
            jnp.moveaxis(walkers.inverse, 1, 0),
            jnp.asarray(schedule.first),
            jnp.asarray(schedule.done),
        )
        (carry, rest), inverse = jax.lax.scan(one_spin, (carry, rest), entries)
        inverse = jnp.moveaxis(inverse, 0, 1)
        return carry, eqx.tree_at(lambda w: w.inverse, rest, inverse, is_leaf=_is_none)

    def open(self, walker: SlaterWalker, block: Block) -> OpenWalker:
        return self._opened(walker, self.slater.open_block(walker.inverse, block.first))

    def alone(self, walker, electron):
        spin = (jnp.asarray(electron) >= self.system.spins[0]).astype(jnp.int32)
        column = self.slater.column(walker.inverse, electron, spin)
        return self._opened(walker, column[:, None]), Seat(0, electron, spin)

    def _opened(self, walker: SlaterWalker, slab: Any) -> OpenWalker:
        n, k = slab.shape
        return OpenWalker(
            walker.r,
            walker.phase,
            walker.log,
            walker.memory,
            slab,
            jnp.eye(k, dtype=slab.dtype),
            jnp.zeros((k, n), slab.dtype),
            jnp.zeros(k, bool),
        )

    def _seated(self, opened: OpenWalker, seat: Seat) -> tuple[Any, Any]:
        """The electron's position and its column of the present M."""
        old = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
        now = jax.lax.dynamic_index_in_dim(opened.Q, seat.place, 1, keepdims=False)
        return old, opened.slab @ now

    def gradient(self, opened, seat, dtype=jnp.float64):
        old, column = self._seated(opened, seat)
        _, slope = self.slater.rows_and_slopes(old, seat.spin, dtype)
        gradient = jnp.real(slope @ column)
        # J's gradient before a move is part of its change: ask with the electron at rest.
        rest = Move(seat.electron, seat.spin, old, old)
        return (
            gradient + self.jastrow.change(opened.r, opened.memory, rest, True, dtype).gradient_old
        )

    def ratio(self, opened, seat, new, gradient, dtype=jnp.float64):
        old, column = self._seated(opened, seat)
        slope = None
        if gradient:
            row, slope = self.slater.rows_and_slopes(new, seat.spin, dtype)
        else:
            row = self.slater.rows(new, seat.spin, dtype)
        row = row.astype(self.slater.dtype)
        determinant = row @ column
        size = jnp.abs(determinant)
        move = Move(seat.electron, seat.spin, old, new)
        change = self.jastrow.change(opened.r, opened.memory, move, gradient, dtype)
        after = None
        if gradient:
            after = jnp.real((slope @ column) / determinant) + change.gradient_new
        news = (row, determinant, change.news)
        return Ratio(determinant / size, jnp.log(size) + change.value, after, news)

    def ratios(self, opened, seat, points, dtype=jnp.float64):
        old = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
        at_rest = Move(seat.electron, seat.spin, old, old)
        change = self.jastrow.changes(opened.r, opened.memory, at_rest, points, dtype)
        return self.determinant_ratios(opened, seat, points, dtype) * jnp.exp(change)

    def determinant_ratios(self, opened, seat, points, dtype=jnp.float64):
        _, column = self._seated(opened, seat)
        return self.slater.rows(points, seat.spin, dtype).astype(self.slater.dtype) @ column

    def accept(self, opened, seat, new, ratio, accepted):
        row, determinant, news = ratio.news
        old = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
        move = Move(seat.electron, seat.spin, old, new)
        put = jax.lax.dynamic_update_index_in_dim
        products = (row @ opened.slab) @ opened.Q
        return OpenWalker(
            put(opened.r, jnp.where(accepted, new, old), seat.electron, 1),
            opened.phase * jnp.where(accepted, ratio.phase, 1),
            opened.log + jnp.where(accepted, ratio.log, 0.0),
            self.jastrow.update(opened.memory, move, news, accepted),
            opened.slab,
            replace_row(opened.Q, seat.place, products, determinant, accepted),
            put(opened.rows, row, seat.place, 0),
            put(opened.accepted, accepted, seat.place, 0),
        )

    def close(self, walker, opened, block):
        inverse = self.slater.close_block(
            walker.inverse, block.first, opened.rows, opened.accepted, opened.Q
        )
        return SlaterWalker(opened.r, opened.phase, opened.log, inverse, opened.memory)

    # Moves together: all proposals of a block are known beforehand.

    @property
    def moves_together(self) -> bool:
        """Pairwise terms are tables for a block; others must be evaluated move by move."""
        return self.jastrow.pairwise

    def move_block(self, walkers, block, new, chance, dtype=jnp.float64):
        slater = self.slater
        old = walkers.r[:, :, block.electrons]

        def prepare(walker, old, new):
            rows = slater.rows(new, block.spin, dtype).astype(slater.dtype)
            T = rows @ slater.open_block(walker.inverse, block.first)
            moves = Moves(block.electrons, block.spin, old, new)
            return rows, T, self.jastrow.couplings(walker.r, walker.memory, moves, dtype)

        rows, T, found = jax.vmap(prepare)(walkers, old, new)
        decided = decide(T, found.values, found.pairs, block.allowed, chance)
        accepted = decided.accepted
        close = lambda m, f, a, q: slater.close_block(m, block.first, f, a, q)  # noqa: E731
        inverse = jax.vmap(close)(walkers.inverse, rows, accepted, decided.Q)
        moved = jnp.where(accepted[:, None], new, old)
        r = walkers.r.at[:, :, block.electrons].set(moved, mode="drop", unique_indices=True)

        def remember(memory, old, new, news, accepted):
            moves = Moves(block.electrons, block.spin, old, new)
            return self.jastrow.update_block(memory, moves, news, accepted)

        memory = jax.vmap(remember)(walkers.memory, old, new, found.news, accepted)
        phase, log = walkers.phase * decided.phase, walkers.log + decided.log
        walkers = SlaterWalker(r, phase, log, inverse, memory)
        return walkers, Verdicts(accepted, decided.probability)

    # Samples under other parameters: the determinants stay, only J is evaluated again.

    def keep(self, walker, ratios, dtype=jnp.float64):
        bare = Derivatives(*self.slater.derivatives(walker.r, walker.inverse, dtype))
        log = walker.log - self.jastrow.derivatives(walker.r, dtype)[0]
        inverse = walker.inverse if ratios else None
        return SlaterWalker(walker.r, walker.phase, log, inverse, (), bare)

    def recall(self, kept, dtype=jnp.float64):
        value, gradient, laplacian = self.jastrow.derivatives(kept.r, dtype)
        known = _product(kept.known, gradient, laplacian)
        memory = self.jastrow.start(kept.r, dtype)
        return SlaterWalker(kept.r, kept.phase, kept.log + value, kept.inverse, memory, known)

    def at_twist(self, twist):
        slater = self.slater.at_twist(self.system.cell, twist)
        return eqx.tree_at(lambda psi: psi.slater, self, slater)

    def __repr__(self) -> str:
        names = self.jastrow.names
        kind = type(self.system).__name__
        up, down = self.system.spins
        factor = f"e^({' + '.join(names)}) " if names else ""
        return (
            f"SlaterJastrow: {factor}D↑D↓ of {up} + {down} electrons ({kind}), "
            f"{self.parameters.size if names else 0} parameters"
        )


def _product(bare: Derivatives, gradient: Any, laplacian: Any) -> Derivatives:
    """Derivatives of e^J D from those of D and of J."""
    crossed = jnp.sum(2 * gradient * bare.gradient)
    total = bare.laplacian + crossed + jnp.sum(gradient**2) + laplacian
    return Derivatives(bare.gradient + gradient, total)


def _is_none(x: Any) -> bool:
    return x is None
