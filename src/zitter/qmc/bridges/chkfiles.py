"""What PySCF calculated, read from a chkfile or from the object that calculated it.

A chkfile is HDF5: `mol` is a text in JSON that holds atoms and shells, `scf` or `mcscf` hold
orbitals. Nothing here needs PySCF: an object writes the same text, `mol.dumps()`. Which mean field
it was is not written anywhere; the shapes of the orbitals tell.
"""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from zitter import checks, data_files
from zitter.keywords import caller

FROM_LIST = "__from_list__"  # how PySCF marks arrays of unequal lengths


@dataclasses.dataclass(frozen=True)
class ActiveSpace:
    """Σ ci[I, J] D↑_I D↓_J over all strings of `electrons` in `orbitals` above `core` full ones."""

    core: int
    orbitals: int
    electrons: tuple[int, int]
    ci: np.ndarray


@dataclasses.dataclass(frozen=True)
class Tables:
    """Numbers as PySCF has them: `mol` by its keys, orbitals by spin and k where there are any."""

    name: str
    mol: dict[str, Any]
    coefficients: Any
    occupations: Any
    levels: Any  # orbital energies
    k_points: np.ndarray | None  # in 1/bohr, of cells
    active: ActiveSpace | None


def tables(source: Any) -> Tables:
    """What a chkfile, or a PySCF object that has run, holds."""
    if isinstance(source, str | os.PathLike):
        return _of_file(Path(source))
    return _of_object(source)


def _of_file(path: Path) -> Tables:
    with data_files.hdf5(path, "a chkfile of PySCF") as file:
        groups = [name for name in ("mcscf", "scf") if name in file]
        if "mol" not in file or not groups:
            raise checks.InputError(
                "file", f'must be a chkfile of PySCF, with "mol" and "scf", but "{path}" is not'
            )
        mol = json.loads(_value(file["mol"]))
        group = _entries(file[groups[0]])
        return _checked(path.name, mol, group)


def _entries(group: Any) -> dict[str, Any]:
    return {name.removesuffix(FROM_LIST): _value(item) for name, item in group.items()}


def _value(item: Any) -> Any:
    if isinstance(item, h5py.Group):
        return [_value(item[name]) for name in sorted(item)]
    return item[()]


def _of_object(source: Any) -> Tables:
    mol = getattr(source, "cell", None) or getattr(source, "mol", None)
    if mol is None:
        raise checks.InputError(
            "file",
            "must be a chkfile, or a mean field or CASSCF object of PySCF, "
            f"but is {checks.with_article(type(source).__name__)}",
        )
    reference = getattr(source, "_scf", None)
    is_field = getattr(source, "undo_newton", None) is not None  # of second order, all the same
    if reference is not None and getattr(source, "ncas", None) is None and not is_field:
        raise checks.InputError(
            "file",
            f"must be a mean field or CASSCF, but is {checks.with_article(type(source).__name__)}, "
            "whose amplitudes make no list of determinants here: give its mean field",
        )
    if getattr(source, "converged", True) is False:
        warnings.warn(
            f"{type(source).__name__} has not converged: its orbitals are used as they are",
            stacklevel=caller(),
        )
    if getattr(source, "with_x2c", None):
        warnings.warn(
            "the orbitals are those of X2C, but Monte Carlo has the nonrelativistic Hamiltonian",
            stacklevel=caller(),
        )
    names = ("mo_coeff", "mo_occ", "mo_energy", "kpts", "ci", "ncas", "ncore", "nelecas")
    found = {name: getattr(source, name, None) for name in names}
    if found["kpts"] is None:  # of one k-point; objects with several refuse to answer
        found["kpt"] = getattr(source, "kpt", None)
    # Under symmetry the orbitals are those of the irreducible k-points alone.
    found["kpts"] = getattr(found["kpts"], "kpts_ibz", found["kpts"])
    group = {name: value for name, value in found.items() if value is not None}
    if "mo_coeff" not in group:
        raise checks.InputError("file", "must have run, but holds no orbitals: call kernel() first")
    return _checked(type(source).__name__, json.loads(mol.dumps()), group)


def _checked(name: str, mol: dict[str, Any], group: dict[str, Any]) -> Tables:
    if mol.get("_pseudo"):
        elements = ", ".join(sorted(mol["_pseudo"]))
        raise checks.InputError(
            "file",
            f"must not have GTH pseudopotentials ({elements}): they are not semilocal, so Monte "
            "Carlo cannot use them; ccecp and bfd would do",
        )
    if "mo_coeff" not in group or ("mo_occ" not in group and "ncas" not in group):
        raise checks.InputError("file", f"must hold orbitals and occupations, but {name} does not")
    k_points = group.get("kpts", group.get("kpt"))
    if "a" in mol:
        k_points = np.zeros(3) if k_points is None else k_points
        k_points = np.reshape(np.asarray(k_points, np.float64), (-1, 3))
    occupations, levels = group.get("mo_occ"), group.get("mo_energy")
    active = _active(name, group)
    return Tables(name, mol, group["mo_coeff"], occupations, levels, k_points, active)


def _active(name: str, group: dict[str, Any]) -> ActiveSpace | None:
    if "ncas" not in group:
        return None
    ci = group.get("ci")
    if ci is None:
        raise checks.InputError(
            "file",
            f"must hold the CI vector, but {name} does not: set mc.chk_ci = True before the "
            "CASSCF runs, or give the object itself",
        )
    if isinstance(ci, list | tuple) or np.ndim(ci) != 2:
        raise checks.InputError(
            "file", "must hold one CI vector of a CASSCF with determinants of both spins"
        )
    if np.ndim(group["ncore"]):
        raise checks.InputError(
            "file",
            f"must have the same orbitals for both spins, but {name} has others: CASSCF would do",
        )
    electrons = group["nelecas"]
    up, down = (int(n) for n in np.ravel(electrons))
    return ActiveSpace(int(group["ncore"]), int(group["ncas"]), (up, down), np.asarray(ci))
