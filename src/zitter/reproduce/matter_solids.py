"""Silicon in both precisions, on blips and on Gaussians; the time of a sweep of boron nitride."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zitter.qmc import Chi, EnergyTerm, F, JastrowTerm, SlaterJastrow, U, from_pyscf, vmc
from zitter.qmc.walk.variational import fresh_walkers
from zitter.reproduce.report import Row
from zitter.reproduce.sweep_costs import (
    best_seconds,
    program_of,
    several_sweeps,
    taken_longer,
    times_in_turn,
)

SPLINES = 1e-3  # relative error of orbitals that blips may have
# What a sweep is timed with, one more term at a time, as the paper's Fig. 8 has them.
TERMS: dict[str, JastrowTerm] = {"u": U(6), "χ": Chi(6), "f": F(2, 2)}
NOTE = (
    "ccECP stands for the pseudopotentials of the paper, which are not to be had: its energies of "
    "silicon cannot be compared with, its question (do precisions agree?) can."
)


@dataclasses.dataclass(frozen=True)
class Size:
    """Supercells, walkers and blocks."""

    silicon: tuple[int, int, int]
    nitride: tuple[int, int, int]
    walkers: tuple[int, int]  # of silicon, and of boron nitride
    blocks: int
    noise: float  # hartree per cell, three times the largest error bar that is let pass: a choice


SMALL = Size((1, 1, 2), (3, 1, 1), (128, 32), 40, 0.06)
FULL = Size((2, 2, 2), (9, 9, 1), (256, 256), 200, 7.5e-3)


def silicon(file: Path, full: bool, progress: bool) -> list[Row]:
    """VMC energies per primitive cell; every run has a seed of its own."""
    size = FULL if full else SMALL
    jastrow = [U(6)]
    by_blips = from_pyscf(file, jastrow, supercell=size.silicon, blips=SPLINES)
    by_gaussians = from_pyscf(file, jastrow, supercell=size.silicon)
    cells = "×".join(map(str, size.silicon))

    def energy(psi: SlaterJastrow, precision: str, seed: int) -> tuple[float, float]:
        found = vmc(
            psi, size.walkers[0], size.blocks, precision=precision, seed=seed, progress=progress
        )
        return found.energy, found.energy_error

    double = energy(by_blips, "double", 0)
    made = []
    for what, psi, precision, seed in (
        ("blips in single precision", by_blips, "single", 1),
        ("Gaussians in double precision", by_gaussians, "double", 2),
    ):
        value, error = energy(psi, precision, seed)
        noise = float(np.hypot(error, double[1]))
        made.append(
            Row.sampled(
                f"VMC energy, Si {cells}, {what} (hartree per cell)", value, noise, double[0],
                size.noise, "zitter, blips in double precision",
            )
        )  # fmt: skip
    return made


def nitride(file: Path, full: bool) -> list[Row]:
    """Milliseconds per walker of one sweep, and of the local energy."""
    size = FULL if full else SMALL
    electrons, times = sweep_times(file, size)
    label = f"hBN, N = {electrons}, ms per walker"
    made = [
        Row(
            f"{label}: {kind}" if kind.startswith("energy") else f"{label}: sweep, {kind}",
            1e3 * min(some) / size.walkers[1], source="zitter",
        )
        for kind, some in times.items()
    ]  # fmt: skip
    return made + shares(f"hBN, N = {electrons}", {k: times[k] for k in ("orbitals", *TERMS)})


def shares(label: str, times: dict[str, list[float]]) -> list[Row]:
    """What each kind of sweep takes longer than the one before it, of the last and whole one.

    Sweeps were timed in turns; what is within the noise of these differences is said to be so.
    """
    kinds = list(times)
    whole = min(times[kinds[-1]])
    made = [Row(f"{label}, share of {kinds[0]} in the sweep", min(times[kinds[0]]) / whole,
                source="zitter")]  # fmt: skip
    for before, kind in itertools.pairwise(kinds):
        more, noise = taken_longer(times[kind], times[before])
        quantity = f"{label}, share of {kind} in the sweep"
        made.append(Row.difference(quantity, more / whole, noise / whole))
    return made


def sweep_times(file: Path, size: Size) -> tuple[int, dict[str, list[float]]]:
    """(electrons, seconds of a sweep of all walkers with more and more terms, and of each energy).

    Of energies one time, the shortest.
    """
    used: list[JastrowTerm] = []
    psi = _wavefunction(file, size, used)
    r = psi.system.start(jax.random.PRNGKey(1), size.walkers[1])
    sweeps = {"orbitals": _sweep(psi, r)}
    for name, term in TERMS.items():
        used.append(term)
        psi = _wavefunction(file, size, used)
        sweeps[name] = _sweep(psi, r)
    found = times_in_turn(sweeps)
    walkers = fresh_walkers(psi, r, jnp.float64)
    for term in psi.system.energies:
        found[f"energy, {type(term).__name__}"] = [_energy_seconds(psi, term, walkers)]
    return int(psi.system.electrons), found


def _wavefunction(file: Path, size: Size, jastrow: Sequence[JastrowTerm]) -> SlaterJastrow:
    return from_pyscf(file, list(jastrow), supercell=size.nitride, blips=SPLINES)


def _sweep(psi: SlaterJastrow, r: Any) -> Callable[[], Any]:
    walkers = fresh_walkers(psi, r, jnp.float64)
    width = jnp.asarray(0.4 * psi.system.length)
    run = program_of(
        lambda psi, w, s: several_sweeps(psi, w, s, 1, jnp.float64), psi, walkers, width
    )
    return lambda: run(walkers, width)


def _energy_seconds(psi: SlaterJastrow, term: EnergyTerm, walkers: Any) -> float:
    key = jax.random.PRNGKey(0)
    evaluate = lambda psi, w: jax.vmap(lambda one: term.evaluate(psi, one, key))(w)  # noqa: E731
    run = program_of(evaluate, psi, walkers)
    return best_seconds(lambda: run(walkers))
