"""What a wave function can do: the protocol that sweeps, energies, optimizers and estimators use.

They ask for ratios Ψ'/Ψ of one-electron moves, for the gradient and Laplacian of a configuration,
and for ln|Ψ| as a function of parameters; how Ψ comes by them is its own affair.

All methods are about one walker, to be mapped over many, except `over_blocks` and `move_block`,
which get all walkers at once. Positions are components first, r (d, N), spin-up electrons first.
`dtype` is that of orbitals and pair functions; what is summed up is double. Ψ may be complex: then
ratios, phases, gradients and Laplacians are.

Electrons move in blocks: a block is opened, its moves are offered one after another, and it is
closed, which is when Ψ may enter all accepted moves at once (delayed updates). Where a walker is
inside a block, `opened` stands for it; whatever else Ψ needs there is in it, too.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from zitter import checks, io
from zitter.qmc.systems.base import System


class Walker(eqx.Module):
    """One walker; drivers carry many of them with the walkers as first axis.

    Branching copies walkers whole: nothing that belongs to one may be kept elsewhere.
    """

    r: eqx.AbstractVar[Any]  # (d, N)
    phase: eqx.AbstractVar[Any]  # Ψ/|Ψ|
    log: eqx.AbstractVar[Any]  # ln|Ψ|


class Block(NamedTuple):
    """K electrons of one spin that move one after another."""

    spin: Any  # 0 up, 1 down
    first: Any  # of that spin
    electrons: Any  # (K,) among all
    allowed: Any  # (K,): blocks that stick out have places that are empty or have moved before


class Seat(NamedTuple):
    """One electron of a block: its place there, its index among all, its spin."""

    place: Any
    electron: Any
    spin: Any


class Ratio(NamedTuple):
    """Ψ'/Ψ = phase·e^log of a move, ∇_i ln|Ψ'| if asked for, and what `accept` needs to know."""

    phase: Any
    log: Any
    gradient: Any
    news: Any


class Verdicts(NamedTuple):
    """Which of the moves of a block were accepted, and with what probability: (walkers, K)."""

    accepted: Any
    probability: Any


class Wavefunction(eqx.Module):
    """A wave function of the electrons of a system."""

    system: eqx.AbstractVar[System]
    parameters: eqx.AbstractVar[Any]  # all of them, in one vector

    @property
    @abc.abstractmethod
    def is_complex(self) -> bool: ...

    @property
    @abc.abstractmethod
    def moves_together(self) -> bool:
        """Whether `move_block` can take the place of moves in turn."""

    # Parameters: one vector for optimizers, arrays with names in files.

    @abc.abstractmethod
    def with_parameters(self, vector: Any) -> Self: ...

    def stored_parameters(self) -> dict[str, io.Variable]:
        """The parameters as files name them."""
        vector = np.asarray(self.parameters)
        return {"parameters": io.Variable(vector, ("parameter",), "1", "parameters of Ψ")}

    def save_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write all parameters to a file."""
        io.write(
            checks.path("path", path), io.Dataset(self.stored_parameters(), {"kind": "jastrow"})
        )

    def load_parameters(self, path: str | os.PathLike[str]) -> Self:
        """The same wave function with the parameters that `save_parameters` wrote."""
        path = checks.path("path", path)
        return self.with_parameters(stored_array(path, "parameters", np.shape(self.parameters)))

    # A configuration.

    @abc.abstractmethod
    def start(self, r: Any, dtype: Any = jnp.float64) -> Walker:
        """The walker at positions r (d, N), computed from nothing else."""

    @abc.abstractmethod
    def derivatives(self, walker: Any, dtype: Any = jnp.float64) -> tuple[Any, Any]:
        """∇_i ln Ψ (d, N) and Σ_i ∇_i²Ψ/Ψ."""

    # Moves in blocks.

    @abc.abstractmethod
    def over_blocks(
        self, body: Callable[[Any, Any, Block], tuple[Any, Any]], carry: Any, walkers: Any
    ) -> tuple[Any, Any]:
        """(carry, walkers) after body(carry, walkers, block) for blocks that cover all electrons.

        What `body` gets as walkers may hold only the parts that belong to the block's spin.
        """

    @abc.abstractmethod
    def open(self, walker: Any, block: Block) -> Any:
        """The walker inside a block; it has positions `r`, too."""

    @abc.abstractmethod
    def alone(self, walker: Any, electron: Any) -> tuple[Any, Seat]:
        """The walker opened for one electron, to ask for ratios outside of blocks, and its seat."""

    @abc.abstractmethod
    def gradient(self, opened: Any, seat: Seat, dtype: Any = jnp.float64) -> Any:
        """∇_i ln|Ψ| (d,) of the electron at a seat."""

    @abc.abstractmethod
    def ratio(
        self, opened: Any, seat: Seat, new: Any, gradient: bool, dtype: Any = jnp.float64
    ) -> Ratio:
        """What a move of the electron at a seat to `new` (d,) would do."""

    @abc.abstractmethod
    def ratios(self, opened: Any, seat: Seat, points: Any, dtype: Any = jnp.float64) -> Any:
        """Ψ'/Ψ (Q,) with the electron at a seat at each of many trial places `points` (d, Q)."""

    def determinant_ratios(
        self, opened: Any, seat: Seat, points: Any, dtype: Any = jnp.float64
    ) -> Any:
        """`ratios` of the antisymmetric factor alone, where Ψ = e^J D."""
        raise checks.InputError(
            "psi",
            f"must be a product of e^J and determinants to localize by them, but is "
            f"{checks.with_article(type(self).__name__)}",
        )

    @abc.abstractmethod
    def accept(self, opened: Any, seat: Seat, new: Any, ratio: Ratio, accepted: Any) -> Any:
        """The walker after that move where `accepted`, and as it was elsewhere."""

    @abc.abstractmethod
    def close(self, walker: Any, opened: Any, block: Block) -> Any:
        """The walker that was opened, after the block."""

    def move_block(
        self, walkers: Any, block: Block, new: Any, chance: Any, dtype: Any = jnp.float64
    ) -> tuple[Any, Verdicts]:
        """All walkers after a block whose proposals `new` (walkers, d, K) are known beforehand.

        Move p is accepted where |Ψ'/Ψ|², with the moves accepted before it, exceeds `chance`
        (walkers, K).
        """
        raise NotImplementedError(f"{type(self).__name__} moves its electrons in turn")

    # The same samples under other parameters.

    @abc.abstractmethod
    def keep(self, walker: Any, ratios: bool, dtype: Any = jnp.float64) -> Any:
        """What optimizers store of a walker: all that no parameter changes, computed once.

        Without `ratios` only ln|Ψ| and `derivatives` will be asked for later.
        """

    @abc.abstractmethod
    def recall(self, kept: Any, dtype: Any = jnp.float64) -> Any:
        """The walker of a stored sample under the present parameters, differentiable in them."""

    # Nuclei elsewhere.

    def displaced(self, shift: Any) -> Wavefunction:
        """Ψ and its system with the nuclei moved by `shift` (nuclei, d), differentiable in it.

        What stands on a nucleus goes along: orbitals, Jastrow functions, energies.
        """
        raise checks.InputError(
            "psi",
            "must follow its nuclei, as SlaterJastrow does with orbitals around them, but "
            f"{checks.with_article(type(self).__name__)} does not",
        )

    # Boundary conditions.

    def at_twist(self, twist: Any) -> Wavefunction:
        """Ψ at a twist in units of the reciprocal lattice vectors; always complex.

        Arrays that do not depend on the twist are the same objects as before, and are shared by
        all twists of a run.
        """
        raise checks.InputError(
            "twists",
            f"must be used with a periodic wave function, but not with {type(self).__name__}",
        )


def stored_array(path: str | os.PathLike[str], name: str, shape: tuple[int, ...]) -> Any:
    """An array of parameters from a file, which must hold it."""
    stored = io.read(path).variables
    if name not in stored or stored[name].data.shape != shape:
        raise checks.InputError(
            "file", f"must hold {name} of shape {shape}, but {os.fspath(path)} does not"
        )
    return jnp.asarray(stored[name].data)
