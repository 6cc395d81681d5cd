"""The orbitals of both spins: one set that they share, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.orbitals import Orbitals


class SpinOrbitals(eqx.Module):
    """`orbitals` are one set for both spins, or a pair for spin up and spin down."""

    sets: tuple[Orbitals, ...]  # one for both spins, or one for each
    spins: tuple[int, int] = eqx.field(static=True)

    def __init__(self, orbitals: Orbitals | Sequence[Orbitals], spins: tuple[int, int]):
        given: Any = orbitals if isinstance(orbitals, list | tuple) else (orbitals,)
        sets = tuple(given)
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
        self.sets, self.spins = sets, spins

    @property
    def species(self) -> int:
        return 2 if all(self.spins) else 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How many orbitals each spin has."""
        return tuple(self.sets[spin % len(self.sets)].count for spin in range(self.species))

    @property
    def is_complex(self) -> bool:
        return any(orbitals.is_complex for orbitals in self.sets)

    @property
    def dtype(self) -> Any:
        return jnp.complex128 if self.is_complex else jnp.float64

    def at_twist(self, cell: Any, twist: Any) -> SpinOrbitals:
        sets = tuple(orbitals.at_twist(cell, twist) for orbitals in self.sets)
        return eqx.tree_at(lambda s: s.sets, self, sets)

    def displaced(self, carry: Callable[[Any], Any]) -> SpinOrbitals:
        sets = tuple(orbitals.displaced(carry) for orbitals in self.sets)
        return eqx.tree_at(lambda s: s.sets, self, sets)

    def of_spin(
        self,
        evaluate: Callable[[Orbitals], Any],
        shaped: Callable[[Any, Any], Any],
        spin: Any,
        mapped: bool = False,
    ) -> Any:
        """shaped(values, spin) of what is evaluated of the orbitals of one spin, maybe traced.

        Where this is `mapped` over electrons of both spins, both sets are evaluated: JAX would do
        so as well, but its `cond` cannot then map functions that have a rule of their own for it.
        """
        if len(self.sets) == 1:
            found = evaluate(self.sets[0])
            return jax.tree.map(lambda values: shaped(values, spin), found)

        def of(number: int) -> Callable[[], Any]:
            rows = lambda values: shaped(values, number).astype(self.dtype)  # noqa: E731
            return lambda: jax.tree.map(rows, evaluate(self.sets[number]))

        if mapped:
            return jax.tree.map(lambda a, b: jnp.where(spin == 0, a, b), of(0)(), of(1)())
        return jax.lax.cond(spin == 0, of(0), of(1))

    def of_electrons(self, r: Any, evaluate: Callable[[Orbitals, Any], Any]) -> list[Any]:
        """evaluate(orbitals, r) of each spin's electrons with its own orbitals, if they differ."""
        if len(self.sets) == 1:
            return [evaluate(self.sets[0], r)]
        up = self.spins[0]
        return [evaluate(self.sets[0], r[:, :up]), evaluate(self.sets[1], r[:, up:])]


def contracted(slope: Any, laplacian: Any, weights: Any) -> tuple[Any, Any]:
    """Σ_j ∇φ_j(r_i) M_ji (d, N) and Σ_ij ∇²φ_j(r_i) M_ji, with M_ji as (electron, orbital)."""
    count = weights.shape[1]
    gradient = jnp.sum(slope[..., :count] * weights, axis=-1)
    return gradient, jnp.sum(laplacian[..., :count] * weights)
