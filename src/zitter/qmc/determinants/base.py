"""The antisymmetric factor of a wave function, as a Jastrow factor beside it knows it.

D is a function of all positions that is linear in the orbitals at each electron's place. What it
keeps of a walker is its `memory`; inside a block of moves that is `opened`, which may gather what
was accepted and enter it into the memory when the block is closed (delayed updates).

All methods are about one walker, except `over_blocks`, `settle` and `move_block`, which get all of
them. Phases, ratios and derivatives are complex where the orbitals are.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, io
from zitter.qmc.wavefunction import Block, Seat


class Derivatives(NamedTuple):
    """∇_i ln of something (d, N) and Σ_i ∇_i² of it, divided by it."""

    gradient: Any
    laplacian: Any


class Started(NamedTuple):
    """D = phase·e^log of a configuration, and what is remembered of it."""

    memory: Any
    phase: Any
    log: Any


class Proposal(NamedTuple):
    """D'/D of a move, ∇_iD'/D' (d,) if asked for, and what `accept` needs to know."""

    ratio: Any
    gradient: Any
    news: Any


class Recalled(NamedTuple):
    """A stored sample under the present parameters."""

    phase: Any
    log: Any
    derivatives: Derivatives


class Decisions(NamedTuple):
    """For each walker, and each of the K moves of a block."""

    accepted: Any  # (walkers, K)
    probability: Any  # (walkers, K)
    log: Any  # (walkers,) change of ln|Ψ| by all accepted moves
    phase: Any  # (walkers,) factor of the phase


class Antisymmetric(eqx.Module):
    """A determinant, or a sum of products of them."""

    @property
    @abc.abstractmethod
    def is_complex(self) -> bool: ...

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """How a wave function calls it."""

    # Parameters: none unless a factor has some.

    @property
    def parameters(self) -> jax.Array:
        return jnp.zeros(0)

    def with_parameters(self, vector: Any) -> Self:
        return self

    def stored_parameters(self) -> dict[str, io.Variable]:
        """The parameters as files name them."""
        return {}

    def load_parameters(self, path: str | os.PathLike[str]) -> Self:
        """The same factor with the parameters of a file."""
        return self

    # A configuration.

    @abc.abstractmethod
    def start(self, r: Any, dtype: Any) -> Started:
        """Everything computed from the positions (d, N) alone."""

    @abc.abstractmethod
    def derivatives(self, r: Any, memory: Any, dtype: Any) -> Derivatives: ...

    # Moves in blocks.

    @abc.abstractmethod
    def over_blocks(
        self, body: Callable[[Any, Any, Block], tuple[Any, Any]], carry: Any, memory: Any
    ) -> tuple[Any, Any]:
        """(carry, memory) after body(carry, memory, block) for blocks that cover all electrons.

        `body` gets the part of the memory that belongs to the block's spin, of all walkers.
        """

    def settle(self, memory: Any, r: Any) -> Any:
        """The memory of all walkers after `over_blocks`, at the positions (walkers, d, N) now."""
        return memory

    @abc.abstractmethod
    def open(self, memory: Any, block: Block) -> Any: ...

    @abc.abstractmethod
    def alone(self, memory: Any, electron: Any, spin: Any) -> Any:
        """Opened for the ratios of one electron, which sits at place 0."""

    @abc.abstractmethod
    def gradient(self, opened: Any, seat: Seat, here: Any, dtype: Any) -> Any:
        """∇_i ln D (d,) of the electron at a seat, which is at `here`."""

    @abc.abstractmethod
    def propose(
        self, opened: Any, seat: Seat, new: Any, gradient: bool, dtype: Any
    ) -> Proposal: ...

    @abc.abstractmethod
    def ratios(self, opened: Any, seat: Seat, points: Any, dtype: Any) -> Any:
        """D'/D (Q,) with the electron at a seat at each of many places (d, Q)."""

    @abc.abstractmethod
    def accept(self, opened: Any, seat: Seat, proposal: Proposal, accepted: Any) -> Any: ...

    @abc.abstractmethod
    def close(self, memory: Any, opened: Any, block: Block) -> Any: ...

    # Moves together, where a factor can.

    @property
    def moves_together(self) -> bool:
        return False

    def move_block(
        self, memory: Any, block: Block, new: Any, jastrow: tuple[Any, Any], chance: Any, dtype: Any
    ) -> tuple[Any, Decisions]:
        """All moves of a block, `new` (walkers, d, K), with what J changes: values and pairs.

        Ln of a move's factor e^ΔJ is values (walkers, K) and, for each move q accepted before it,
        pairs (walkers, K, K) at [:, p, q].
        """
        raise NotImplementedError(f"{type(self).__name__} moves its electrons in turn")

    # The same samples under other parameters.

    @abc.abstractmethod
    def keep(self, r: Any, memory: Any, phase: Any, log: Any, dtype: Any) -> Any:
        """What no parameter changes, of a configuration where D is phase·e^log."""

    @abc.abstractmethod
    def recall(self, kept: Any) -> Recalled:
        """The same configuration under the present parameters, differentiable in them."""

    def displaced(self, carry: Callable[[Any], Any]) -> Antisymmetric:
        """D with nuclei moved, carry(places (n, d)), and its orbitals with them."""
        raise checks.InputError(
            "psi",
            f"must follow its nuclei, but {checks.with_article(type(self).__name__)} does not",
        )

    @abc.abstractmethod
    def at_twist(self, cell: Any, twist: Any) -> Self: ...
