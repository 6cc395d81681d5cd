# pyright: reportMissingImports=false
"""Writes the chkfiles that tests read, and PySCF's numbers beside them.

    python tests/data/make_chkfiles.py [name …]

PySCF is needed here and nowhere else in the tests. Each entry of `orbitals/energies.json` holds the
energy of the determinant (or CASSCF function) in hartree, and its parts where they are one-electron
integrals; for cells all of it per primitive cell. `samples` has the wave function at places.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from pyscf import fci, gto, lib, mcscf, scf
from pyscf.pbc import dft as pbc_dft
from pyscf.pbc import gto as pbc_gto
from pyscf.pbc import scf as pbc_scf
from pyscf.pbc.gto import ecp as pbc_ecp
from pyscf.pbc.lib import chkfile as pbc_chkfile
from pyscf.pbc.tools import k2gamma

FOLDER = Path(__file__).parent / "orbitals"
MAKERS = {}


def made(function):
    MAKERS[function.__name__.replace("_", "-")] = function
    return function


def molecule(atom, basis, **options):
    return gto.M(atom=atom, basis=basis, unit="bohr", verbose=0, **options)


def solved(method, mol, name, **options):
    field = method(mol)
    field.chkfile = str(FOLDER / f"{name}.chk")
    field.conv_tol = 1e-11
    for key, value in options.items():
        setattr(field, key, value)
    field.kernel()
    assert field.converged, name
    return field


def parts(mol, density, total):
    """Energy by parts of a one-particle density matrix (both spins together)."""
    density = np.asarray(density)
    density = density.sum(axis=0) if density.ndim == 3 else density
    found = {"energy": total, "kinetic": np.einsum("ij,ji", mol.intor("int1e_kin"), density)}
    if mol.has_ecp():
        found["ecp"] = np.einsum("ij,ji", mol.intor("ECPscalar"), density)
    found["electron_nucleus"] = np.einsum("ij,ji", mol.intor("int1e_nuc"), density)
    found["nucleus_nucleus"] = mol.energy_nuc()
    return {key: float(value) for key, value in found.items()}


@made
def h2(name):
    field = solved(scf.RHF, molecule("H 0 0 0; H 0 0 1.4", "cc-pvtz"), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


def with_gradient(field):
    """Parts of the energy, and its derivative with respect to each nucleus: −force."""
    found = parts(field.mol, field.make_rdm1(), field.e_tot)
    return found | {"gradient": field.nuc_grad_method().kernel()}


@made
def h2_stretched(name):
    return with_gradient(solved(scf.RHF, molecule("H 0 0 0; H 0 0 2", "cc-pvdz"), name))


@made
def li2(name):
    mol = molecule("Li 0 0 0; Li 0 0 4.4", "ccecp-cc-pvdz", ecp="ccecp")
    return with_gradient(solved(scf.RHF, mol, name))


@made
def beryllium_core(name):
    mol = molecule("Be", "ccecp-cc-pvdz", ecp="ccecp")
    return parts(mol, (field := solved(scf.RHF, mol, name)).make_rdm1(), field.e_tot)


@made
def beryllium_core_pair(name):
    """Two atoms that do not see each other."""
    mol = molecule("Be 0 0 0; Be 0 0 30", "ccecp-cc-pvdz", ecp="ccecp")
    return parts(mol, (field := solved(scf.RHF, mol, name)).make_rdm1(), field.e_tot)


@made
def helium(name):
    field = solved(scf.RHF, molecule("He", "cc-pvtz"), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def beryllium(name):
    field = solved(scf.RHF, molecule("Be", "cc-pvtz"), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def beryllium_cartesian(name):
    field = solved(scf.RHF, molecule("Be", "cc-pvtz", cart=True), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def lih(name):
    field = solved(scf.RHF, molecule("Li 0 0 0; H 0 0 3.015", "cc-pvdz"), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def lithium_uhf(name):
    field = solved(scf.UHF, molecule("Li", "cc-pvdz", spin=1), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def co(name):
    mol = molecule("C 0 0 0; O 0 0 2.132", "ccecp-cc-pvdz", ecp="ccecp")
    field = solved(scf.RHF, mol, name)
    return parts(mol, field.make_rdm1(), field.e_tot)


def carbon_atom():
    # D2h keeps the open p shell from turning, so that the state is the same in every run.
    return molecule("C", "ccecp-cc-pvdz", ecp="ccecp", spin=2, symmetry="D2h")


@made
def carbon_rohf(name):
    field = solved(scf.ROHF, carbon_atom(), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def carbon_uhf(name):
    field = solved(scf.UHF, carbon_atom(), name)
    return parts(field.mol, field.make_rdm1(), field.e_tot)


@made
def h2_pbe(name):
    from pyscf import dft

    mol = molecule("H 0 0 0; H 0 0 1.4", "ccecp-cc-pvdz", ecp="ccecp")
    field = solved(dft.RKS, mol, name, xc="pbe")
    density = field.make_rdm1()
    return parts(mol, density, scf.RHF(mol).energy_tot(density))


def cas(mol, orbitals, electrons, name, chk_ci):
    field = scf.RHF(mol).run(conv_tol=1e-12)
    active = mcscf.CASSCF(field, orbitals, electrons)
    active.chkfile = str(FOLDER / f"{name}.chk")
    active.chk_ci, active.conv_tol, active.verbose = chk_ci, 1e-10, 0
    active.kernel()
    assert active.converged, name
    return parts(mol, active.make_rdm1(), active.e_tot)


@made
def beryllium_cas(name):
    return cas(molecule("Be", "cc-pvdz"), 4, 2, name, True)


@made
def beryllium_cas_without_ci(name):
    return cas(molecule("Be", "cc-pvdz"), 4, 2, name, False)


@made
def nitrogen_cas(name):
    """Three up and one down active electrons: strings of both spins differ."""
    mol = molecule("N", "ccecp-cc-pvdz", ecp="ccecp", spin=3, symmetry="D2h")
    field = scf.ROHF(mol).run(conv_tol=1e-12)
    active = mcscf.CASSCF(field, 5, (4, 1))
    active.chkfile = str(FOLDER / f"{name}.chk")
    active.chk_ci, active.conv_tol, active.verbose = True, 1e-10, 0
    active.kernel()
    return parts(mol, active.make_rdm1(), active.e_tot)


def cell_parts(field, total):
    cell, kpts = field.cell, np.reshape(field.kpts, (-1, 3))
    densities = np.asarray(field.make_rdm1())
    if densities.ndim == 4:
        densities = densities.sum(axis=0)
    kinetic = cell.pbc_intor("int1e_kin", kpts=kpts)
    found = {"energy": total, "kinetic": _mean(kinetic, densities)}
    if cell.has_ecp():
        found["ecp"] = _mean(pbc_ecp.ecp_int(cell, kpts), densities)
    found["nucleus_nucleus"] = cell.energy_nuc()
    return {key: float(value) for key, value in found.items()}


def _mean(operators, densities):
    return np.mean(
        [np.einsum("ij,ji", o, d).real for o, d in zip(operators, densities, strict=True)]
    )


def built(discarded, **options):
    cell = pbc_gto.Cell(unit="bohr", verbose=0, **options)
    cell.exp_to_discard = discarded  # diffuse functions make lattice sums long
    return cell.build()


def hydrogen_cell(**names):
    names = names or {"basis": "ccecp-cc-pvdz", "ecp": "ccecp"}
    atom = "H 0.3 0.2 0.1; H 0.3 0.2 1.5"
    return built(0.12, atom=atom, a=np.diag([4.0, 5.0, 5.0]), **names)


def diamond_cell(discarded: float | None = 0.2, **names):
    names = names or {"basis": "ccecp-cc-pvdz", "ecp": "ccecp"}
    h = 6.74 / 2
    atom = [("C", (0, 0, 0)), ("C", (h / 2, h / 2, h / 2))]
    return built(discarded, atom=atom, a=[[0, h, h], [h, 0, h], [h, h, 0]], **names)


def crystal(cell, mesh, name, center=(0, 0, 0), method=pbc_scf.KRHF):
    kpts = cell.make_kpts(mesh, scaled_center=center)
    return solved(lambda cell: method(cell, kpts).density_fit(), cell, name, conv_tol=1e-9)


@made
def hydrogen_3(name):
    """Three k-points, Γ and a pair ±k; and the same orbitals as PySCF unfolds them."""
    field = crystal(hydrogen_cell(), [3, 1, 1], name)
    large = k2gamma.k2gamma(field)
    large.chkfile = None
    scf.chkfile.dump_scf(
        large.cell, str(FOLDER / f"{name}-unfolded.chk"), field.e_tot * 3, large.mo_energy,
        large.mo_coeff, large.mo_occ, overwrite_mol=True,
    )  # fmt: skip
    return cell_parts(field, field.e_tot)


@made
def hydrogen_2(name):
    field = crystal(hydrogen_cell(), [2, 1, 1], name)
    return cell_parts(field, field.e_tot)


@made
def hydrogen_uhf_twist(name):
    center = (0.15, 0.1, 0.2)
    field = crystal(hydrogen_cell(), [2, 1, 1], name, center, pbc_scf.KUHF)
    return cell_parts(field, field.e_tot)


@made
def hydrogen_gamma(name):
    """All electrons, one k-point, not a k-object."""
    cell = hydrogen_cell(basis="cc-pvdz")
    field = solved(lambda cell: pbc_scf.RHF(cell).density_fit(), cell, name)
    kinetic = np.einsum("ij,ji", cell.pbc_intor("int1e_kin"), field.make_rdm1())
    return {"energy": field.e_tot, "kinetic": kinetic, "nucleus_nucleus": cell.energy_nuc()}


@made
def diamond_2(name):
    field = crystal(diamond_cell(), [2, 1, 1], name)
    return cell_parts(field, field.e_tot)


@made
def diamond_twist(name):
    field = crystal(diamond_cell(), [1, 1, 1], name, (0.15, -0.2, 0.1))
    return cell_parts(field, field.e_tot)


@made
def diamond_gamma(name):
    field = crystal(diamond_cell(), [1, 1, 1], name)
    return cell_parts(field, field.e_tot)


@made
def diamond_pbe(name):
    cell = diamond_cell()
    kpts = cell.make_kpts([2, 1, 1])
    field = solved(
        lambda cell: pbc_dft.KRKS(cell, kpts, xc="pbe").density_fit(), cell, name, conv_tol=1e-9
    )
    reference = pbc_scf.KRHF(cell, kpts).density_fit()
    return cell_parts(field, reference.energy_tot(field.make_rdm1()))


@made
def diamond_gth(name):
    """A separable pseudopotential, which Monte Carlo refuses; nothing is solved."""
    cell = diamond_cell(None, basis="gth-szv", pseudo="gth-pade")
    n = cell.nao
    file, filling = str(FOLDER / f"{name}.chk"), np.repeat([2.0, 0.0], n // 2)
    scf.chkfile.dump_scf(cell, file, 0.0, np.zeros(n), np.eye(n), filling, overwrite_mol=True)
    return {}


def electron_positions(cell_vectors, atoms, count):
    """Three configurations (3, count, 3) around atoms, the same in every run."""
    random = np.random.default_rng(13)
    cells = random.integers(0, 3, (3, count, 3)) @ cell_vectors
    return np.round(atoms[random.integers(0, len(atoms), (3, count))] + cells
                    + random.normal(scale=0.7, size=(3, count, 3)), 6)  # fmt: skip


def samples(name):
    """ln|Psi| and its kinetic energy at three configurations, by PySCF's own orbitals.

    Orbitals of all k-points together are those of the supercell of the k-mesh. ln|Psi| is relative
    to the first configuration, as norms and rotations among occupied orbitals do not count.
    """
    file = str(FOLDER / f"{name}.chk")
    kind = "mcscf" if "cas" in name else "scf"
    found = lib.chkfile.load(file, kind)
    is_cell = name.startswith(("diamond", "hydrogen"))
    if is_cell:
        mol = pbc_chkfile.load_cell(file)
        kpts = np.reshape(found.get("kpts", np.zeros(3)), (-1, 3))
        vectors = mol.lattice_vectors()
    else:
        mol, kpts, vectors = lib.chkfile.load_mol(file), np.zeros((1, 3)), np.zeros((3, 3))
    if kind == "mcscf":
        nelecas = tuple(found["nelecas"])
        core = np.arange(found["ncore"])
        large = fci.addons.large_ci(found["ci"], found["ncas"], nelecas, 1e-9, return_strs=False)
        terms = [(c, *([*core, *(i + len(core) for i in s)] for s in strings))
                 for c, *strings in large]  # fmt: skip
        coefficients = [[np.asarray(found["mo_coeff"])]] * 2
    else:
        coefficients, terms = occupied(found["mo_coeff"], found["mo_occ"], len(kpts), is_cell), None
    up, down = (sum(c.shape[1] for c in one) for one in coefficients)
    if terms is None:
        terms = [(1.0, range(up), range(down))]
    up, down = len(terms[0][1]), len(terms[0][2])
    places = electron_positions(vectors, mol.atom_coords(), up + down)
    logs, energies = [], []
    for r in places:
        tables = []
        for one, points in zip(coefficients, (r[:up], r[up:]), strict=True):
            if is_cell:
                # PySCF sums over the images around its own cell.
                shift = np.floor(points @ np.linalg.inv(vectors)) @ vectors
                ao = mol.pbc_eval_gto("GTOval_sph_deriv2", points - shift, kpts=kpts)
                phases = np.exp(1j * kpts @ shift.T)
                ao = [a * phase[None, :, None] for a, phase in zip(ao, phases, strict=True)]
            else:
                kind_of = "GTOval_cart_deriv2" if mol.cart else "GTOval_sph_deriv2"
                ao = [mol.eval_gto(kind_of, points)]
            tables.append([
                np.concatenate([part(a) @ c for a, c in zip(ao, one, strict=True)], axis=1)
                for part in (lambda a: a[0], lambda a: a[4] + a[7] + a[9])
            ])  # fmt: skip
        total, curved = 0.0, 0.0
        for c, *strings in terms:
            product, ratio = c, 0.0
            for (values, laplacians), string in zip(tables, strings, strict=True):
                if len(string):
                    A, L = values[:, list(string)], laplacians[:, list(string)]
                    product = product * np.linalg.det(A)
                    ratio = ratio + np.trace(np.linalg.solve(A, L))
            total, curved = total + product, curved + product * ratio
        logs.append(np.log(abs(total)))
        energies.append((-0.5 * curved / total).real)
    return {
        "positions": places.tolist(),
        "log": [round(float(x - logs[0]), 9) for x in logs],
        "kinetic": [round(float(x), 8) for x in energies],
    }


def occupied(coefficients, occupations, k_count, is_cell):
    """[spin][k] of occupied orbitals."""
    pairs = lambda a, b: zip(a, b, strict=True)  # noqa: E731
    if np.ndim(occupations) == 3:
        both = pairs(coefficients, occupations)
        return [[c[:, n > 0] for c, n in pairs(*one)] for one in both]
    if np.ndim(occupations) == 2 and not (is_cell and len(occupations) == k_count):
        return [[c[:, n > 0]] for c, n in pairs(coefficients, occupations)]
    if np.ndim(occupations) == 1:
        coefficients, occupations = [coefficients], [occupations]
    return [[c[:, n > least] for c, n in pairs(coefficients, occupations)] for least in (0.5, 1.5)]


def main(names):
    FOLDER.mkdir(exist_ok=True)
    for name in names or MAKERS:
        for file in (FOLDER / f"{name}.chk", FOLDER / f"{name}-unfolded.chk"):
            file.unlink(missing_ok=True)  # what is overwritten stays in HDF5 files
        numbers = MAKERS[name](name)
        print(name, numbers, flush=True)
        if not numbers:
            continue
        entry = {key: np.round(value, 9).tolist() for key, value in numbers.items()}
        if "without" not in name:
            entry |= {"samples": samples(name)}
        keep(name, entry)


def keep(name, entry):
    table = FOLDER / "energies.json"
    known = (json.loads(table.read_text()) if table.exists() else {}) | {name: entry}
    entries = (f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known))
    table.write_text("{\n" + ",\n".join(entries) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
