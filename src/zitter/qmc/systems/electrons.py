"""Electrons without boundaries: atoms, molecules, dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.qmc.energies import CoulombEnergy, EnergyTerm, pseudopotential_energies
from zitter.qmc.orbitals import Nodeless
from zitter.qmc.systems.base import System
from zitter.qmc.systems.matter import around, both_spins, matter_energies
from zitter.qmc.systems.nuclei import Nuclei, Nucleus

VALENCE = 4.0  # bohr: how far the outer electrons of atoms are from one another


class Electrons(System):
    """`spins` = (up, down) electrons that repel each other, bound by `nuclei` or other `terms`.

    `terms` are added to the kinetic energy and the Coulomb energy of electrons and nuclei, such as
    `ExternalPotential(V)`. `length` is the scale of the first steps: unless given 1/Z of the
    heaviest bare nucleus, and 1 bohr around pseudopotentials. These integrate over angles with
    `quadrature` points: 4, 6, 12, 18, 26, 32 or 50. Energies are totals.

        helium = zt.qmc.Electrons(spins=(1, 1), nuclei=[zt.qmc.Nucleus(Z=2)])
    """

    cell: None
    all_nuclei: Nuclei
    terms: tuple[EnergyTerm, ...]
    pseudopotentials: tuple[EnergyTerm, ...]
    scale: Any
    spins: tuple[int, int] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(
        self,
        spins: Sequence[int],
        nuclei: Sequence[Nucleus] = (),
        terms: Sequence[EnergyTerm] = (),
        dimension: int = 3,
        length: float | str | None = None,
        quadrature: int = 12,
    ):
        runtime.settings()  # tables in double precision
        self.cell = None
        self.dimension = checks.choice("dimension", dimension, (2, 3))
        self.spins = both_spins(spins)
        self.all_nuclei = Nuclei(nuclei, dimension)
        places = np.asarray(self.all_nuclei.positions)
        apart = np.linalg.norm(places[:, None] - places[None, :], axis=-1)
        if np.any(apart[np.triu_indices(len(places), 1)] < 1e-6):
            raise checks.InputError("nuclei", "must be at different places, but two are at one")
        checks.listed("terms", terms, EnergyTerm)
        self.terms = tuple(terms)
        if not nuclei and not terms:
            raise checks.InputError("nuclei", "must hold one, or terms one that binds electrons")
        if length is None and not nuclei:
            raise checks.InputError("length", "must be given where there is no nucleus")
        self.pseudopotentials = pseudopotential_energies(self.all_nuclei, None, quadrature)
        self.scale = (
            np.float64(_scale(self.all_nuclei))
            if length is None
            else checks.positive("length", length, "length")
        )

    @property
    def nuclei(self):
        return self.all_nuclei

    @property
    def charges(self) -> Any:
        return self.all_nuclei.charges

    @property
    def positions(self) -> Any:
        return self.all_nuclei.positions

    @property
    def energies(self):
        coulomb = CoulombEnergy(self.charges, self.positions)
        return (*matter_energies(coulomb, self.pseudopotentials), *self.terms)

    def displaced(self, carry):
        changed = (
            carry(self.all_nuclei.positions),
            *(tuple(term.displaced(carry) for term in terms)
              for terms in (self.terms, self.pseudopotentials)),
        )  # fmt: skip
        where = lambda s: (s.all_nuclei.positions, s.terms, s.pseudopotentials)  # noqa: E731
        return eqx.tree_at(where, self, changed)

    def default_orbitals(self):
        if len(self.charges) != 1 or max(self.spins) > 1 or not self.nuclei.bare[0]:
            raise checks.InputError(
                "orbitals",
                "must be given, but for one bare nucleus with at most one electron of each spin",
            )
        # In two dimensions the cusp of −Z/r is 2Z: φ'/φ = −2Z/(d−1) at the nucleus.
        zeta = 2 * self.charges[0] / (self.dimension - 1)
        return Nodeless(zeta, center=self.positions[0])

    def start(self, key, walkers):
        """Around the nuclei in turn, as far as electrons of its lowest orbital are."""
        shape = (walkers, self.dimension, self.electrons)
        cloud = self.length * jax.random.normal(key, shape, jnp.float64)
        if len(self.charges) == 0:
            return cloud
        return cloud + jnp.asarray(around(self.all_nuclei, self.electrons))

    @property
    def length(self):
        return float(self.scale)

    @property
    def extent(self):
        """Valence electrons are some bohr away from a nucleus, whatever its charge."""
        return max(4 * self.length, VALENCE) if len(self.charges) else 4 * self.length

    @property
    def units(self):
        return 1, "hartree"


def _scale(nuclei: Nuclei) -> float:
    """The size of the lowest orbital: 1/Z around bare nuclei, that of valence electrons else."""
    bare = nuclei.charges[nuclei.bare]
    return float(1 / np.max(bare)) if len(bare) else 1.0
