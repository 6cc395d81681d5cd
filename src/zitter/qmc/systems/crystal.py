"""Periodic matter: electrons and nuclei in a cell that is repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import Cell, squared
from zitter.qmc.energies import CrystalEnergy, EnergyTerm, Ewald, pseudopotential_energies
from zitter.qmc.systems.base import System
from zitter.qmc.systems.matter import around, both_spins, matter_energies
from zitter.qmc.systems.nuclei import Nuclei, Nucleus

FAR = 2.0  # bohr: electrons of lone ions are not farther from them than this


class Crystal(System):
    """`spins` = (up, down) electrons and `nuclei` in a cell with the lattice `vectors`, repeated.

    The rows of `vectors` are in bohr. The cell may be a supercell: it holds all nuclei and
    electrons of `cells` primitive cells, and energies are per primitive cell. `twist` is in units
    of the reciprocal lattice vectors: what Ψ gains when an electron crosses the cell; orbitals must
    have it. Coulomb energies are Ewald sums, whose series lose less than `tolerance`; a net charge
    is neutralized by a uniform background. Pseudopotentials integrate over angles with `quadrature`
    points.

        lih = zt.qmc.Crystal(vectors, [zt.qmc.Nucleus(3), zt.qmc.Nucleus(1, (0, 0, 3.8))], (2, 2))
    """

    cell: Cell
    all_nuclei: Nuclei
    coulomb: CrystalEnergy
    pseudopotentials: tuple[EnergyTerm, ...]
    twist: Any
    scale: Any
    spins: tuple[int, int] = eqx.field(static=True)
    cells: int = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(
        self,
        vectors: Sequence[Sequence[float]],
        nuclei: Sequence[Nucleus],
        spins: Sequence[int],
        twist: Sequence[float] = (),
        cells: int = 1,
        tolerance: float = 1e-6,
        quadrature: int = 12,
    ):
        self.cell = Cell(checks.array("vectors", vectors, (3, 3)).tolist())
        self.dimension = 3
        self.spins = both_spins(spins)
        self.all_nuclei = Nuclei(nuclei, 3)
        if not nuclei:
            raise checks.InputError("nuclei", "must hold one; without any it is an ElectronGas")
        self.cells = checks.integer("cells", cells, 1)
        self.twist = checks.array("twist", twist if len(twist) else (0.0,) * self.cell.dimension)
        self.check_twist(self.twist)
        closest = _closest(self.cell, self.all_nuclei.positions)
        if closest < 1e-6:
            raise checks.InputError("nuclei", "must be at different places, but two are at one")
        self.scale = np.float64(_scale(closest, self.all_nuclei))
        self.pseudopotentials = pseudopotential_energies(self.all_nuclei, self.cell, quadrature)
        ewald = Ewald(self.cell, tolerance)
        self.coulomb = CrystalEnergy(ewald, self.all_nuclei.charges, self.all_nuclei.positions)

    @property
    def nuclei(self):
        return self.all_nuclei

    @property
    def energies(self):
        return matter_energies(self.coulomb, self.pseudopotentials)

    @property
    def charge(self) -> float:
        """The net charge of the cell, which a uniform background neutralizes."""
        return float(np.sum(self.all_nuclei.charges)) - self.electrons

    def check_twist(self, twist):
        checks.array("twist", twist, (self.cell.dimension,))

    def default_orbitals(self):
        raise checks.InputError(
            "orbitals",
            "must be given for a Crystal, such as those of a mean-field calculation "
            "(zt.qmc.from_pyscf)",
        )

    def start(self, key, walkers):
        """Around the nuclei in turn, as far as `length`."""
        shape = (walkers, self.dimension, self.electrons)
        cloud = self.length * jax.random.normal(key, shape, jnp.float64)
        return cloud + jnp.asarray(around(self.all_nuclei, self.electrons))

    @property
    def length(self):
        return float(self.scale)

    @property
    def units(self):
        return self.cells, "hartree per cell"


def _closest(cell: Cell, positions: np.ndarray) -> float:
    """The shortest distance between nuclei, images included."""
    apart = cell.nearest([x[:, None] - x[None, :] for x in positions.T])
    distance = np.sqrt(np.asarray(squared(apart)))
    distance[np.diag_indices(len(positions))] = 2 * cell.inradius
    return float(np.min(distance))


def _scale(closest: float, nuclei: Nuclei) -> float:
    """Half the way between neighbours, and 1/Z of the heaviest bare nucleus if that is less."""
    bare = 1 / nuclei.charges[nuclei.bare]
    return float(np.min([closest / 2, FAR, *bare]))
