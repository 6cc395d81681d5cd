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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.orbitals import Orbitals
from zitter.qmc.wavefunction import Block

ALIGNED = 64  # electrons of one spin from which on sizes are multiples of 8


def best_delay(n: int) -> int:
    """The block length that moves the least memory for one spin of n electrons.

    A sweep reads M twice and writes it once in each of n/K blocks, 3n³/K numbers, and works on the
    2K × K numbers of T and Q in each of n moves, 4nK²: least at K³ = 3n²/8, but not so short that
    matrix products are thin. A GPU holds T and Q of a walker in registers, so there longer blocks
    pay, up to what fits.
    """
    if runtime.settings().device.platform == "cpu":
        return max(8, round((3 * n * n / 8) ** (1 / 3)))
    return 32 if n < 256 else 64


def _eights(n: int) -> int:
    return -(-n // 8) * 8


class Schedule(NamedTuple):
    """The blocks of one sweep, a row for each spin: first electron, and how many were moved."""

    first: np.ndarray
    done: np.ndarray


class Slater(eqx.Module):
    """D↑D↓ of the lowest orbitals; at most `delay` moves are gathered in a block.

    `orbitals` are one set for both spins, or a pair for spin up and spin down.
    """

    sets: tuple[Orbitals, ...]  # one for both spins, or one for each
    spins: tuple[int, int] = eqx.field(static=True)
    delay: int = eqx.field(static=True)
    size: int = eqx.field(static=True)  # n, padding included

    def __init__(
        self,
        orbitals: Orbitals | Sequence[Orbitals],
        spins: tuple[int, int],
        delay: int | None = None,
    ):
        self.sets = _sets(orbitals, spins)
        self.spins = spins
        most = max(spins)
        delay = best_delay(most) if delay is None else delay
        # Equal blocks: the fewest of at most `delay` electrons, then as short as they can be.
        shortest = -(-most // -(-most // delay))
        self.size = _eights(most) if most >= ALIGNED else most
        self.delay = min(_eights(shortest), most) if most >= ALIGNED else shortest

    @property
    def species(self) -> int:
        return 2 if all(self.spins) else 1

    @property
    def is_complex(self) -> bool:
        return any(orbitals.is_complex for orbitals in self.sets)

    @property
    def dtype(self) -> Any:
        return jnp.complex128 if self.is_complex else jnp.float64

    def at_twist(self, cell: Any, twist: Any) -> Slater:
        sets = tuple(orbitals.at_twist(cell, twist) for orbitals in self.sets)
        return eqx.tree_at(lambda s: s.sets, self, sets)

    def schedule(self) -> Schedule:
        """As many blocks for each spin as the larger one needs; idle ones have all moved before."""
        k = self.delay
        starts = np.arange(0, max(self.spins), k)
        first = np.zeros((self.species, len(starts)), np.int32)
        done = np.zeros_like(first)
        for spin, count in enumerate(self.spins[: self.species]):
            # A last block that would stick out starts earlier and skips what has been moved.
            first[spin] = np.maximum(np.minimum(starts, count - k), 0)
            done[spin] = np.minimum(starts - first[spin], k)
        return Schedule(first, done)

    def block(self, spin: Any, first: Any, done: Any) -> Block:
        """K electrons of a spin; short spins leave places empty."""
        inside = first + jnp.arange(self.delay)
        exists = inside < jnp.asarray(self.spins)[spin]
        electrons = inside + jnp.where(spin == 0, 0, self.spins[0])
        return Block(spin, first, electrons, exists & (jnp.arange(self.delay) >= done))

    def rows(self, r: Any, spin: Any, dtype: Any) -> Any:
        """φ_j(r) of one spin as rows of A: (…, n)."""
        return self._of_spin(lambda orbitals: orbitals.values(r, dtype), spin)

    def rows_and_slopes(self, r: Any, spin: Any, dtype: Any) -> tuple[Any, Any]:
        """Rows (…, n) and their gradients (d, …, n)."""
        return self._of_spin(lambda orbitals: orbitals.slopes(r, dtype), spin)

    def _of_spin(self, evaluate: Callable[[Orbitals], Any], spin: Any) -> Any:
        """What is evaluated of the orbitals of one spin (maybe traced), as rows of A."""
        if len(self.sets) == 1:
            found = evaluate(self.sets[0])
            return jax.tree.map(lambda values: self._as_rows(values, spin), found)

        def of(number: int) -> Callable[[], Any]:
            rows = lambda values: self._as_rows(values, number).astype(self.dtype)  # noqa: E731
            return lambda: jax.tree.map(rows, evaluate(self.sets[number]))

        return jax.lax.cond(spin == 0, of(0), of(1))

    def _as_rows(self, values: Any, spin: Any) -> Any:
        """Values (…, orbitals) with those that are not occupied set to zero, padded to (…, n)."""
        values = values[..., : self.size]
        count = values.shape[-1]
        rows = jnp.where(jnp.arange(count) < jnp.asarray(self.spins)[spin], values, 0)
        return jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, self.size - count)])

    def _evaluated(self, r: Any, evaluate: Callable[[Orbitals, Any], Any]) -> list[Any]:
        """evaluate(orbitals, r) of each spin's electrons with its own orbitals, if they differ."""
        if len(self.sets) == 1:
            return [evaluate(self.sets[0], r)]
        up = self.spins[0]
        return [evaluate(self.sets[0], r[:, :up]), evaluate(self.sets[1], r[:, up:])]

    def matrix(self, r: Any, dtype: Any) -> Any:
        """A (species, n, n), with unit rows and columns for missing electrons."""
        tables = self._evaluated(r, lambda orbitals, r: orbitals.values(r, dtype))
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

    def fresh(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """(M, phase, ln|D↑D↓|) computed from the positions alone."""
        matrix = self.matrix(r, dtype)
        phase, log = jnp.linalg.slogdet(matrix)
        return jnp.linalg.inv(matrix), jnp.prod(phase), jnp.sum(log)

    def column(self, inverse: Any, electron: Any, spin: Any) -> Any:
        """M_·i (n,) of an electron, by its index among all."""
        inside = electron - jnp.where(spin == 0, 0, self.spins[0])
        return inverse[spin][:, inside]

    def derivatives(self, r: Any, inverse: Any, dtype: Any) -> tuple[Any, Any]:
        """∇_i ln D (d, N) and Σ_i ∇_i²D/D of a whole configuration."""
        tables = self._evaluated(r, lambda orbitals, r: orbitals.derivatives(r, dtype)[1:])
        if len(tables) == 2:
            sums = [
                _contracted(slope, laplacian, jnp.swapaxes(inverse[spin, :count, :count], 0, 1))
                for spin, ((slope, laplacian), count) in enumerate(
                    zip(tables, self.spins, strict=True)
                )
            ]
            return jnp.concatenate([s[0] for s in sums], axis=1), sums[0][1] + sums[1][1]
        slope, laplacian = tables[0]
        count = min(slope.shape[-1], self.size)
        columns = []
        for spin, electrons in enumerate(self.spins[: self.species]):
            # M_ji as (electron, orbital)
            columns.append(jnp.swapaxes(inverse[spin, :count, :electrons], 0, 1))
        weights = jnp.concatenate(columns)
        if self.spins[0] != self.spins[1] and self.species == 2:
            electron_spin = np.repeat([0, 1], self.spins)
            filled = np.arange(count) < np.asarray(self.spins)[electron_spin][:, None]
            weights = jnp.where(filled, weights, 0)
        return _contracted(slope, laplacian, weights)

    def open_block(self, inverse: Any, first: Any) -> Any:
        """The columns of one spin's M that belong to a block, (n, K)."""
        return jax.lax.dynamic_slice_in_dim(inverse, first, self.delay, axis=1)

    def close_block(self, inverse: Any, first: Any, rows: Any, accepted: Any, Q: Any) -> Any:
        """One spin's M with the accepted rows Φ (K, n) of a block put in."""
        n, k = self.size, self.delay
        unit = (jnp.arange(n)[None, :] == first + jnp.arange(k)[:, None]).astype(self.dtype)
        difference = jnp.where(accepted[:, None], rows @ inverse - unit, 0)
        # The sign sits on the small factor: M + product is one call of the matrix library.
        return inverse + (-self.open_block(inverse, first) @ Q) @ difference


def _sets(orbitals: Any, spins: tuple[int, int]) -> tuple[Orbitals, ...]:
    """The orbitals of both spins, which must be enough for them."""
    sets = tuple(orbitals) if isinstance(orbitals, list | tuple) else (orbitals,)
    if len(sets) not in (1, 2):
        raise checks.InputError(
            "orbitals", f"must be one set, or one for each spin, but are {len(sets)}"
        )
    if not all(spins):
        sets = sets[:1]
    for one in sets:
        checks.instance("orbitals", one, Orbitals)
    for needed, one in zip(spins if len(sets) == 2 else (max(spins),), sets, strict=True):
        if one.count < needed:
            raise checks.InputError(
                "orbitals", f"must hold the {needed} electrons of a spin, but are {one.count}"
            )
    return sets


def _contracted(slope: Any, laplacian: Any, weights: Any) -> tuple[Any, Any]:
    """Σ_j ∇φ_j(r_i) M_ji (d, N) and Σ_ij ∇²φ_j(r_i) M_ji, with M_ji as (electron, orbital)."""
    count = weights.shape[1]
    gradient = jnp.sum(slope[..., :count] * weights, axis=-1)
    return gradient, jnp.sum(laplacian[..., :count] * weights)


def replace_row(stack: Any, place: Any, products: Any, ratio: Any, accept: Any) -> Any:
    """Sherman–Morrison on anything times M_·B, (…, K), when row `place` of the block is replaced.

    `products` (K,) is the new row times the present M_·B.
    """
    k = stack.shape[1]
    column = jax.lax.dynamic_index_in_dim(stack, place, 1, keepdims=False)
    change = products - (jnp.arange(k) == place)
    factor = jnp.where(accept, 1 / jnp.where(accept, ratio, 1), 0)
    return stack - (factor * column)[:, None] * change[None, :]
