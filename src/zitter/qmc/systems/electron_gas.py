"""The homogeneous electron gas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.qmc.cells import LATTICES, Cell, closed_shells
from zitter.qmc.energies import Ewald, EwaldEnergy, KineticEnergy
from zitter.qmc.orbitals.plane_waves import PlaneWaves, is_closed_shell, lowest
from zitter.qmc.systems.base import System

MOST = 100_000  # electrons: determinants have a number for each pair
SMALLEST, LARGEST = 1e-6, 1e6  # r_s: far beyond any gas


class ElectronGas(System):
    """N electrons and a uniform background in a periodic cell, at the density parameter r_s.

    `lattice` is a name (sc, fcc, bcc; square, triangular) or lattice vectors, which are scaled to
    the volume N·4πr_s³/3 (area N·πr_s²). `polarization` is (N↑ − N↓)/N. `twist` is in units of the
    reciprocal lattice vectors; 0 gives real wave functions. Energies are per electron.
    """

    cell: Cell
    ewald: Ewald | None
    rs: Any
    twist: Any
    spins: tuple[int, int] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    lattice: str = eqx.field(static=True)
    allow_open_shell: bool = eqx.field(static=True)

    def __init__(
        self,
        n: int,
        rs: float,
        dimension: int = 3,
        lattice: str | Sequence[Sequence[float]] | None = None,
        polarization: float = 0.0,
        twist: Sequence[float] = (),
        allow_open_shell: bool = False,
        interacting: bool = True,
        tolerance: float = 1e-6,
    ):
        n = checks.integer("n", n, 1, MOST)
        self.rs = checks.positive("rs", rs, "length")
        if not checks.is_traced(self.rs) and not SMALLEST <= self.rs <= LARGEST:
            raise checks.InputError(
                "rs",
                f"must be between {checks.as_given(SMALLEST)} and {checks.as_given(LARGEST)}, but "
                f"is {checks.as_given(rs)}",
            )
        self.dimension = checks.choice("dimension", dimension, (2, 3))
        if lattice is None:
            lattice = "sc" if dimension == 3 else "square"
        volume = n * (4 * np.pi / 3 * self.rs**3 if dimension == 3 else np.pi * self.rs**2)
        self.cell = Cell.of_lattice(lattice, float(volume), dimension)
        self.lattice = self.cell.name
        self.spins = _spins(n, polarization)
        shift = np.zeros(dimension) if len(twist) == 0 else checks.array("twist", twist)
        if shift.shape != (dimension,):
            raise checks.InputError(
                "twist", f"must have {dimension} components, but has shape {shift.shape}"
            )
        self.twist = shift
        self.ewald = Ewald(self.cell, tolerance) if interacting else None
        self.allow_open_shell = checks.boolean("allow_open_shell", allow_open_shell)
        self.check_twist(shift)

    def check_twist(self, twist):
        """Refuse a twist at which a shell stays open, unless that is allowed."""
        if not self.allow_open_shell:
            _require_closed(self.cell, self.spins, np.asarray(twist), self.electrons)

    @property
    def energies(self):
        interaction = () if self.ewald is None else (EwaldEnergy(self.ewald),)
        return (KineticEnergy(), *interaction)

    def default_orbitals(self):
        twist = np.asarray(self.twist) if np.any(np.asarray(self.twist) != 0) else ()
        return PlaneWaves(self.cell, max(self.spins), twist)

    def start(self, key, walkers):
        shape = (walkers, self.dimension, self.electrons)
        fractions = jax.random.uniform(key, shape, jnp.float64)
        return jnp.einsum("wan,ab->wbn", fractions, self.cell.vectors)

    @property
    def length(self):
        return float(self.rs)

    @property
    def units(self):
        return self.electrons, "hartree per electron"

    def pair_guess(self, distance, cusp):
        """The plasmon form −(A/r)(1 − e^{−r/F}) with F² = A/2Γ.

        A = 1/ω_p makes the long-wavelength limit of the random phase approximation; F then follows
        from the cusp Γ.
        """
        if self.ewald is None:
            return None
        rs = float(self.rs)
        strength = math.sqrt(rs**3 / 3) if self.dimension == 3 else math.sqrt(rs**3 / 2)
        decay = math.sqrt(strength / (2 * cusp))
        return -strength / distance * (1 - np.exp(-distance / decay))

    def hartree_fock(self) -> tuple[float, float, float]:
        """(total, kinetic, potential) energy per electron of the plane-wave determinant, exactly.

        The exchange of two plane waves of like spin is −(4π/Ω)/|k−k'|² (2D: −(2π/A)/|k−k'|), and
        ½v_M is what each electron gains from its own images and the background.
        """
        shift = np.asarray(self.twist)
        if not np.any(shift) and not all(is_closed_shell(self.cell, n, shift) for n in self.spins):
            # Real orbitals of a part of a shell have a density that is not uniform.
            raise checks.InputError("n", f"must fill closed shells, but is {self.electrons}")
        kinetic = exchange = 0.0
        for count in self.spins:
            if count == 0:
                continue
            k = (lowest(self.cell, count, shift)[0][:count] + shift) @ self.cell.reciprocal
            kinetic += 0.5 * float(np.sum(k**2))
            gaps = np.linalg.norm(k[:, None] - k[None, :], axis=-1)[~np.eye(count, dtype=bool)]
            if self.dimension == 3:
                exchange -= 0.5 * float(np.sum(4 * np.pi / (self.cell.volume * gaps**2)))
            else:
                exchange -= 0.5 * float(np.sum(2 * np.pi / (self.cell.volume * gaps)))
        n = self.electrons
        potential = 0.0
        if self.ewald is not None:
            potential = exchange / n + 0.5 * float(self.ewald.madelung)
        return kinetic / n + potential, kinetic / n, potential


def _spins(n: int, polarization: float) -> tuple[int, int]:
    value = float(checks.scalar("polarization", polarization))
    up = n * (1 + value) / 2
    if value == 0 and n % 2:
        raise checks.InputError("n", f"must be even where polarization is 0, but is {n}")
    if not 0 <= value <= 1 or abs(up - round(up)) > 1e-9:
        raise checks.InputError(
            "polarization",
            f"must be between 0 and 1 and give whole numbers of electrons of each spin, "
            f"but is {value:g} for {n} electrons",
        )
    return round(up), n - round(up)


def _require_closed(cell: Cell, spins: tuple[int, int], shift: np.ndarray, n: int) -> None:
    if all(is_closed_shell(cell, count, shift) for count in spins):
        return
    polarized = spins[1] == 0
    advice = ""
    if cell.name in LATTICES and (polarized or spins[0] == spins[1]):
        sizes = closed_shells(cell.name, 2 * n + 60, polarized, tuple(shift))
        below = [size for size in sizes if size < n][-2:]
        above = [size for size in sizes if size > n][:2]
        advice = f" (near it: {', '.join(map(str, below + above))})"
    raise checks.InputError(
        "n",
        f"must fill closed shells of plane waves{advice} unless allow_open_shell is true, "
        f"but is {n}",
    )
