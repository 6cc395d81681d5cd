"""Thorpe et al., second half: quantum Monte Carlo of atoms, molecules and solids.

Atoms and molecules are compared with published energies: u + χ + f optimized from its default
start, VMC, and DMC at two time steps, extrapolated to none. Silicon on blips is run in both
precisions and beside Gaussians (section 6.2), the time of a sweep of boron nitride is told by part
(Fig. 8). The paper's own pseudopotentials are not to be had: ccECP stands in their place, so that
energies of solids are our own. `--full` takes the paper's sizes and wants a GPU.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path

import numpy as np

from zitter import runtime
from zitter.qmc import (
    Chi,
    F,
    LinearMethod,
    Samples,
    SlaterJastrow,
    U,
    dmc,
    extrapolate,
    from_pyscf,
    optimize,
    vmc,
)
from zitter.reproduce import matter_solids
from zitter.reproduce.report import Report, Row
from zitter.reproduce.side_by_side import share_memory, side_by_side

# Orbitals by PySCF (benchmarks/make_matter_orbitals.py), and the energies it found.
ORBITALS = Path(__file__).parent / "matter"


@dataclasses.dataclass(frozen=True)
class Atoms:
    """An atom or molecule: what is published of it, and the time steps of DMC."""

    name: str
    label: str
    exact: float
    variational: tuple[float, str] | None  # energy, where from
    projected: tuple[float, float, float, str]  # lowest and highest energy, margin, where from
    timesteps: tuple[float, float]
    # Largest error bars of VMC and DMC that the default run lets pass (hartree), a choice by what
    # its samples reach; energies may miss by three times as much.
    noise: tuple[float, float]


CASINO = "CASINO with u + χ + f"
ATOMS = (
    Atoms("he", "He", -2.903724, (-2.903685, CASINO),
          (-2.903724, -2.903724, 2e-4, "exact"), (0.02, 0.04), (1e-3, 1.5e-3)),
    Atoms("be", "Be", -14.66736, (-14.65059, CASINO),
          (-14.65711, -14.65711, 0.0, CASINO), (0.005, 0.01), (3e-3, 8e-3)),
    Atoms("h2", "H2", -1.174476, None, (-1.174476, -1.174476, 3e-4, "exact"), (0.02, 0.04),
          (1.5e-3, 2e-3)),
    Atoms("lih", "LiH", -8.070548, None, (-8.070548, -8.070548, 1e-3, "exact"), (0.01, 0.02),
          (3e-3, 8e-3)),
    Atoms(
        "c", "C with ccECP", -5.41753, (-5.39389, "Annaberdiyev et al. 2020"),
        (-5.4052, -5.4039, 1.5e-3, "Annaberdiyev et al. 2020, two codes"), (0.02, 0.04),
        (4e-3, 1e-2),
    ),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is sampled."""

    walkers: int
    optimizing: tuple[int, int]  # walkers and iterations
    variational: int  # blocks
    projected: int  # blocks of DMC, each of a fifth of an atomic unit of time
    part: tuple[float, float]  # of the error bars of VMC and DMC above that are let pass


SMALL = Size(256, (256, 5), 60, 40, (1.0, 1.0))
FULL = Size(16384, (4096, 12), 150, 300, (1 / 8, 1 / 16))
# What VMC without a Jastrow factor may miss in the full run (hartree), three times its largest
# error bar: a choice.
HARTREE_FOCK = 7.5e-3
# What DMC of helium may miss from a wave function that is 0.042 hartree too high, three times its
# largest error bar: a choice, by what 640 blocks reach.
FROM_LITTLE = 0.012


# Systems that know nothing of each other; those that take longest come first.
PARTS = ("si", "c", "bn", "be", "lih", "h2", "he")


def run(full: bool = False, out: Path | None = None, progress: bool = False) -> Report:
    started = time.perf_counter()
    share_memory()
    told = runtime.describe()
    on_cpu = runtime.on_host()
    at_once = min(2 if on_cpu else len(PARTS), os.cpu_count() or 1)
    # What is timed runs alone; in the default size only shares of the time count.
    timed = ("bn",) if full else ()
    others = tuple(part for part in PARTS if part not in timed)
    found = side_by_side(__name__, others, full, at_once, progress)
    found |= {part: rows_of(part, full, progress) for part in timed}
    rows = [row for part in (*(a.name for a in ATOMS), "si", "bn") for row in found[part]]
    notes = [matter_solids.NOTE]
    if not full:
        notes.insert(0, "Fewer samples, and small cells of the solids: --full takes all, on a GPU.")
    figures = [str(_figure(out, rows))] if out is not None else []
    seconds = time.perf_counter() - started
    return Report("qmc-matter", rows, seconds, told["device"], told["precision"], notes, figures)


def rows_of(part: str, full: bool, progress: bool = False) -> list[Row]:
    """The rows of one system."""
    if part == "si":
        return matter_solids.silicon(ORBITALS / "si.chk", full, progress)
    if part == "bn":
        return matter_solids.nitride(ORBITALS / "bn.chk", full)
    energies = json.loads((ORBITALS / "energies.json").read_text(encoding="utf-8"))
    atoms = next(atoms for atoms in ATOMS if atoms.name == part)
    rows = atoms_rows(atoms, energies[part], FULL if full else SMALL, full, progress)
    return [*rows, _from_little(atoms, progress)] if part == "he" else rows


def orbitals(name: str, jastrow: tuple = (), cusp: bool = True) -> SlaterJastrow:
    return from_pyscf(ORBITALS / f"{name}.chk", jastrow, cusp)


def atoms_rows(atoms: Atoms, known: dict, size: Size, full: bool, progress: bool) -> list[Row]:
    rows = []
    if full:
        rows.append(_hartree_fock(atoms, known, size))
    psi = orbitals(atoms.name, (U(), Chi(), F()))
    walkers, iterations = size.optimizing
    psi = optimize(psi, LinearMethod(iterations), walkers=walkers, progress=progress).wavefunction
    # A seed of its own: the optimization has seen the walk of its seed.
    found = vmc(psi, walkers=size.walkers, blocks=size.variational, seed=1, progress=progress)
    label = f"VMC energy, {atoms.label} (hartree)"
    if atoms.variational is None:
        rows.append(Row(label, found.energy, found.energy_error, source="zitter"))
    else:
        reference, source = atoms.variational
        # A better Jastrow factor lies lower: only what is higher by more than a thousandth of a
        # hartree, or lower than any wave function can be, is wrong.
        rows.append(
            Row.sampled(
                label, found.energy, found.energy_error, reference,
                3 * size.part[0] * atoms.noise[0], source,
                above=1e-3, below=reference - atoms.exact,
            )
        )  # fmt: skip
    rows.append(_projected(atoms, psi, found, size, progress))
    return rows


def _hartree_fock(atoms: Atoms, known: dict, size: Size) -> Row:
    """Without a Jastrow factor VMC is Hartree–Fock; a cusp in the orbitals would change them."""
    bare = vmc(orbitals(atoms.name, cusp=False), walkers=size.walkers, blocks=size.variational)
    label = f"Hartree–Fock energy by VMC, {atoms.label} (hartree)"
    error = bare.energy_error
    return Row.sampled(label, bare.energy, error, known["energy"], HARTREE_FOCK, "PySCF")


def _projected(
    atoms: Atoms, psi: SlaterJastrow, before: Samples, size: Size, progress: bool
) -> Row:
    """DMC at two time steps, in equal stretches of imaginary time, and its limit."""
    energies, errors = [], []
    for tau in atoms.timesteps:
        found = dmc(
            psi, tau, size.walkers, size.projected, steps=round(0.2 / tau),
            start=before.positions, progress=progress,
        )  # fmt: skip
        energies.append(found.energy)
        errors.append(found.energy_error)
    value, error, _ = extrapolate(atoms.timesteps, energies, errors)
    low, high, margin, source = atoms.projected
    apart = 0.5 * (high - low) + margin
    label = f"DMC energy, {atoms.label}, τ → 0 (hartree)"
    return Row.sampled(
        label, value, error, 0.5 * (low + high), 3 * size.part[1] * atoms.noise[1], source,
        above=apart, below=apart,
    )  # fmt: skip


def _from_little(atoms: Atoms, progress: bool) -> Row:
    """Helium has no nodes: DMC ends at its exact energy, also from plain Hartree–Fock orbitals.

    From a good wave function little is left to do, and rows would hold if nothing were done.
    """
    found = dmc(orbitals(atoms.name), 0.02, 256, 640, progress=progress)
    label = f"DMC energy, {atoms.label}, without a Jastrow factor (hartree)"
    return Row.sampled(label, found.energy, found.energy_error, atoms.exact, FROM_LITTLE, "exact")


def _figure(out: Path, rows: list[Row]) -> Path:
    """How far each energy lies from the one it is compared with, in thousandths of a hartree."""
    from zitter.plot import style

    shown = [row for row in rows if row.reference is not None and "energy" in row.quantity]
    figure = style.new_figure()
    axes = style.dress(figure.add_subplot())
    places = np.arange(len(shown))[::-1]
    offsets = [1e3 * (row.value - (row.reference or 0.0)) for row in shown]
    axes.errorbar(offsets, places, xerr=[1e3 * (row.error or 0.0) for row in shown], fmt="o", ms=4)
    axes.axvline(0, color="0.6", lw=0.8)
    axes.set_yticks(places, [row.quantity.partition(" (hartree")[0] for row in shown], fontsize=7)
    axes.set_xlabel("difference to the reference (millihartree)")
    return Path(style.save(figure, out / "qmc-matter.png"))
