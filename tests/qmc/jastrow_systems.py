"""Electrons around nuclei, with and without a cell, for tests of Jastrow terms."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter.qmc import ElectronGas, Electrons, Nucleus, System
from zitter.qmc.cells import Cell
from zitter.qmc.jastrow import Jastrow
from zitter.qmc.systems.nuclei import Nuclei

NUCLEI = [
    Nucleus(3, (0.1, 0.2, 0.3), "Li"),
    Nucleus(1, (1.7, -0.2, 0.4), "H"),
    Nucleus(1, (-1.1, 1.2, -0.7), "H"),
]


class Ions(System):
    """An electron gas with nuclei in it: what a Jastrow factor needs of a crystal."""

    gas: ElectronGas
    all_nuclei: Nuclei
    cell: Cell | None
    spins: tuple[int, int] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(self, gas: ElectronGas, nuclei: list[Nucleus]):
        self.gas, self.all_nuclei = gas, Nuclei(nuclei)
        self.cell, self.spins, self.dimension = gas.cell, gas.spins, gas.dimension

    @property
    def energies(self) -> Any:
        return self.gas.energies

    def default_orbitals(self):
        return self.gas.default_orbitals()

    def start(self, key, walkers):
        return self.gas.start(key, walkers)

    @property
    def length(self):
        return self.gas.length

    @property
    def units(self):
        return 1, "hartree"

    @property
    def nuclei(self):
        return self.all_nuclei


def molecule() -> Electrons:
    return Electrons((3, 2), NUCLEI)


def solid() -> Ions:
    gas = ElectronGas(5, 1.5, polarization=0.2, lattice="fcc", allow_open_shell=True)
    return Ions(gas, NUCLEI)


SYSTEMS = {"molecule": molecule, "solid": solid}


def random_jastrow(system: System, terms: list, seed: int = 0) -> Any:
    """All parameters, free cutoffs among them, moved by random numbers."""
    jastrow = Jastrow(system, terms)
    noise = jax.random.normal(jax.random.PRNGKey(seed), jastrow.parameters.shape, jnp.float64)
    return jastrow.with_parameters(jastrow.parameters + 0.3 * noise)


def places(system: System, seed: int = 1) -> jax.Array:
    """One configuration (d, N) that is dense enough for every term to act."""
    spread = 1.2 * jax.random.normal(jax.random.PRNGKey(seed), (3, system.electrons), jnp.float64)
    return spread + jnp.asarray(system.nuclei.positions.T)[:, jnp.arange(system.electrons) % 3]
