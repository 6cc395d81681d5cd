# pyright: reportMissingImports=false
"""Writes TREXIO files of the same orbitals as some chkfiles, with the trexio package.

python tests/data/make_trexio.py
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import trexio
from pyscf import fci, gto, lib

FOLDER = Path(__file__).parent / "orbitals"


def shells_of(mol):
    """Each contraction as a shell of its own: (atom, l, exponents, coefficients)."""
    for shell in range(mol.nbas):
        for weights in mol._libcint_ctr_coeff(shell).T:
            yield mol.bas_atom(shell), mol.bas_angular(shell), mol.bas_exp(shell), weights


def order_of(shells, cart):
    """PySCF's functions in the order of TREXIO: m = 0, 1, −1, … instead of −l … l (p: x, y, z)."""
    found, first = [], 0
    for _, l, *_ in shells:
        if cart:
            inside = range((l + 1) * (l + 2) // 2)
        elif l == 1:
            inside = [2, 0, 1]
        else:
            inside = [l] + [l + s * m for m in range(1, l + 1) for s in (1, -1)]
        found += [first + i for i in inside]
        first += len(inside)
    return found


def write(name):
    kind = "mcscf" if "cas" in name else "scf"
    mol = lib.chkfile.load_mol(str(FOLDER / f"{name}.chk"))
    found = lib.chkfile.load(str(FOLDER / f"{name}.chk"), kind)
    path = FOLDER / f"{name}.trexio.h5"
    path.unlink(missing_ok=True)
    with trexio.File(str(path), "w", back_end=trexio.TREXIO_HDF5) as file:
        geometry(file, mol)
        functions(file, mol)
        if mol.has_ecp():
            potentials(file, mol)
        orbitals(file, mol, found)


def geometry(file, mol):
    trexio.write_nucleus_num(file, mol.natm)
    trexio.write_nucleus_charge(file, mol.atom_charges().astype(float))
    trexio.write_nucleus_coord(file, mol.atom_coords())
    trexio.write_nucleus_label(file, [mol.atom_pure_symbol(i) for i in range(mol.natm)])
    trexio.write_electron_up_num(file, mol.nelec[0])
    trexio.write_electron_dn_num(file, mol.nelec[1])


def functions(file, mol):
    shells = list(shells_of(mol))
    sizes = [len(e) for _, _, e, _ in shells]
    trexio.write_basis_type(file, "Gaussian")
    trexio.write_basis_shell_num(file, len(shells))
    trexio.write_basis_prim_num(file, sum(sizes))
    trexio.write_basis_nucleus_index(file, [atom for atom, *_ in shells])
    trexio.write_basis_shell_ang_mom(file, [l for _, l, *_ in shells])
    # Norms are spread over all factors, so that a reader that forgets one is found out.
    trexio.write_basis_shell_factor(file, [2.0] * len(shells))
    trexio.write_basis_r_power(file, [0] * len(shells))
    trexio.write_basis_shell_index(file, np.repeat(np.arange(len(shells)), sizes))
    trexio.write_basis_exponent(file, np.concatenate([e for _, _, e, _ in shells]))
    norms = np.concatenate([gto.gto_norm(l, e) for _, l, e, _ in shells])
    weights = np.concatenate([w for *_, w in shells])
    trexio.write_basis_coefficient(file, weights / norms / 2)
    trexio.write_basis_prim_factor(file, norms)
    trexio.write_ao_cartesian(file, int(mol.cart))
    trexio.write_ao_num(file, mol.nao)
    size = (lambda l: (l + 1) * (l + 2) // 2) if mol.cart else (lambda l: 2 * l + 1)
    trexio.write_ao_shell(file, np.repeat(range(len(shells)), [size(l) for _, l, *_ in shells]))
    angular = [1.0 if mol.cart and l > 1 else math.sqrt((2 * l + 1) / 4 / math.pi)
               for _, l, *_ in shells for _ in range(size(l))]  # fmt: skip
    trexio.write_ao_normalization(file, angular)


def potentials(file, mol):
    rows, highest, core = [], [], []
    for atom in range(mol.natm):
        removed, channels = mol._ecp[mol.atom_symbol(atom)]
        local = max(l for l, _ in channels) + 1
        highest.append(max(local, 1))
        core.append(removed)
        if local == 0:  # trexio has no atom without a channel
            rows.append((atom, 0, 1.0, 0.0, 0))
        for l, by_power in channels:
            for n, terms in enumerate(by_power):
                rows += [(atom, highest[-1] if l < 0 else l, a, c, n - 2) for a, c in terms]
    atoms, ls, exponents, coefficients, powers = zip(*rows, strict=True)
    trexio.write_ecp_max_ang_mom_plus_1(file, highest)
    trexio.write_ecp_z_core(file, core)
    trexio.write_ecp_num(file, len(rows))
    trexio.write_ecp_nucleus_index(file, atoms)
    trexio.write_ecp_ang_mom(file, ls)
    trexio.write_ecp_exponent(file, exponents)
    trexio.write_ecp_coefficient(file, coefficients)
    trexio.write_ecp_power(file, powers)


def orbitals(file, mol, found):
    coefficients, occupations = np.asarray(found["mo_coeff"]), np.asarray(found["mo_occ"])
    spins = None
    if coefficients.ndim == 3:
        spins = np.repeat([0, 1], coefficients.shape[2])
        coefficients = np.concatenate(list(coefficients), axis=1)
        occupations = occupations.ravel()
    rows = coefficients[order_of(shells_of(mol), mol.cart)]
    trexio.write_mo_num(file, rows.shape[1])
    trexio.write_mo_coefficient(file, rows.T)
    if "ci" not in found:
        trexio.write_mo_occupation(file, occupations)
    else:
        large = fci.addons.large_ci(
            found["ci"], found["ncas"], tuple(found["nelecas"]), 1e-9, return_strs=False
        )
        core = list(range(found["ncore"]))
        strings = [
            [sum(1 << int(i) for i in [*core, *(len(core) + s)]) for s in pair]
            for _, *pair in large
        ]
        trexio.write_determinant_list(file, 0, len(large), np.asarray(strings, np.int64))
        trexio.write_determinant_coefficient(file, 0, len(large), [c for c, *_ in large])
    if spins is not None:
        trexio.write_mo_spin(file, spins)


if __name__ == "__main__":
    for name in ("co", "lithium-uhf", "beryllium-cartesian", "beryllium-cas", "h2-pbe"):
        write(name)
