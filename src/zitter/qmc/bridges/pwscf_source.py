"""Ψ from plane-wave orbitals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from zitter import checks
from zitter.qmc.bridges import folding, plane_wave_orbitals, pwscf_records
from zitter.qmc.bridges.gaussian_potentials import set_name
from zitter.qmc.bridges.plane_wave_orbitals import Filled
from zitter.qmc.bridges.potential_sets import pseudopotential
from zitter.qmc.bridges.potentials import NONE
from zitter.qmc.bridges.pwscf_records import PlaneWaveFile
from zitter.qmc.jastrow import JastrowTerm
from zitter.qmc.orbitals import BlipFilter, Orbitals, blips_from_plane_waves
from zitter.qmc.orbitals.real_parts import RealParts
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.systems import Crystal
from zitter.qmc.systems.nuclei import Nucleus
from zitter.qmc.systems.pseudopotentials import Pseudopotential

Potentials = str | Mapping[str, str | Pseudopotential | None]


def from_pwscf(
    file: str | os.PathLike[str],
    pseudopotentials: Potentials,
    jastrow: Sequence[JastrowTerm] = (),
    *,
    supercell: Any = None,
    twist: Sequence[float] | None = None,
    multiplicity: float = 2.0,
    filter: BlipFilter | None = None,
    stored: str = "float64",
    tolerance: float = 1e-6,
    delay: int | None = None,
) -> SlaterJastrow:
    """Ψ with the orbitals of an ES-HDF file (`pwscf.h5`), as blips; `psi.system` is a `Crystal`.

    The file does not hold pseudopotentials: `pseudopotentials` names a set for all elements
    ("ccecp") or says for each what it is, `{"Si": "ccecp"}`, a `Pseudopotential`, or "none" (or
    None) for a bare nucleus. They must leave the charges that the file states.

    `supercell` is three numbers, or a matrix of integers, of primitive cells; without it the
    k-points of the file are taken for a mesh. `twist`, in reciprocal vectors of the supercell, is
    that of the first k-point unless given. The lowest states of these k-points are filled; where
    they are closed under time reversal, orbitals are real. `multiplicity`, `filter` and `stored`
    are those of `blips_from_plane_waves`, `tolerance` that of the Ewald sums.

        psi = zt.qmc.from_pwscf("pwscf.h5", "ccecp", supercell=(2, 2, 2))
    """
    found = pwscf_records.read(file)
    nuclei = _nuclei(found, pseudopotentials)
    fold = folding.folded(found.fractions, supercell, twist)
    S, cells = np.asarray(fold.supercell), fold.cells
    counts = [n * cells for n in found.electrons]
    k = [found.fractions[i] for i in fold.chosen]
    per_spin = [
        plane_wave_orbitals.fill([states[i] for i in fold.chosen], np.asarray(k), count)
        for states, count in zip((found.states[0], found.states[-1]), counts, strict=True)
        if count
    ]
    if len(per_spin) == 2 and len(found.states) == 1 and counts[0] == counts[1]:
        per_spin = per_spin[:1]
    sets = [_orbitals(one, found.vectors, multiplicity, filter, stored) for one in per_spin]
    if counts[0] < counts[1]:  # a mean field may have its minority spin up
        counts, sets = counts[::-1], sets[::-1]
    shifts = folding.translations(S) @ found.vectors
    placed = [
        Nucleus(n.Z, np.asarray(n.position) + shift, n.symbol, n.pseudopotential)
        for shift in shifts
        for n in nuclei
    ]
    system = Crystal(
        (S @ found.vectors).tolist(), placed, counts, fold.twist.tolist(), cells, tolerance
    )
    return SlaterJastrow(system, jastrow, sets, delay=delay)


def _orbitals(
    filled: list[Filled],
    vectors: np.ndarray,
    multiplicity: float,
    filter: BlipFilter | None,
    stored: str,
) -> Orbitals:
    """Blips of the states of one spin, real where time reversal allows."""
    real = plane_wave_orbitals.real_forms(filled)
    used = filled if real is None else real
    reciprocal = 2 * np.pi * np.linalg.inv(vectors).T
    norm = np.sqrt(abs(np.linalg.det(vectors)))
    amplitudes = [c / norm for one in used for c in one.amplitudes]
    integers = [one.integers for one in used for _ in one.amplitudes]
    k = np.asarray([one.fractions @ reciprocal for one in used for _ in one.amplitudes])
    blips = blips_from_plane_waves(
        amplitudes, integers, vectors, k, multiplicity=multiplicity, filter=filter, stored=stored
    )
    if real is None or not blips.is_complex:
        return blips
    both = [one.both for one in used for _ in one.amplitudes]
    return RealParts(blips, [(j, part) for j, two in enumerate(both) for part in range(1 + two)])


def _nuclei(found: PlaneWaveFile, wanted: Potentials) -> list[Nucleus]:
    """The atoms of the primitive cell with their pseudopotentials, whose charges must fit."""
    kinds = {symbol: _potential(symbol, found.charges[symbol], wanted) for symbol in found.charges}
    if isinstance(wanted, Mapping):
        for symbol in wanted:
            if symbol not in kinds:
                raise checks.InputError(
                    f"pseudopotentials.{symbol}",
                    f"must be for an element of {found.name}, {', '.join(sorted(kinds))}",
                )
    return [
        Nucleus(found.charges[symbol], position, symbol, kinds[symbol])
        for symbol, position in zip(found.symbols, found.positions, strict=True)
    ]


def _potential(symbol: str, charge: float, wanted: Potentials) -> Pseudopotential | None:
    key = f"pseudopotentials.{symbol}"
    if not isinstance(wanted, str | Mapping):
        raise checks.InputError(
            "pseudopotentials",
            f"must be a name or a table by element, but is {checks.shown(wanted)}",
        )
    if isinstance(wanted, Mapping) and symbol not in wanted:
        raise checks.InputError(
            key, 'must be given: the file does not hold it ("none" stands for a bare nucleus)'
        )
    choice = wanted if isinstance(wanted, str) else wanted[symbol]
    if choice is None or (isinstance(choice, str) and set_name(choice) == NONE):
        return None
    try:
        found = pseudopotential(symbol, choice) if isinstance(choice, str) else choice
    except checks.InputError as error:
        raise checks.InputError(key, error.message) from None
    checks.instance(key, found, Pseudopotential)
    if abs(float(found.charge) - charge) > 1e-6:
        raise checks.InputError(
            key,
            f"must leave the charge {charge:g} that the file states, "
            f"but leaves {float(found.charge):g}",
        )
    return found
