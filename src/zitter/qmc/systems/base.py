"""What walkers live in: electrons, the space they move in, and the terms of their energy."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx

from zitter import checks
from zitter.qmc.cells import Cell
from zitter.qmc.energies.base import EnergyTerm
from zitter.qmc.orbitals.base import Orbitals
from zitter.qmc.systems.nuclei import Nuclei


class System(eqx.Module):
    """Electrons, the space they move in and the terms of their energy."""

    cell: eqx.AbstractVar[Cell | None]
    spins: eqx.AbstractVar[tuple[int, int]]
    dimension: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def energies(self) -> tuple[EnergyTerm, ...]:
        """The terms of the Hamiltonian, the kinetic energy among them."""

    @abc.abstractmethod
    def default_orbitals(self) -> Orbitals | tuple[Orbitals, Orbitals]:
        """Orbitals for both spins, or for spin up and spin down, where none are given."""

    @abc.abstractmethod
    def start(self, key: Any, walkers: int) -> Any:
        """Positions to equilibrate from, shape (walkers, d, N)."""

    @property
    @abc.abstractmethod
    def length(self) -> float:
        """A typical distance between electrons, or to a nucleus: the scale of the first step."""

    @property
    @abc.abstractmethod
    def units(self) -> tuple[int, str]:
        """What energies are divided by, and how that is called."""

    @property
    def nuclei(self) -> Nuclei:
        """The nuclei, for terms that stand around them; none unless a system has some."""
        return Nuclei((), self.dimension)

    @property
    def electrons(self) -> int:
        return sum(self.spins)

    @property
    def extent(self) -> float:
        """How far electrons diffuse before they forget where they began: DMC takes it to settle."""
        return 4 * self.length

    @property
    def usual_timestep(self) -> float:
        """A time step of DMC in which electrons diffuse over a small part of `length`."""
        return 0.01 * self.length**2

    def nearest(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Displacements (as components) between electrons, by their nearest image if periodic."""
        return parts if self.cell is None else self.cell.nearest(parts)

    def pair_guess(self, distance: Any, cusp: float) -> Any:
        """A two-body function u to start from, with u'(0) = `cusp`; None if nothing is known."""
        return None

    def displaced(self, carry: Callable[[Any], Any]) -> System:
        """The system with its nuclei moved: carry(places (n, d)) says where places go."""
        raise checks.InputError(
            "system",
            "must be Electrons to have its nuclei moved, but is "
            f"{checks.with_article(type(self).__name__)}",
        )

    def check_twist(self, twist: Any) -> None:
        """Refuse a twist, in units of the reciprocal lattice vectors, that cannot run."""
        return None
