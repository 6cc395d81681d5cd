"""A sum of products of determinants, all computed from one of them.

A is the matrix of the reference determinant D_0 of one spin, Φ_v holds the other orbitals that are
needed, at the same electrons. With T = A⁻¹Φ_v every determinant is D_I = D_0 det T[h, p], and

    D = D_0↑D_0↓ Σ_I c_I det_I↑ det_I↓ = D_0↑D_0↓ P↑ᵀC P↓,                (Clark et al. 2011)

where P holds the minors of the different strings of one spin, and C the coefficients of pairs of
strings. While electrons of one spin move, the other spin's P stays: the weights w = CP of this
spin's strings are formed once, and a move costs no more for many determinants than their strings.

Each D_I is linear in the orbitals at electron i, so D is, too: D'/D = Σ_j φ_j(r_i') W_ji with one
number W_ji for each orbital. With Γ = ∂ln(w·P)/∂T and a the column A⁻¹_·i,

    W_·i = (a − T y, y),   y = Γᵀa,

which serves gradients and Laplacians as well (Filippi, Assaraf and Moroni, J. Chem. Phys. 144,
194105). After a move (A⁻¹ | T) changes by the rank-one matrix of Sherman and Morrison.

**Nodes of the reference.** D_0 may vanish where D does not; T is infinite there. A move to a place
where |D_0| < 1e-7 |D| is refused, so walkers sample |Ψ|² without a part of space of that relative
weight. Those that come closer than 1e-5 are computed anew after the sweep, before the rounding
errors, which near the node are multiplied by |D/D_0|², are carried along.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, io
from zitter.qmc.determinants.base import Antisymmetric, Derivatives, Proposal, Started
from zitter.qmc.determinants.blocks import block_of
from zitter.qmc.determinants.excitations import Excitations
from zitter.qmc.determinants.expansion import Determinants
from zitter.qmc.determinants.factorized import inverse_and_determinant
from zitter.qmc.determinants.multi_samples import kept_sample, recalled
from zitter.qmc.determinants.spin_orbitals import SpinOrbitals, contracted
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.spread import each_walker, over_walkers
from zitter.qmc.wavefunction import stored_array

FORBIDDEN = 1e-7  # |D_0/D| below which no walker goes
DOUBTFUL = 1e-5  # below which a walker is computed anew


class MultiMemory(eqx.Module):
    """What is remembered of a walker."""

    X: Any  # (A⁻¹ | T), (species, n, n + v)
    W: Any  # (species, electron, orbital), (species, n, n + v)
    doubtful: Any  # whether the reference has nearly vanished since X was computed


class SpinMemory(eqx.Module):
    """What belongs to one spin, within its block."""

    X: Any
    weights: Any  # of this spin's strings
    doubtful: Any


class Column(eqx.Module):
    """One electron's column of W, for ratios outside of blocks."""

    W: Any


class MultiSlater(Antisymmetric):
    """Σ_I c_I D_I↑D_I↓, with c = 1 for the reference; the other c are parameters."""

    orbitals: SpinOrbitals
    excitations: Excitations
    spins: tuple[int, int] = eqx.field(static=True)

    def __init__(
        self,
        orbitals: Orbitals | Sequence[Orbitals],
        spins: tuple[int, int],
        determinants: Determinants,
    ):
        self.orbitals = SpinOrbitals(orbitals, spins)
        self.spins = spins
        given = checks.instance("determinants", determinants, Determinants)
        given.check(spins, (*self.orbitals.counts, 0))
        self.excitations = Excitations(given, spins)

    @property
    def n(self) -> int:
        return max(self.spins)

    @property
    def is_complex(self) -> bool:
        return self.orbitals.is_complex

    @property
    def label(self) -> str:
        return f"Σ D↑D↓ ({self.excitations.count} determinants)"

    def displaced(self, carry):
        return eqx.tree_at(lambda s: s.orbitals, self, self.orbitals.displaced(carry))

    def at_twist(self, cell: Any, twist: Any) -> MultiSlater:
        return eqx.tree_at(lambda s: s.orbitals, self, self.orbitals.at_twist(cell, twist))

    # Parameters: all coefficients but that of the reference.

    @property
    def parameters(self) -> jax.Array:
        return self.excitations.parameters

    def with_parameters(self, vector: Any) -> MultiSlater:
        return eqx.tree_at(lambda s: s.excitations, self, self.excitations.with_parameters(vector))

    def stored_parameters(self) -> dict[str, io.Variable]:
        c = np.asarray(self.excitations.coefficients)
        return {"determinants": io.Variable(c, ("determinant",), "1", "coefficients")}

    def load_parameters(self, path: str | os.PathLike[str]) -> MultiSlater:
        reference = self.excitations.reference
        c = stored_array(path, "determinants", (self.excitations.count,))
        return self.with_parameters(jnp.delete(c / c[reference], reference))

    # A configuration.

    def start(self, r, dtype):
        X, phase, log = self._inverted(r, dtype)
        total = self.excitations.total(X)
        size = jnp.abs(total)
        memory = MultiMemory(X, self.excitations.columns(X), jnp.zeros((), bool))
        return Started(memory, phase * (total / size), log + jnp.log(size))

    def derivatives(self, r, memory, dtype):
        sums = [
            contracted(slope, laplacian, memory.W[spin, : slope.shape[1]])
            for spin, (_, slope, laplacian) in enumerate(self._all_derivatives(r, dtype))
        ]
        gradient = jnp.concatenate([s[0] for s in sums], axis=1)
        return Derivatives(gradient, sum(s[1] for s in sums))

    def _inverted(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """X, phase and ln|D_0↑D_0↓| from the positions."""
        n, own = self.n, self.orbitals.dtype
        parts = []
        for rows in self._by_spin(r, lambda orbitals, r: orbitals.values(r, dtype)):
            # Missing electrons have unit rows in A, and none of the other orbitals.
            padded = jnp.eye(n, rows.shape[1], dtype=own)
            parts.append(padded.at[: rows.shape[0]].set(rows.astype(own)))
        tables = jnp.stack(parts)
        inverse, phase, log = inverse_and_determinant(tables[..., :n])
        X = jnp.concatenate([inverse, inverse @ tables[..., n:]], axis=-1)
        return X, jnp.prod(phase), jnp.sum(log)

    def _all_derivatives(self, r: Any, dtype: Any) -> list[Any]:
        return self._by_spin(r, lambda orbitals, r: orbitals.derivatives(r, dtype))

    def _by_spin(self, r: Any, evaluate: Any) -> list[Any]:
        """evaluate(orbitals, r), (…, electrons, orbitals), of each spin as rows of its tables."""
        tables = self.orbitals.of_electrons(r, evaluate)
        shared = len(tables) == 1
        parts, first = [], 0
        for spin, count in enumerate(self.spins[: self.excitations.species]):
            begin = first if shared else 0

            def rows(values, begin=begin, count=count, spin=spin):
                return self.excitations.rows(values[..., begin : begin + count, :], spin)

            parts.append(jax.tree.map(rows, tables[0 if shared else spin]))
            first += count
        return parts

    # Moves: all electrons of a spin are one block, and each accepted move is entered at once.

    def over_blocks(self, body, carry, memory):
        table = self.excitations

        def one_spin(state, entry):
            carry, others, doubtful = state
            spin, X = entry
            weights = each_walker(lambda t, p: t[0].weights(p, t[1]), (table, spin), others)
            here = SpinMemory(X, weights, doubtful)
            carry, here = body(carry, here, block_of(self.spins, self.n, spin, 0, 0))
            others = each_walker(lambda t, x: t[0].minors(x, t[1]), (table, spin), here.X)
            return (carry, others, here.doubtful), here.X

        X = jnp.moveaxis(memory.X, 1, 0)
        if table.species == 2:
            others = each_walker(lambda t, x: t.minors(x, 1), table, X[1])
            state = (carry, others, memory.doubtful)
            (carry, _, doubtful), X = jax.lax.scan(one_spin, state, (jnp.arange(2), X))
        else:
            others = jnp.ones((X.shape[1], 1), X.dtype)
            state = (carry, others, memory.doubtful)
            (carry, _, doubtful), X = one_spin(state, (jnp.zeros((), jnp.int32), X[0]))
            X = X[None]
        return carry, MultiMemory(jnp.moveaxis(X, 0, 1), memory.W, doubtful)

    def settle(self, memory, r):
        """W at the end of a sweep; X anew where the reference has nearly vanished on the way."""
        return over_walkers(_settled, self, (memory, r))

    def open(self, memory, block):
        return memory

    def close(self, memory, opened, block):
        return opened

    def alone(self, memory, electron, spin):
        inside = electron - jnp.where(spin == 0, 0, self.spins[0])
        return Column(memory.W[spin, inside])

    def gradient(self, opened, seat, here, dtype):
        _, slope = self._slopes(here, seat.spin, dtype)
        return slope @ self._column(opened, seat)[0]

    def propose(self, opened, seat, new, gradient, dtype):
        column, total = self._column(opened, seat)
        after = None
        if gradient:
            row, slope = self._slopes(new, seat.spin, dtype)
        else:
            row, slope = self._values(new, seat.spin, dtype), None
        row = row.astype(self.orbitals.dtype)
        ratio = row @ column
        if gradient:
            after = (slope @ column) / ratio
        if isinstance(opened, Column):
            return Proposal(ratio, after, None)
        reference = row[: self.n] @ opened.X[:, seat.place]
        share = jnp.abs(reference) / (jnp.abs(total) * jnp.abs(ratio))  # |D_0'/D'|
        ratio = jnp.where(share > FORBIDDEN, ratio, 0)
        return Proposal(ratio, after, (row, reference, share < DOUBTFUL))

    def ratios(self, opened, seat, points, dtype):
        return self._values(points, seat.spin, dtype, True) @ self._column(opened, seat)[0]

    def accept(self, opened, seat, proposal, accepted):
        row, reference, doubtful = proposal.news
        n, X = self.n, opened.X
        new = jnp.where(jnp.arange(X.shape[1]) < n, jnp.arange(X.shape[1]) == seat.place, row)
        change = row[:n] @ X - new
        factor = jnp.where(accepted, 1 / jnp.where(accepted, reference, 1), 0)
        return SpinMemory(
            X - (factor * X[:, seat.place])[:, None] * change,
            opened.weights,
            opened.doubtful | (accepted & doubtful),
        )

    def _column(self, opened: Any, seat: Any) -> tuple[Any, Any]:
        """W_·i of the electron at a seat, and D/D_0 where it is known."""
        if isinstance(opened, Column):
            return opened.W, None
        return self.excitations.column(opened.X, opened.weights, seat.spin, seat.place)

    def _values(self, r: Any, spin: Any, dtype: Any, mapped: bool = False) -> Any:
        ask = lambda orbitals: orbitals.values(r, dtype)  # noqa: E731
        found = self.orbitals.of_spin(ask, self.excitations.rows, spin, mapped)
        return found.astype(self.orbitals.dtype)

    def _slopes(self, r: Any, spin: Any, dtype: Any) -> tuple[Any, Any]:
        ask = lambda orbitals: orbitals.slopes(r, dtype)  # noqa: E731
        return self.orbitals.of_spin(ask, self.excitations.rows, spin)

    # Samples under other coefficients.

    def keep(self, r, memory, phase, log, dtype):
        return kept_sample(self.excitations, self._all_derivatives(r, dtype), memory.X, phase, log)

    def recall(self, kept):
        return recalled(self.excitations, kept)


def _settled(slater: MultiSlater, each: tuple[MultiMemory, Any]) -> MultiMemory:
    memory, r = each

    def renewed(X):
        fresh = jax.vmap(lambda r: slater._inverted(r, jnp.float64)[0])(r)
        return jnp.where(memory.doubtful[:, None, None, None], fresh, X)

    X = jax.lax.cond(jnp.any(memory.doubtful), renewed, lambda X: X, memory.X)
    columns = jax.vmap(slater.excitations.columns)(X)
    return MultiMemory(X, columns, jnp.zeros_like(memory.doubtful))
