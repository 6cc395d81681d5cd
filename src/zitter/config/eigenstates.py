"""`type = "EigenBasis"`: from a file, from a field-free atom on splines, or number by number."""

from __future__ import annotations

from typing import Any

from zitter import checks, data_files
from zitter.bases.eigen.basis import EigenBasis, read_eigenbasis
from zitter.bases.spherical.basis import SphericalBasis
from zitter.eigensolvers import eigenbasis
from zitter.terms import Model, discretize


def eigen_basis(
    file: str | None = None,
    atom: Model | None = None,
    parent: SphericalBasis | None = None,
    states: int | None = None,
    energy_max: float | str | None = None,
    energies: Any = None,
    length: Any = None,
    velocity: Any = None,
) -> EigenBasis:
    """Eigenstates of an HDF5 `file`, of the `atom` on its `parent` splines, or as numbers."""
    of_atom = {"parent": parent, "states": states, "energy_max": energy_max}
    of_numbers = {"length": length, "velocity": velocity}
    sources = {"file": file, "atom": atom, "energies": energies}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        raise checks.InputError(
            "file", f"must be given, or atom or energies instead, but {_listed(given)} given"
        )
    for name, value in (of_atom | of_numbers).items():
        if value is not None and given != ["atom" if name in of_atom else "energies"]:
            raise checks.InputError(name, f"must not be given together with {given[0]}, but is")
    if file is not None:
        return read_eigenbasis(data_files.plain(file))
    if atom is None:
        return EigenBasis(energies, length, velocity)
    if parent is None:
        raise checks.InputError("parent", "must be given with atom, but is missing")
    return eigenbasis(discretize(atom, parent), states, energy_max)


def _listed(names: list[str]) -> str:
    return f"{' and '.join(names)} are" if names else "none of them is"
