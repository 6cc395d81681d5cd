"""Slater determinants of both spins, and their inverses under one-electron moves.

A_ij = φ_j(r_i) for the electrons i of one spin, M = A⁻¹. Moving electron i replaces a row:

    D'/D = Σ_j φ_j(r_i') M_ji        M' = M − M_·i (φ'ᵀM − e_iᵀ)/(D'/D)          (Sherman–Morrison)

Updating all of M at each move is bound by memory. Electrons are therefore moved in blocks of K
(delayed updates, McDaniel et al., J. Chem. Phys. 147, 174107). Within a block M stays as it was;
what the accepted moves do to its columns B is a K × K matrix Q, M_·B → M_·B Q, which begins as the
unit matrix and follows Sherman and Morrison. At the end all accepted rows Φ enter at once,

    M ← M − (M_·B Q)(ΦM − E),                                                        (Woodbury)

as matrix products. A rejected move has zero in its row of ΦM − E: the mask touches small factors.

Both spins share one array (species, n, n); the smaller one is padded with the unit matrix, and so
are both to a multiple of 8 where n is large: products of matrices with odd rows are slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.qmc.determinants.base import (
    Antisymmetric,
    Decisions,
    Derivatives,
    Proposal,
    Recalled,
    Started,
)
from zitter.qmc.determinants.blocks import (
    ALIGNED,
    Schedule,
    best_delay,
    block_of,
    eights,
    schedule,
)
from zitter.qmc.determinants.elimination import decide, replace_row
from zitter.qmc.determinants.factorized import inverse_and_determinant
from zitter.qmc.determinants.spin_orbitals import SpinOrbitals, contracted
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.wavefunction import Block


class OpenSlater(eqx.Module):
    """The columns M_·B of a block as it began, and what was accepted since."""

    slab: Any  # M_·B (n, K)
    Q: Any  # (K, K)
    rows: Any  # Φ (K, n)
    accepted: Any  # (K,)


class Slater(Antisymmetric):
    """D↑D↓ of the lowest orbitals; at most `delay` moves are gathered in a block.

    The memory of a walker is M, (species, n, n); within blocks that of one spin, (n, n).
    """

    orbitals: SpinOrbitals
    spins: tuple[int, int] = eqx.field(static=True)
    delay: int = eqx.field(static=True)
    size: int = eqx.field(static=True)  # n, padding included

    def __init__(
        self,
        orbitals: Orbitals | Sequence[Orbitals],
        spins: tuple[int, int],
        delay: int | None = None,
    ):
        self.orbitals = SpinOrbitals(orbitals, spins)
        self.spins = spins
        most = max(spins)
        delay = best_delay(most) if delay is None else delay
        # Equal blocks: the fewest of at most `delay` electrons, then as short as they can be.
        shortest = -(-most // -(-most // delay))
        self.size = eights(most) if most >= ALIGNED else most
        self.delay = min(eights(shortest), most) if most >= ALIGNED else shortest

    @property
    def species(self) -> int:
        return self.orbitals.species

    @property
    def is_complex(self) -> bool:
        return self.orbitals.is_complex

    @property
    def dtype(self) -> Any:
        return self.orbitals.dtype

    @property
    def label(self) -> str:
        return "D↑D↓"

    def displaced(self, carry):
        return eqx.tree_at(lambda s: s.orbitals, self, self.orbitals.displaced(carry))

    def at_twist(self, cell: Any, twist: Any) -> Slater:
        return eqx.tree_at(lambda s: s.orbitals, self, self.orbitals.at_twist(cell, twist))

    def schedule(self) -> Schedule:
        return schedule(self.spins, self.delay)

    def block(self, spin: Any, first: Any, done: Any) -> Block:
        return block_of(self.spins, self.delay, spin, first, done)

    def rows(self, r: Any, spin: Any, dtype: Any, mapped: bool = False) -> Any:
        """φ_j(r) of one spin as rows of A: (…, n)."""
        return self.orbitals.of_spin(
            lambda orbitals: orbitals.values(r, dtype), self._as_rows, spin, mapped
        )

    def rows_and_slopes(self, r: Any, spin: Any, dtype: Any) -> tuple[Any, Any]:
        """Rows (…, n) and their gradients (d, …, n)."""
        return self.orbitals.of_spin(
            lambda orbitals: orbitals.slopes(r, dtype), self._as_rows, spin
        )

    def _as_rows(self, values: Any, spin: Any) -> Any:
        """Values (…, orbitals) with those that are not occupied set to zero, padded to (…, n)."""
        values = values[..., : self.size]
        count = values.shape[-1]
        rows = jnp.where(jnp.arange(count) < jnp.asarray(self.spins)[spin], values, 0)
        return jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, self.size - count)])

    def matrix(self, r: Any, dtype: Any) -> Any:
        """A (species, n, n), with unit rows and columns for missing electrons."""
        tables = self.orbitals.of_electrons(r, lambda orbitals, r: orbitals.values(r, dtype))
        parts, offset = [], 0
        for spin, count in enumerate(self.spins[: self.species]):
            if len(tables) == 2:
                values = tables[spin]
            else:
                values = tables[0][offset : offset + count]
            rows = values[:, :count].astype(self.dtype)
            padded = jnp.eye(self.size, dtype=self.dtype).at[:count, :count].set(rows)
            parts.append(rows if count == self.size else padded)
            offset += count
        return jnp.stack(parts)

    def start(self, r, dtype):
        inverse, phase, log = inverse_and_determinant(self.matrix(r, dtype))
        return Started(inverse, jnp.prod(phase), jnp.sum(log))

    def derivatives(self, r, memory, dtype):
        tables = self.orbitals.of_electrons(
            r, lambda orbitals, r: orbitals.derivatives(r, dtype)[1:]
        )
        if len(tables) == 2:
            sums = [
                contracted(slope, laplacian, jnp.swapaxes(memory[spin, :count, :count], 0, 1))
                for spin, ((slope, laplacian), count) in enumerate(
                    zip(tables, self.spins, strict=True)
                )
            ]
            gradient = jnp.concatenate([s[0] for s in sums], axis=1)
            return Derivatives(gradient, sums[0][1] + sums[1][1])
        slope, laplacian = tables[0]
        count = min(slope.shape[-1], self.size)
        columns = []
        for spin, electrons in enumerate(self.spins[: self.species]):
            # M_ji as (electron, orbital)
            columns.append(jnp.swapaxes(memory[spin, :count, :electrons], 0, 1))
        weights = jnp.concatenate(columns)
        if self.spins[0] != self.spins[1] and self.species == 2:
            electron_spin = np.repeat([0, 1], self.spins)
            filled = np.arange(count) < np.asarray(self.spins)[electron_spin][:, None]
            weights = jnp.where(filled, weights, 0)
        return Derivatives(*contracted(slope, laplacian, weights))

    # Moves one after another.

    def over_blocks(self, body, carry, memory):
        def block(state, entry):
            carry, inverse = state
            return body(carry, inverse, self.block(*entry)), None

        def one_spin(carry, entry):
            spin, inverse, first, done = entry
            each = (jnp.full(first.shape, spin), first, done)
            (carry, inverse), _ = jax.lax.scan(block, (carry, inverse), each)
            return carry, inverse

        # The inverses of one spin at a time: blocks then read and write arrays of their own.
        schedule = self.schedule()
        entries = (
            jnp.arange(self.species),
            jnp.moveaxis(memory, 1, 0),
            jnp.asarray(schedule.first),
            jnp.asarray(schedule.done),
        )
        carry, inverse = jax.lax.scan(one_spin, carry, entries)
        return carry, jnp.moveaxis(inverse, 0, 1)

    def open(self, memory, block):
        return self._opened(self._slab(memory, block.first))

    def alone(self, memory, electron, spin):
        inside = electron - jnp.where(spin == 0, 0, self.spins[0])
        return self._opened(memory[spin][:, inside][:, None])

    def gradient(self, opened, seat, here, dtype):
        _, slope = self.rows_and_slopes(here, seat.spin, dtype)
        return slope @ self._column(opened, seat)

    def propose(self, opened, seat, new, gradient, dtype):
        column, after = self._column(opened, seat), None
        if gradient:
            row, slope = self.rows_and_slopes(new, seat.spin, dtype)
        else:
            row, slope = self.rows(new, seat.spin, dtype), None
        row = row.astype(self.dtype)
        ratio = row @ column
        if gradient:
            after = (slope @ column) / ratio
        return Proposal(ratio, after, row)

    def ratios(self, opened, seat, points, dtype):
        rows = self.rows(points, seat.spin, dtype, mapped=True).astype(self.dtype)
        return rows @ self._column(opened, seat)

    def accept(self, opened, seat, proposal, accepted):
        put = jax.lax.dynamic_update_index_in_dim
        row = proposal.news
        products = (row @ opened.slab) @ opened.Q
        return OpenSlater(
            opened.slab,
            replace_row(opened.Q, seat.place, products, proposal.ratio, accepted),
            put(opened.rows, row, seat.place, 0),
            put(opened.accepted, accepted, seat.place, 0),
        )

    def close(self, memory, opened, block):
        return self._closed(memory, block.first, opened.rows, opened.accepted, opened.Q)

    def _slab(self, inverse: Any, first: Any) -> Any:
        """The columns of one spin's M that belong to a block, (n, K)."""
        return jax.lax.dynamic_slice_in_dim(inverse, first, self.delay, axis=1)

    def _opened(self, slab: Any) -> OpenSlater:
        n, k = slab.shape
        unit, none = jnp.eye(k, dtype=slab.dtype), jnp.zeros((k, n), slab.dtype)
        return OpenSlater(slab, unit, none, jnp.zeros(k, bool))

    def _column(self, opened: OpenSlater, seat: Any) -> Any:
        """An electron's column of the present M."""
        now = jax.lax.dynamic_index_in_dim(opened.Q, seat.place, 1, keepdims=False)
        return opened.slab @ now

    def _closed(self, inverse: Any, first: Any, rows: Any, accepted: Any, Q: Any) -> Any:
        """One spin's M with the accepted rows Φ (K, n) of a block put in."""
        n, k = self.size, self.delay
        unit = (jnp.arange(n)[None, :] == first + jnp.arange(k)[:, None]).astype(self.dtype)
        difference = jnp.where(accepted[:, None], rows @ inverse - unit, 0)
        # The sign sits on the small factor: M + product is one call of the matrix library.
        return inverse + (-self._slab(inverse, first) @ Q) @ difference

    # Moves together: all proposals of a block are known beforehand.

    @property
    def moves_together(self) -> bool:
        return True

    def move_block(self, memory, block, new, jastrow, chance, dtype):
        def prepare(inverse, new):
            rows = self.rows(new, block.spin, dtype).astype(self.dtype)
            return rows, rows @ self._slab(inverse, block.first)

        rows, T = jax.vmap(prepare)(memory, new)
        decided = decide(T, *jastrow, block.allowed, chance)
        close = lambda m, f, a, q: self._closed(m, block.first, f, a, q)  # noqa: E731
        memory = jax.vmap(close)(memory, rows, decided.accepted, decided.Q)
        accepted, probability, _, log, phase = decided
        return memory, Decisions(accepted, probability, log, phase)

    # No parameter changes D.

    def keep(self, r, memory, phase, log, dtype):
        return Recalled(phase, log, self.derivatives(r, memory, dtype))

    def recall(self, kept):
        return kept
