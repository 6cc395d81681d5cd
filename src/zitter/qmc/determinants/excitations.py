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
from zitter.qmc.determinants.minors import minors, slopes


class Excitations(eqx.Module):
    """Determinants as excitations from one of them, whose coefficient is 1."""

    order: Any  # (species, n + v): orbitals of the reference, then the others
    filled: Any  # (species, n + v): false where one spin has fewer than the other
    holes: tuple[Any, ...]  # (species, strings, k) of each rank k
    particles: tuple[Any, ...]
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

    def slope(self, X: Any, weights: Any, spin: Any) -> tuple[Any, Any]:
        """w·P = D/D_0, and Γ = ∂ln(w·P)/∂T (n, v), of one spin."""
        total, slope = slopes(X[:, self.n :], weights, *self._indices(spin))
        return total, slope / total

    def column(self, X: Any, weights: Any, spin: Any, electron: Any) -> tuple[Any, Any]:
        """W_·i of an electron, by its number among those of its spin, and D/D_0."""
        total, slope = self.slope(X, weights, spin)
        a = X[:, electron]
        y = a @ slope
        return jnp.concatenate([a - X[:, self.n :] @ y, y]), total

    def columns(self, X: Any) -> Any:
        """W of all electrons, (species, electron, orbital)."""
        found = []
        for spin, weights in enumerate(self.both_weights(X)):
            inverse, T = X[spin, :, : self.n], X[spin, :, self.n :]
            y = self.slope(X[spin], weights, spin)[1].T @ inverse
            found.append(jnp.concatenate([inverse - T @ y, y]).T)
        return jnp.stack(found)

    def total(self, X: Any) -> Any:
        """D/D_0."""
        return jnp.sum(self.both_weights(X)[0] * self.minors(X[0], 0))

    def _indices(self, spin: Any) -> tuple[list[Any], list[Any]]:
        pick = lambda table: jnp.asarray(table)[spin]  # noqa: E731
        return [pick(h) for h in self.holes], [pick(p) for p in self.particles]
