"""From a TREXIO file (HDF5) to nuclei, functions and orbitals.

Numbers are attributes of a group, arrays its datasets: `nucleus/nucleus_charge`. A function is

    φ = N_φ f_shell Σ_p c_p f_p e^{−α_p r²} × r^l C_lm  (Racah's norm; m = 0, 1, −1, 2, −2, …)

or x^i y^j z^k in the order of i, then j, descending. Of ECPs the channel with l = lmax + 1 of a
nucleus is the local one. `nucleus_charge` is what they leave.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zitter import checks, data_files
from zitter.qmc.bridges.calculation import Calculation, Expansion, electrons
from zitter.qmc.bridges.determinant_lists import kept
from zitter.qmc.orbitals.angular import HIGHEST
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis, GaussianShell
from zitter.qmc.systems.nuclei import Nucleus
from zitter.qmc.systems.pseudopotentials import GaussianSum, Pseudopotential

Contents = dict[str, Any]


def calculation(path: Path, smallest: float) -> Calculation:
    """What a file holds, with determinants down to a coefficient of `smallest`."""
    data = _contents(path)
    if data.get("pbc_periodic", 0):
        raise checks.InputError(
            "file", "must be of a molecule, but is periodic: a chkfile of PySCF would do"
        )
    if np.any(data.get("mo_coefficient_im", 0)):
        raise checks.InputError("file", "must have real orbitals, but they are complex")
    basis, rows = _basis(data)
    coefficients = rows[:, None] * _needed(data, "mo_coefficient").T[_order(data)]
    spins = int(_needed(data, "electron_up_num")), int(_needed(data, "electron_dn_num"))
    of_spin = np.asarray(data.get("mo_spin", np.zeros(coefficients.shape[1], int)))
    chosen = [np.flatnonzero(of_spin == spin) for spin in range(int(np.max(of_spin)) + 1)]
    expansion = _expansion(data, chosen, spins, smallest)
    sets = [[coefficients[:, columns]] for columns in chosen]
    occupations = [[_occupations(data, i, chosen, spins)] for i in range(len(chosen))]
    found = Calculation(
        path.name, tuple(_nuclei(data)), basis, sets, occupations, expansion=expansion
    )
    if sorted(electrons(found)) != sorted(spins):
        raise checks.InputError(
            "file",
            f"must hold the {sum(spins)} electrons in its orbitals, {spins[0]} up and {spins[1]} "
            f"down, but {path.name} holds {electrons(found)[0]} and {electrons(found)[1]}",
        )
    return found


def _contents(path: Path) -> Contents:
    """All numbers and arrays by their full names."""
    if path.is_dir():
        raise checks.InputError(
            "file",
            f'must be a TREXIO file in HDF5, but "{path}" is a folder, as the text back end '
            "writes; trexio convert-backend would make one",
        )
    found: Contents = {}
    with data_files.hdf5(path, "a TREXIO file in HDF5") as file:
        for group in file.values():
            if isinstance(group, h5py.Group):
                found |= dict(group.attrs)
                found |= {k: v[()] for k, v in group.items() if isinstance(v, h5py.Dataset)}
    if "nucleus_num" not in found:
        raise checks.InputError("file", f'must be a TREXIO file, but "{path}" has no nuclei')
    return found


def _needed(data: Contents, name: str) -> Any:
    if name not in data:
        raise checks.InputError("file", f"must hold {name}, but does not")
    return data[name]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _basis(data: Contents) -> tuple[GaussianBasis, np.ndarray]:
    """The functions, and what multiplies their coefficients: N of each, in our order."""
    kind = _text(_needed(data, "basis_type"))
    if kind.lower() != "gaussian":
        raise checks.InputError(
            "file", f'must have a basis of the type Gaussian, but has the unknown "{kind}"'
        )
    if np.any(data.get("basis_r_power", 0)):
        raise checks.InputError("file", "must have functions without powers of r (basis_r_power)")
    cartesian = bool(data.get("ao_cartesian", 0))
    ls = np.asarray(_needed(data, "basis_shell_ang_mom"), int)
    if np.max(ls) > HIGHEST:
        raise checks.InputError(
            "file", f"must have functions up to l = {HIGHEST} (g), but has l = {max(ls)}"
        )
    centers = _needed(data, "basis_nucleus_index")
    exponents = np.asarray(_needed(data, "basis_exponent"))
    weights = np.asarray(_needed(data, "basis_coefficient"))
    weights = weights * np.asarray(data.get("basis_prim_factor", 1.0))
    of_shell = np.asarray(_needed(data, "basis_shell_index"))
    factors = np.broadcast_to(data.get("basis_shell_factor", 1.0), ls.shape)
    shells = []
    for shell, l in enumerate(ls):
        here = of_shell == shell
        # Norms that our functions have and TREXIO's leave to the coefficients.
        scale = factors[shell] / _norm(int(l), cartesian)
        shells.append(
            GaussianShell(int(centers[shell]), int(l), exponents[here], scale * weights[here])
        )
    basis = GaussianBasis(_needed(data, "nucleus_coord"), shells, cartesian)
    count = int(_needed(data, "ao_num"))
    if count != basis.count:
        raise checks.InputError(
            "file", f"must have as many functions as its shells, {basis.count}, but has {count}"
        )
    norms = np.broadcast_to(data.get("ao_normalization", 1.0), (count,))
    return basis, norms[_order(data)]


def _size(l: int, cartesian: bool) -> int:
    return (l + 1) * (l + 2) // 2 if cartesian else 2 * l + 1


def _norm(l: int, cartesian: bool) -> float:
    """What `GaussianBasis` puts before r^l C_lm or x^i y^j z^k."""
    return 1.0 if cartesian and l > 1 else math.sqrt((2 * l + 1) / (4 * math.pi))


def _order(data: Contents) -> np.ndarray:
    """Where our functions, shell by shell, stand in the file."""
    cartesian = bool(data.get("ao_cartesian", 0))
    of_shell = np.asarray(_needed(data, "ao_shell"))
    found = []
    for shell, l in enumerate(np.asarray(_needed(data, "basis_shell_ang_mom"), int)):
        here = np.flatnonzero(of_shell == shell)
        if len(here) != _size(int(l), cartesian):
            raise checks.InputError(
                "file",
                f"must have {_size(int(l), cartesian)} functions in shell {shell}, "
                f"but has {len(here)}",
            )
        if cartesian:
            found.append(here)
            continue
        # Ours are m = −l … l, but x, y, z for l = 1: m = 1, −1, 0.
        ours = [1, -1, 0] if l == 1 else range(-l, l + 1)
        found.append(here[[2 * abs(m) - (m > 0) for m in ours]])
    return np.concatenate(found)


def _nuclei(data: Contents) -> list[Nucleus]:
    charges = np.asarray(_needed(data, "nucleus_charge"))
    labels = data.get("nucleus_label", [""] * len(charges))
    potentials = _pseudopotentials(data, charges)
    rows = zip(charges, _needed(data, "nucleus_coord"), labels, potentials, strict=True)
    return [
        Nucleus(float(charge), center, _text(label).strip("\0 "), potential)
        for charge, center, label, potential in rows
        if charge > 0
    ]


def _pseudopotentials(data: Contents, charges: np.ndarray) -> list[Pseudopotential | None]:
    if not data.get("ecp_num", 0):
        return [None] * len(charges)
    columns = ("nucleus_index", "ang_mom", "coefficient", "exponent", "power")
    of_nucleus, ls, c, alpha, power = (np.asarray(_needed(data, f"ecp_{n}")) for n in columns)
    highest = np.asarray(_needed(data, "ecp_max_ang_mom_plus_1"))

    def part(nucleus: int, l: int) -> GaussianSum:
        here = (of_nucleus == nucleus) & (ls == l) & (c != 0)
        return GaussianSum(c[here].tolist(), alpha[here].tolist(), power[here].tolist())

    found: list[Pseudopotential | None] = []
    for nucleus, charge in enumerate(charges):
        if not np.any(of_nucleus == nucleus):
            found.append(None)
            continue
        local = int(highest[nucleus])
        channels = [part(nucleus, l) for l in range(local)]
        while channels and not len(channels[-1].powers):  # a dummy, as for H and He
            channels.pop()
        found.append(Pseudopotential(float(charge), part(nucleus, local), channels))
    return found


def _occupations(data: Contents, which: int, chosen: Any, spins: tuple[int, int]) -> np.ndarray:
    """Of one set of orbitals; the first ones are filled where the file does not say."""
    columns = chosen[which]
    if "mo_occupation" in data and "determinant_list" not in data:
        return np.asarray(data["mo_occupation"], np.float64)[columns]
    found = np.zeros(len(columns))
    for spin in (which,) if len(chosen) == 2 else (0, 1):
        found[: spins[spin]] += 1
    return found


def _expansion(
    data: Contents, chosen: list[np.ndarray], spins: tuple[int, int], smallest: float
) -> Expansion | None:
    """Bit strings of spin up, then of spin down, as orbitals of each set."""
    if "determinant_list" not in data:
        return None
    coefficients = np.asarray(_needed(data, "determinant_coefficient"), np.float64)
    count = len(coefficients)
    words = np.asarray(data["determinant_list"], np.int64).reshape(count, 2, -1)
    bits = (words[..., None] >> np.arange(64)) & 1
    bits = bits.reshape(count, 2, -1).astype(bool)
    occupied = []
    for spin, filled in enumerate(spins):
        here = bits[:, spin][:, chosen[spin if len(chosen) == 2 else 0]]
        if np.any(np.sum(here, axis=1) != filled):
            raise checks.InputError(
                "file", f"must hold {filled} electrons of a spin in each determinant"
            )
        occupied.append(np.nonzero(here)[1].reshape(count, filled))
    return kept(coefficients, occupied[0], occupied[1], smallest)
