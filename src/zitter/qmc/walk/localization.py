"""How DMC treats the part of a Hamiltonian that takes electrons elsewhere.

A nonlocal term has matrix elements ⟨R'|V|R⟩ of any sign, but only those that keep Ψ'V(R', R)/Ψ
negative are probabilities. Localization makes the others local, by their value on Ψ.

    T-moves   t_q = −τ V(R_q, R) Ψ_q/Ψ: electron by electron, a place with t_q > 0 is taken with the
              probability t_q/(1 + Σ t⁺). E_L is the same as without. The energy is an upper bound,
              and energies of parts far apart add up (Casula, Moroni, Sorella and Filippi, J. Chem.
              Phys. 132, 154113 (2010), version 1).
    locality  V → VΨ/Ψ (Mitáš, Shirley and Ceperley, J. Chem. Phys. 95, 3467 (1991)).
    determinant locality  V → VD/D for Ψ = e^J D (Zen, Brandenburg, Michaelides and Alfè, J. Chem.
              Phys. 151, 134105 (2019)): what is localized does not depend on J.

Of complex Ψ the real part of Ψ_q/Ψ counts (fixed phase).
"""

from __future__ import annotations

import abc
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.qmc.energies import EnergyTerm, Transitions
from zitter.qmc.spread import over_walkers
from zitter.qmc.wavefunction import Block, Seat, Wavefunction


class Localization(eqx.Module):
    """What becomes of nonlocal terms in DMC."""

    moves: eqx.AbstractClassVar[bool]  # whether electrons take the way of nonlocal terms

    @abc.abstractmethod
    def terms(self, psi: Wavefunction) -> tuple[EnergyTerm, ...]:
        """The terms of the local energy."""

    def check(self, psi: Wavefunction) -> None:
        """Refuse a wave function that has not what this needs."""
        return None


class TMoves(Localization):
    """Electrons move where a nonlocal term would take them: the energy is an upper bound."""

    moves: ClassVar[bool] = True

    def terms(self, psi):
        return psi.system.energies


class Locality(Localization):
    """Nonlocal terms act as the potential they are on Ψ."""

    moves: ClassVar[bool] = False

    def terms(self, psi):
        return psi.system.energies


class DeterminantLocality(Localization):
    """Nonlocal terms act as the potential they are on the determinants of Ψ, without J."""

    moves: ClassVar[bool] = False

    def terms(self, psi):
        return tuple(term.by_determinants() for term in psi.system.energies)

    def check(self, psi):
        if type(psi).determinant_ratios is Wavefunction.determinant_ratios:
            raise checks.InputError(
                "localization",
                "must be used with a wave function that has determinants, but not with "
                f"{type(psi).__name__}: TMoves() would do",
            )


def is_nonlocal(psi: Wavefunction) -> bool:
    return any(term.moves_electrons for term in psi.system.energies)


def t_moves(
    psi: Wavefunction, timestep: Any, walkers: Any, key: Any, dtype: Any = jnp.float64
) -> tuple[Any, Any]:
    """(walkers, moves of each): every electron in turn goes where nonlocal terms take it."""
    count = walkers.r.shape[0]

    def body(carry, walkers, block: Block):
        moved, key = carry
        key, own = jax.random.split(key)
        keys = jax.random.split(own, block.electrons.shape[0])
        chances = jax.vmap(lambda k: jax.random.uniform(k, (count,), jnp.float64))(keys)
        each = (walkers, moved, jnp.arange(count))
        walkers, moved = over_walkers(one_block, (psi, timestep, block, keys), each, chances)
        return (moved, key), walkers

    def one_block(shared, each, chances):
        psi, timestep, block, keys = shared
        walkers, moved, slots = each
        terms = [term for term in psi.system.energies if term.moves_electrons]
        sites = [(term, site) for term in terms for site in range(term.sites)]

        def some(key, i):
            """The keys of the walkers here: a part of all."""
            drawn = jax.random.split(jax.random.fold_in(key, i), count)
            here = len(slots)
            return drawn if here == count else jax.lax.dynamic_slice_in_dim(drawn, slots[0], here)

        opened = jax.vmap(lambda walker: psi.open(walker, block))(walkers)

        def turn(carry, entry):
            opened, moved = carry
            place, electron, may, key, chance = entry
            seat = Seat(place, electron, block.spin)
            found = [
                _transitions(psi, term, site, opened, seat, may, partial(some, key, i), dtype)
                for i, (term, site) in enumerate(sites)
            ]
            points = jnp.concatenate([f.points for f in found], axis=2)
            amplitudes = jnp.concatenate([f.amplitudes for f in found], axis=1)

            def one(opened, points, amplitudes, chance):
                chances = jnp.where(may, jnp.maximum(-timestep * amplitudes, 0.0), 0.0)
                return _heat_bath(psi, opened, seat, points, chances, chance, dtype)

            opened, gone = jax.vmap(one)(opened, points, amplitudes, chance)
            return (opened, moved + gone), None

        seats = jnp.arange(block.electrons.shape[0])
        entries = (seats, block.electrons, block.allowed, keys, chances)
        (opened, moved), _ = jax.lax.scan(turn, (opened, moved), entries)
        return jax.vmap(lambda w, o: psi.close(w, o, block))(walkers, opened), moved

    (moved, _), walkers = psi.over_blocks(body, (jnp.zeros(count), key), walkers)
    return walkers, moved


def _transitions(psi, term: EnergyTerm, site, opened, seat: Seat, may, keys, dtype) -> Transitions:
    """Those of one electron of all walkers; where none is in reach, nothing is evaluated."""
    place = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 2, keepdims=False)
    reached = may & jax.vmap(lambda x: term.reaches(x, site))(place)

    def evaluated():
        one = lambda o, k: term.transitions(psi, o, seat, site, k, dtype)  # noqa: E731
        return jax.vmap(one)(opened, keys())

    shapes = jax.eval_shape(evaluated)
    nothing = lambda: jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)  # noqa: E731
    return jax.lax.cond(jnp.any(reached), evaluated, nothing)


def _heat_bath(
    psi: Wavefunction,
    opened: Any,
    seat: Seat,
    points: Any,
    chances: Any,
    chance: Any,
    dtype: Any,
) -> tuple[Any, Any]:
    """One electron of one walker: to place q with t_q⁺/(1 + Σ t⁺), or nowhere."""
    edges = jnp.cumsum(jnp.where(jnp.isfinite(chances), chances, 0.0))
    tooth = chance * (1 + edges[-1])
    goes = tooth < edges[-1]
    chosen = jnp.minimum(jnp.searchsorted(edges, tooth, side="right"), edges.shape[0] - 1)
    old = jax.lax.dynamic_index_in_dim(opened.r, seat.electron, 1, keepdims=False)
    new = jnp.where(goes, points[:, chosen], old)
    ratio = psi.ratio(opened, seat, new, False, dtype)
    goes = goes & jnp.isfinite(ratio.log)
    return psi.accept(opened, seat, new, ratio, goes), goes.astype(jnp.float64)
