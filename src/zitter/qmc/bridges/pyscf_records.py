"""From PySCF's numbers to nuclei, functions and orbitals.

Where things stand in `mol` (libcint's arrays): a row of `_atm` has the charge that an ECP has left
and the place of the coordinates in `_env`; a row of `_bas` has atom, l, primitives, contractions
and the places of exponents and coefficients, all norms included. `_ecp` has for each element
[core electrons, [[l, [terms of r⁻², r⁻¹, …]], …]], l = −1 for the local part.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
import warnings
from typing import Any

import numpy as np

from zitter import checks
from zitter.keywords import caller
from zitter.qmc.bridges.calculation import Calculation, Expansion, electrons
from zitter.qmc.bridges.chkfiles import ActiveSpace, Tables
from zitter.qmc.bridges.determinant_lists import kept
from zitter.qmc.bridges.folding import fractions_of
from zitter.qmc.bridges.gaussian_potentials import gaussian_potential, set_name
from zitter.qmc.orbitals.angular import HIGHEST
from zitter.qmc.orbitals.gaussian_basis import GaussianBasis, GaussianShell
from zitter.qmc.systems.nuclei import Nucleus

BOHR = 0.52917721092  # in Å, PySCF's own value: atoms in the file were converted with it


def calculation(tables: Tables, smallest: float) -> Calculation:
    """What PySCF has left, in our words; determinants down to a coefficient of `smallest`."""
    mol = tables.mol
    basis = _basis(mol)
    coefficients, occupations = _orbitals(tables, basis.count)
    expansion = None
    if tables.active is not None:
        expansion = _expansion(tables.active, smallest)
        count = tables.active.core + tables.active.orbitals
        coefficients = [[c[:, :count] for c in coefficients[0]]]
    found = Calculation(
        tables.name,
        tuple(_nuclei(mol, basis)),
        basis,
        coefficients,
        occupations,
        expansion=expansion,
    )
    k_points = tables.k_points
    if k_points is not None:
        vectors = _vectors(mol)
        found = dataclasses.replace(
            found,
            vectors=vectors,
            fractions=fractions_of(k_points, vectors),
            levels=_by_set_and_k(tables.levels, 1, len(k_points)),
            slab=mol.get("dimension", 3) == 2,
        )
    charges = sum(atom[0] for atom in mol["_atm"])
    k_count = 1 if k_points is None else len(k_points)
    expected = (mol.get("_nelectron") or charges - mol.get("charge", 0)) * k_count
    if sum(electrons(found)) != expected:
        raise checks.InputError(
            "file",
            f"must hold the {expected} electrons of its atoms in its orbitals, "
            f"but {tables.name} holds {sum(electrons(found))}",
        )
    return found


def _centers(mol: dict[str, Any]) -> np.ndarray:
    env = np.asarray(mol["_env"])
    return np.asarray([env[atom[1] : atom[1] + 3] for atom in mol["_atm"]])


def _basis(mol: dict[str, Any]) -> GaussianBasis:
    env = np.asarray(mol["_env"])
    shells = []
    for atom, l, primitives, contractions, _, exponents, weights, *_ in mol["_bas"]:
        if l > HIGHEST:
            raise checks.InputError(
                "file", f"must have functions up to l = {HIGHEST} (g), but has l = {l}"
            )
        table = env[weights : weights + primitives * contractions]
        shells.append(
            GaussianShell(
                atom,
                l,
                env[exponents : exponents + primitives],
                table.reshape(contractions, primitives).T,
            )
        )
    return GaussianBasis(_centers(mol), shells, bool(mol.get("cart", False)))


def _nuclei(mol: dict[str, Any], basis: GaussianBasis) -> list[Nucleus]:
    """All atoms but ghosts, which have functions and no charge."""
    found = []
    rows = zip(mol["_atom"], mol["_atm"], _centers(mol), strict=True)
    for (label, _), atom, center in rows:
        symbol = element(label)
        if atom[0] == 0:
            continue
        table = _of_atom(mol["_ecp"], label)
        potential = None
        if table is None:
            _warn_of_valence_functions(symbol, atom[0], center, basis)
        else:
            potential = gaussian_potential(atom[0], table[1], _set_name(mol, label))
        found.append(Nucleus(atom[0], center, symbol, potential))
    return found


def _warn_of_valence_functions(
    symbol: str, charge: float, center: np.ndarray, basis: GaussianBasis
) -> None:
    """Say where functions cannot describe a 1s shell, as PySCF takes any basis without its ECP.

    Even STO-3G has exponents of 1.8 Z² and more; those for valence electrons end far below Z².
    """
    here = [
        np.max(shell.exponents)
        for shell in basis.shells
        if shell.l == 0 and np.allclose(basis.centers[shell.center], center)
    ]
    if charge > 2 and here and max(here) < 1.5 * charge**2:
        warnings.warn(
            f"{symbol} has all its electrons, but s functions with exponents up to {max(here):g} "
            "only: they seem to be made for a pseudopotential that the orbitals do not have",
            stacklevel=caller(),
        )


def element(label: str) -> str:
    """The symbol in an atom's label, such as C in C1 or C@2."""
    found = re.match(r"[A-Za-z]{1,2}", label)
    return found[0].capitalize() if found else label


def _of_atom(table: dict[str, Any], label: str) -> Any:
    """An entry for the atom's own label, or for its element."""
    return table.get(label, table.get(element(label)))


def _set_name(mol: dict[str, Any], label: str) -> str:
    """What the user called the set, such as ccecp; nothing where it was given by numbers."""
    for key in ("ecp", "pseudo"):  # cells may have it under either
        try:
            given = ast.literal_eval(mol.get(key) or "None")
        except (ValueError, SyntaxError, TypeError):
            continue
        if isinstance(given, dict):
            given = given.get(label, given.get(element(label), given.get("default")))
        if isinstance(given, str):
            return set_name(given)
    return ""


def _vectors(mol: dict[str, Any]) -> np.ndarray:
    if mol.get("dimension", 3) < 2:
        raise checks.InputError(
            "file",
            f"must be of a cell that is repeated in 2 or 3 directions, but in {mol['dimension']}",
        )
    given, unit = mol["a"], mol.get("unit", "angstrom")
    if isinstance(given, str):
        given = re.sub(r"[;,\n]", " ", given).split()
    vectors = np.reshape(np.asarray(given, np.float64), (3, 3))
    if isinstance(unit, str):
        return vectors if unit.upper().startswith(("B", "AU")) else vectors / BOHR
    return vectors * float(unit)


def _orbitals(tables: Tables, functions: int) -> tuple[Any, Any]:
    """Coefficients and occupations, each as [set][k]."""
    k_count = 1 if tables.k_points is None else len(tables.k_points)
    if tables.active is not None:
        coefficients = [[np.asarray(tables.coefficients)]]
        occupations = [[np.zeros(coefficients[0][0].shape[-1])]]
    else:
        coefficients = _by_set_and_k(tables.coefficients, 2, k_count)
        occupations = _by_set_and_k(tables.occupations, 1, k_count)
    sets = [(len(c), len(n)) for c, n in zip(coefficients, occupations, strict=True)]
    if any(pair != (k_count, k_count) for pair in sets):
        raise checks.InputError(
            "file",
            f"must hold orbitals at each of its {k_count} k-points, but {tables.name} does not",
        )
    for c, n in zip(itertools.chain(*coefficients), itertools.chain(*occupations), strict=True):
        if c.ndim != 2 or c.shape != (functions, len(n)):
            raise checks.InputError(
                "file",
                f"must hold orbitals of {functions} functions, but {tables.name} has {c.shape}: "
                "RHF, ROHF, UHF, their DFT and k-point kinds and CASSCF would do",
            )
    return coefficients, occupations


def _by_set_and_k(values: Any, leaf: int, k_count: int) -> list[list[np.ndarray]]:
    """[set][k] of values for one set, with k or without, or for two."""
    depth = _depth(values) - leaf
    if depth == 0:
        return [[np.asarray(values)]]
    if depth == 1 and len(values) == k_count:
        return [[np.asarray(value) for value in values]]
    if depth == 1:
        return [[np.asarray(value)] for value in values]
    return [[np.asarray(value) for value in of_set] for of_set in values]


def _depth(values: Any) -> int:
    if isinstance(values, list | tuple):
        return 1 + _depth(values[0])
    return np.ndim(values)


def _expansion(active: ActiveSpace, smallest: float) -> Expansion:
    """Strings of n orbitals out of m are in the order of Σ 2^orbital, as PySCF has them."""
    up, down = (_strings(active.orbitals, n) for n in active.electrons)
    if active.ci.shape != (len(up), len(down)):
        raise checks.InputError(
            "file",
            f"must hold a CI vector of {len(up)} × {len(down)} determinants, "
            f"but it is {' × '.join(map(str, active.ci.shape))}",
        )
    rows, columns = (x.ravel() for x in np.indices(active.ci.shape))
    core = np.arange(active.core)
    occupied = [
        np.array([[*core, *(active.core + s)] for s in strings], int).reshape(len(strings), -1)
        for strings in (up, down)
    ]
    return kept(active.ci.ravel(), occupied[0][rows], occupied[1][columns], smallest)


def _strings(orbitals: int, electrons: int) -> np.ndarray:
    """(strings, electrons): occupied orbitals, ascending, in the order of Σ 2^orbital."""
    strings = itertools.combinations(range(orbitals), electrons)
    ordered = sorted(strings, key=lambda s: s[::-1])
    return np.asarray(ordered, int).reshape(len(ordered), electrons)
