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

VACUUM = 15.0  # bohr: how far outside a slab's nuclei electrons keep the tolerance of energies
FAR = 2.0  # bohr: electrons of lone ions are not farther from them than this


class Crystal(System):
    """`spins` = (up, down) electrons and `nuclei` in a cell with the lattice `vectors`, repeated.

    The rows of `vectors` are in bohr; two of them, with z = 0, make a slab that is repeated in the
    plane of x and y only. The cell may be a supercell: it holds all nuclei and electrons of `cells`
    primitive cells, and energies are per primitive cell. `twist` is in units of the reciprocal
    lattice vectors: the phase that Ψ gains when an electron crosses the cell; orbitals must have
    it. Coulomb energies are Ewald sums, whose series lose less than `tolerance`; a net charge is
    neutralized by a uniform background, which a slab does not have. Pseudopotentials
    integrate over angles with `quadrature` points.

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
        vectors: Sequence[Sequence[float]] | np.ndarray,
        nuclei: Sequence[Nucleus],
        spins: Sequence[int],
        twist: Sequence[float] = (),
        cells: int = 1,
        tolerance: float = 1e-6,
        quadrature: int = 12,
    ):
        given = checks.array("vectors", vectors, (None, 3))
        if len(given) not in (2, 3):
            raise checks.InputError("vectors", f"must be 3, or 2 of a slab, but are {len(given)}")
        self.cell = Cell(given.tolist())
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
        if self.cell.is_slab and abs(self.charge) > 1e-9:
            raise checks.InputError(
                "spins", f"must make a slab neutral, but leave it the charge {self.charge:g}"
            )
        height = np.ptp(self.all_nuclei.positions[:, 2]) + 2 * VACUUM
        ewald = Ewald(self.cell, tolerance, extent=float(height) if self.cell.is_slab else None)
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
