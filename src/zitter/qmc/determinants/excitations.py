"""D/D_0 of an expansion as a function of T: strings of both spins, and pairs of them.

Strings of one spin are numbered from 0, the reference; C holds the coefficients of pairs. All
indices may be asked for with a traced spin: both spins have arrays of one shape.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter.qmc.determinants.expansion import Determinants, tabulate
from zitter.qmc.determinants.minors import Slopes, along_rows, contraction, minors, slopes


class Excitations(eqx.Module):
    """Determinants as excitations from one of them, whose coefficient is 1."""

    order: Any  # (species, n + v): orbitals of the reference, then the others
    filled: Any  # (species, n + v): false where one spin has fewer than the other
    holes: tuple[Any, ...]  # (species, strings, k) of each rank k
    particles: tuple[Any, ...]
    spread: tuple[Any, ...]  # (species, strings × k, v): one where a particle is that orbital
    C: Any  # (strings up, strings down), the signs of strings included
    place: Any  # (determinants, 2): the strings of each
    sign: Any  # (determinants,)
    n: int = eqx.field(static=True)
    reference: int = eqx.field(static=True)
    in_order: bool = eqx.field(static=True)  # whether every spin takes its first orbitals

    def __init__(self, given: Determinants, spins: tuple[int, int]):
        tables = tabulate(given, spins)
        self.order, self.filled = tables.order, tables.filled
        self.holes, self.particles = tables.holes, tables.particles
        others = np.arange(tables.order.shape[1] - max(spins))
        self.spread = tuple(
            (p.reshape(len(p), -1, 1) == others).astype(np.float64) for p in tables.particles
        )
        self.place, self.sign = tables.place, tables.sign
        self.n, self.reference = max(spins), given.reference
        ordered = np.all(tables.order == np.arange(tables.order.shape[1]))
        self.in_order = bool(ordered and np.all(tables.filled))
        c = np.asarray(given.coefficients, np.float64) / given.coefficients[given.reference]
        C = np.zeros((tables.strings, tables.strings if all(spins) else 1))
        C[tables.place[:, 0], tables.place[:, 1]] = c * tables.sign
        self.C = C

    @property
    def count(self) -> int:
        return len(self.sign)

    @property
    def species(self) -> int:
        return len(self.order)

    @property
    def coefficients(self) -> Any:
        return self.C[self.place[:, 0], self.place[:, 1]] * self.sign

    @property
    def parameters(self) -> Any:
        """All coefficients but that of the reference."""
        return jnp.delete(jnp.asarray(self.coefficients), self.reference)

    def with_parameters(self, vector: Any) -> Excitations:
        vector = jnp.asarray(vector)
        c = jnp.concatenate([vector[: self.reference], jnp.ones(1), vector[self.reference :]])
        C = jnp.asarray(self.C).at[self.place[:, 0], self.place[:, 1]].set(c * self.sign)
        return eqx.tree_at(lambda e: e.C, self, C)

    def rows(self, values: Any, spin: Any) -> Any:
        """Values (…, orbitals) as (…, n + v)."""
        if self.in_order:
            return values[..., : self.order.shape[1]]
        picked = jnp.take(values, jnp.asarray(self.order)[spin], axis=-1)
        return jnp.where(jnp.asarray(self.filled)[spin], picked, 0)

    def minors(self, X: Any, spin: Any) -> Any:
        """P of one spin from its X = (A⁻¹ | T)."""
        return minors(X[:, self.n :], *self._indices(spin))

    def weights(self, others: Any, spin: Any) -> Any:
        """CP: the weights of this spin's strings, from the minors of the other spin."""
        if self.species == 1:
            return self.C @ others
        return jnp.where(spin == 0, self.C @ others, self.C.T @ others)

    def both_weights(self, X: Any) -> list[Any]:
        """The weights of each spin's strings, X (species, n, n + v)."""
        if self.species == 1:
            return [self.weights(jnp.ones(1, X.dtype), 0)]
        return [self.weights(self.minors(X[1 - spin], 1 - spin), spin) for spin in (0, 1)]

    def slopes(self, X: Any, weights: Any, spin: Any) -> Slopes:
        """Γ = ∂ln(w·P)/∂T of one spin, and w·P = D/D_0."""
        return slopes(X[:, self.n :], weights, *self._indices(spin))

    def along_rows(self, found: Slopes, a: Any, spin: Any) -> Any:
        """Γᵀa (v, m) of a (n, m)."""
        if not self.holes:
            return jnp.zeros((self.order.shape[1] - self.n, a.shape[1]), a.dtype)
        spread = [jnp.asarray(table)[spin] for table in self.spread]
        return along_rows(found, a, self._indices(spin)[0], spread)

    def contraction(self, found: Slopes, B: Any, spin: Any) -> Any:
        """Σ Γ∘B of B (n, v)."""
        return contraction(found, B, *self._indices(spin))

    def column(self, X: Any, weights: Any, spin: Any, electron: Any) -> tuple[Any, Any]:
        """W_·i of an electron, by its number among those of its spin, and D/D_0."""
        found = self.slopes(X, weights, spin)
        a = X[:, electron]
        y = self.along_rows(found, a[:, None], spin)[:, 0]
        return jnp.concatenate([a - X[:, self.n :] @ y, y]), found.total

    def columns(self, X: Any) -> Any:
        """W of all electrons, (species, electron, orbital)."""
        parts = []
        for spin, weights in enumerate(self.both_weights(X)):
            inverse, T = X[spin, :, : self.n], X[spin, :, self.n :]
            y = self.along_rows(self.slopes(X[spin], weights, spin), inverse, spin)
            parts.append(jnp.concatenate([inverse - T @ y, y]).T)
        return jnp.stack(parts)

    def total(self, X: Any) -> Any:
        """D/D_0."""
        return jnp.sum(self.both_weights(X)[0] * self.minors(X[0], 0))

    def _indices(self, spin: Any) -> tuple[list[Any], list[Any]]:
        pick = lambda table: jnp.asarray(table)[spin]  # noqa: E731
        return [pick(h) for h in self.holes], [pick(p) for p in self.particles]
