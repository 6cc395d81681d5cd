"""Plane-wave orbitals in ES-HDF files, as `pwscf.h5` of QMCPACK's converters.

    ψ_k(r) = Σ_G c_G e^{i(k+G)·r}/√Ω        Σ_G |c_G|² = 1

`electrons/kpoint_i` holds `reduced_k` (in reciprocal vectors), `gvectors` (whole numbers; those of
the first k-point where others have none) and, for each spin, `eigenvalues` and `state_j/psi_g` with
real and imaginary parts. Pseudopotentials are not in the file, only the charges that they leave.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from zitter import checks, data_files


@dataclasses.dataclass(frozen=True)
class Waves:
    """States of one k-point and one spin."""

    integers: np.ndarray  # G (waves, 3)
    amplitudes: np.ndarray  # (states, waves)
    energies: np.ndarray  # (states,)


@dataclasses.dataclass(frozen=True)
class PlaneWaveFile:
    """What a file holds, in our words."""

    name: str
    vectors: np.ndarray  # (3, 3) rows, bohr
    positions: np.ndarray  # (atoms, 3)
    symbols: list[str]  # of each atom
    charges: dict[str, float]  # that each kind of atom leaves to its valence electrons
    electrons: tuple[int, int]  # up and down in the primitive cell
    fractions: np.ndarray  # k (k-points, 3), in reciprocal lattice vectors
    states: list[list[Waves]]  # by spin, by k-point


def read(path: str | os.PathLike[str]) -> PlaneWaveFile:
    path = Path(path)
    with data_files.hdf5(path, "an ES-HDF file") as file:
        wanted = ("supercell/primitive_vectors", "atoms/positions", "electrons/kpoint_0")
        for name in wanted:
            if name not in file:
                raise checks.InputError(
                    "file", f'must be an ES-HDF file with {name}, but "{path.name}" has none'
                )
        return _contents(path.name, file)


def _contents(name: str, file: Any) -> PlaneWaveFile:
    kinds = {}
    charges = {}
    for i in range(_whole(file["atoms/number_of_species"])):
        group = file[f"atoms/species_{i}"]
        kinds[i] = _text(group["name"])
        charges[kinds[i]] = float(np.ravel(group["valence_charge"][()])[0])
    up, down = (int(n) for n in np.ravel(file["electrons/number_of_electrons"][()]))
    count = _whole(file["electrons/number_of_kpoints"])
    spins = _whole(file["electrons/number_of_spins"])
    groups = [file[f"electrons/kpoint_{i}"] for i in range(count)]
    return PlaneWaveFile(
        name,
        np.asarray(file["supercell/primitive_vectors"][()], np.float64),
        np.asarray(file["atoms/positions"][()], np.float64),
        [kinds[int(i)] for i in np.ravel(file["atoms/species_ids"][()])],
        charges,
        (up, down),
        np.asarray([np.ravel(group["reduced_k"][()]) for group in groups], np.float64),
        [[_waves(group, groups[0], spin) for group in groups] for spin in range(spins)],
    )


def _waves(group: Any, first: Any, spin: int) -> Waves:
    integers = np.asarray((group if "gvectors" in group else first)["gvectors"][()], np.int64)
    states = group[f"spin_{spin}"]
    count = _whole(states["number_of_states"])
    pairs = np.asarray([states[f"state_{j}/psi_g"][()] for j in range(count)], np.float64)
    if pairs.shape[1:] != (len(integers), 2):
        raise checks.InputError(
            "file",
            f"must hold an amplitude for each of {len(integers)} plane waves, but {group.name} "
            f"has states of shape {pairs.shape[1:]}",
        )
    energies = np.ravel(states["eigenvalues"][()])[:count]
    return Waves(integers, pairs[..., 0] + 1j * pairs[..., 1], np.asarray(energies, np.float64))


def _whole(item: Any) -> int:
    return int(np.ravel(item[()])[0])


def _text(item: Any) -> str:
    value = np.ravel(item[()])[0]
    return (value.decode() if isinstance(value, bytes) else str(value)).strip("\x00 ")
