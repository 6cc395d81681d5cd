"""What a Jastrow term can do. Ψ = e^J S with J a sum of terms (Thorpe et al., Eq. 7).

Positions are r (d, N), spin-up electrons first. Each term keeps what makes one-particle moves cheap
in a `memory` of its own: nothing for u, the sums ρ_G for p, tables of pair functions for H.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax

from zitter.qmc.systems import System


class Change(NamedTuple):
    """What one move does: J_new − J_old, ∇_iJ before and after, and news for the memory."""

    value: Any
    gradient_old: Any
    gradient_new: Any
    news: Any


class Move(NamedTuple):
    """One electron's proposed step: its index and spin (0 up, 1 down), from `old` to `new` (d,)."""

    electron: Any
    spin: Any
    old: Any
    new: Any


class Moves(NamedTuple):
    """The proposed steps of a block of electrons of one spin, from `old` to `new` (d, K)."""

    electrons: Any  # (K,)
    spin: Any
    old: Any
    new: Any


class Couplings(NamedTuple):
    """A term that is a sum over pairs, on a block of proposed steps.

    ΔJ of step p is values_p + Σ_q pairs_pq over the steps q that were accepted before it.
    """

    values: Any  # (K,)
    pairs: Any  # (K, K), zero on the diagonal
    news: Any


class JastrowTerm(eqx.Module):
    """A term as the user asks for it; `prepare` fits it to a system."""

    @abc.abstractmethod
    def prepare(self, system: System) -> PreparedTerm: ...


class PreparedTerm(eqx.Module):
    """A term of J on a given system. `parameters` are its free coefficients."""

    parameters: eqx.AbstractVar[Any]
    pairwise: eqx.AbstractClassVar[bool]  # a sum over pairs, so that `couplings` says everything
    cusped: ClassVar[bool] = False  # whether it carries Kato's cusps, which only one term may

    @property
    def varied(self) -> dict[str, Any]:
        """All that optimizers vary, by name: the parameters, and cutoffs that are free.

        These are fields of the term, whose new values are put in their place.
        """
        return {"": self.parameters}

    @property
    def held(self) -> dict[str, Any]:
        """Cutoffs that are not free, by name: parameters are of no use without them."""
        return {}

    def displaced(self, system: System) -> PreparedTerm:
        """The term on the system with nuclei moved, where it stands on any."""
        return self

    @abc.abstractmethod
    def start(self, r: Any, dtype: Any) -> Any:
        """The memory that belongs to positions r."""

    @abc.abstractmethod
    def change(self, r: Any, memory: Any, move: Move, gradients: bool, dtype: Any) -> Change: ...

    def changes(self, r: Any, memory: Any, at_rest: Move, points: Any, dtype: Any) -> Any:
        """J_new − J_old (Q,) with the electron at each of the points (d, Q)."""
        one = lambda new: self.change(r, memory, at_rest._replace(new=new), False, dtype)  # noqa: E731
        return jax.vmap(one, in_axes=1)(points).value

    @abc.abstractmethod
    def update(self, memory: Any, move: Move, news: Any, accept: Any) -> Any: ...

    def couplings(self, r: Any, memory: Any, moves: Moves, dtype: Any) -> Couplings:
        """All proposed steps of a block at once; for pairwise terms only."""
        raise NotImplementedError

    def update_block(self, memory: Any, moves: Moves, news: Any, accepted: Any) -> Any:
        """The memory after the accepted steps of a block; for pairwise terms only."""
        raise NotImplementedError

    @abc.abstractmethod
    def derivatives(self, r: Any, dtype: Any) -> tuple[Any, Any, Any]:
        """J, ∇_iJ (d, N) and Σ_i ∇_i²J of a whole configuration."""
