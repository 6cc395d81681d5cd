"""Slater determinants of both spins, and their inverses under one-electron moves.

A_ij = φ_j(r_i) for the electrons i of one spin, M = A⁻¹. Moving electron i replaces a row:

    D'/D = Σ_j φ_j(r_i') M_ji        M' = M − M_·i (φ'ᵀM − e_iᵀ)/(D'/D)          (Sherman–Morrison)

Updating all of M at each move is bound by memory. Electrons are therefore moved in blocks of K
(delayed updates, McDaniel et al., J. Chem. Phys. 147, 174107): within a block only its K columns of
M are kept up to date, and at its end all accepted rows Φ enter at once (Woodbury),

    M ← M − M_·B S⁻¹ (P − E),   P = ΦM,   S = P_·B,

as matrix products. A rejected move has P = E in its row, so the mask touches small factors only.

Both spins share one array (species, n, n); the smaller one is padded with the unit matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.qmc.orbitals import Orbitals

DELAY = 32  # moves gathered before the whole inverse is updated


class Blocks(NamedTuple):
    """The blocks of one sweep: spin, first electron of the spin, and how many were moved before."""

    spin: np.ndarray
    first: np.ndarray
    done: np.ndarray


class Slater(eqx.Module):
    """D↑D↓ of the lowest orbitals; `delay` moves are gathered before the inverse is updated."""

    orbitals: Orbitals
    spins: tuple[int, int] = eqx.field(static=True)
    delay: int = eqx.field(static=True)

    def __init__(self, orbitals: Orbitals, spins: tuple[int, int], delay: int = DELAY):
        self.orbitals = orbitals
        self.spins = spins
        most = max(spins)
        # Equal blocks: the fewest of at most `delay` electrons, then as short as they can be.
        self.delay = -(-most // -(-most // delay))

    @property
    def species(self) -> int:
        return 2 if all(self.spins) else 1

    @property
    def dtype(self) -> Any:
        return jnp.complex128 if self.orbitals.is_complex else jnp.float64

    def blocks(self) -> Blocks:
        rows = []
        for spin, count in enumerate(self.spins):
            # A last block that would stick out starts earlier and skips what has been moved.
            for first in range(0, count, self.delay):
                start = max(min(first, count - self.delay), 0)
                rows.append((spin, start, first - start))
        return Blocks(*(np.asarray(column, np.int32) for column in zip(*rows, strict=True)))

    def electrons_of_block(self, first: Any, spin: Any) -> tuple[Any, Any]:
        """(indices among all electrons, whether they exist): short spins leave places empty."""
        inside = first + jnp.arange(self.delay)
        count = jnp.asarray(self.spins)[spin]
        return inside + jnp.where(spin == 0, 0, self.spins[0]), inside < count

    def occupied(self, spin: Any) -> Any:
        """Which of the orbitals this spin fills."""
        return jnp.arange(self.orbitals.count) < jnp.asarray(self.spins)[spin]

    def _by_spin(self, values: Any) -> Any:
        """(N, n) → (species, n, n), with unit rows and columns where a spin has no electrons."""
        n = self.orbitals.count
        parts, offset = [], 0
        for count in self.spins[: self.species]:
            rows = values[offset : offset + count, :count].astype(self.dtype)
            padded = jnp.eye(n, dtype=self.dtype).at[:count, :count].set(rows)
            parts.append(rows if count == n else padded)
            offset += count
        return jnp.stack(parts)

    def fresh(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """(M, phase, ln|D↑D↓|) computed from the positions alone."""
        matrix = self._by_spin(self.orbitals.values(r, dtype))
        phase, log = jnp.linalg.slogdet(matrix)
        return jnp.linalg.inv(matrix), jnp.prod(phase), jnp.sum(log)

    def derivatives(self, r: Any, inverse: Any, dtype: Any) -> tuple[Any, Any]:
        """∇_i ln D (d, N) and Σ_i ∇_i²D/D of a whole configuration."""
        _, slope, laplacian = self.orbitals.derivatives(r, dtype)
        columns = []
        for spin, count in enumerate(self.spins[: self.species]):
            columns.append(jnp.swapaxes(inverse[spin], 0, 1)[:count])  # M_ji as (electron, orbital)
        weights = jnp.concatenate(columns)
        if self.spins[0] != self.spins[1] and self.species == 2:
            electron_spin = np.repeat([0, 1], self.spins)
            filled = np.arange(self.orbitals.count) < np.asarray(self.spins)[electron_spin][:, None]
            weights = jnp.where(filled, weights, 0)
        gradient = jnp.sum(slope * weights, axis=-1)
        return gradient, jnp.sum(laplacian * weights)

    def open_block(self, inverse: Any, spin: Any, first: Any) -> Any:
        """The columns of M that belong to a block, (n, K)."""
        n = self.orbitals.count
        start = (spin, jnp.zeros_like(first), first)
        return jax.lax.dynamic_slice(inverse, start, (1, n, self.delay))[0]

    def close_block(self, inverse: Any, spin: Any, first: Any, rows: Any, accepted: Any) -> Any:
        """M with the accepted rows Φ (K, n) of a block put in."""
        n, k = self.orbitals.count, self.delay
        old = jax.lax.dynamic_index_in_dim(inverse, spin, 0, keepdims=False)
        unit = (jnp.arange(n)[None, :] == first + jnp.arange(k)[:, None]).astype(self.dtype)
        difference = jnp.where(accepted[:, None], rows @ old - unit, 0)
        columns = jax.lax.dynamic_slice(old, (jnp.zeros_like(first), first), (n, k))
        small = jnp.eye(k, dtype=self.dtype) + jax.lax.dynamic_slice(
            difference, (jnp.zeros_like(first), first), (k, k)
        )
        new = old - columns @ jnp.linalg.solve(small, difference)
        return jax.lax.dynamic_update_index_in_dim(inverse, new, spin, 0)


def replace_row(slab: Any, place: Any, row: Any, ratio: Any, accept: Any) -> Any:
    """Sherman–Morrison on the columns of a block: row `place` of the block becomes `row`."""
    k = slab.shape[1]
    column = jax.lax.dynamic_index_in_dim(slab, place, 1, keepdims=False)
    product = row @ slab - (jnp.arange(k) == place)
    factor = jnp.where(accept, 1 / jnp.where(accept, ratio, 1), 0)
    return slab - (factor * column)[:, None] * product[None, :]
