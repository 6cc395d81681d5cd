"""The orbitals that `zitter reproduce qmc-matter` starts from, by PySCF, and their energies.

pip install pyscf;  python benchmarks/make_matter_orbitals.py FOLDER [NAME…]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import h5py
import numpy as np
from pyscf import gto, scf
from pyscf.pbc import dft as pbc_dft
from pyscf.pbc import gto as pbc_gto


def only_s(symbol: str, name: str) -> dict:
    """The s functions of a basis: enough for closed shells of s electrons."""
    return {symbol: [shell for shell in gto.basis.load(name, symbol) if shell[0] == 0]}


def molecule(path: Path, atom: str, basis, spin: int = 0, **options) -> dict:
    mol = gto.M(atom=atom, basis=basis, spin=spin, unit="bohr", verbose=0, **options)
    mf = scf.RHF(mol) if spin == 0 else scf.ROHF(mol)
    mf.chkfile = str(path)
    mf.conv_tol = 1e-12
    energy = mf.kernel()
    density = mf.make_rdm1()
    total = density.sum(axis=0) if density.ndim == 3 else density
    parts = {"energy": energy, "kinetic": float(np.sum(total * mol.intor("int1e_kin")))}
    if mol.has_ecp():
        parts["pseudopotential"] = float(np.sum(total * mol.intor("ECPscalar")))
    return {"converged": bool(mf.converged)} | parts


def atoms_and_molecules() -> dict:
    r2, rlih = 1.4011, 3.015
    return {
        "he": ("He", only_s("He", "cc-pv5z")),
        "be": ("Be", only_s("Be", "cc-pv5z")),
        "h2": (f"H 0 0 {-r2 / 2}; H 0 0 {r2 / 2}", "cc-pvtz"),
        "lih": (f"Li 0 0 0; H 0 0 {rlih}", "cc-pvtz"),
    }


def _without_diffuse(cell) -> None:
    """Diffuse functions are nearly dependent in a crystal, and make lattice sums long."""
    cell.exp_to_discard = 0.15
    cell.build()


def silicon(path: Path) -> dict:
    a = 10.263
    cell = pbc_gto.M(
        a=a / 2 * (np.ones((3, 3)) - np.eye(3)),
        atom=[["Si", (0, 0, 0)], ["Si", (a / 4, a / 4, a / 4)]],
        unit="bohr", basis="ccecp-cc-pvdz", pseudo="ccecp", verbose=3,
    )  # fmt: skip
    _without_diffuse(cell)
    mf = pbc_dft.KRKS(cell, cell.make_kpts([2, 2, 2])).density_fit()
    mf.xc, mf.chkfile = "lda,vwn", str(path)
    return {"energy": mf.kernel(), "converged": bool(mf.converged), "functional": mf.xc}


def boron_nitride(path: Path, mesh: int = 9) -> dict:
    """Converged on 3 × 3, then the bands of a finer mesh in that density."""
    a, c = 2.504 / 0.529177210903, 25.0
    cell = pbc_gto.M(
        a=[[a, 0, 0], [-a / 2, a * np.sqrt(3) / 2, 0], [0, 0, c]],
        atom=[["B", (0, 0, 0)], ["N", (0, a / np.sqrt(3), 0)]], unit="bohr", dimension=2,
        basis="ccecp-cc-pvdz", pseudo="ccecp", verbose=3,
    )  # fmt: skip
    _without_diffuse(cell)
    mf = pbc_dft.KRKS(cell, cell.make_kpts([3, 3, 1])).density_fit()
    mf.xc, mf.chkfile = "pbe", str(path)
    energy = mf.kernel()
    fine = cell.make_kpts([mesh, mesh, 1])
    energies, orbitals = mf.get_bands(fine)
    # Filled bands are all that the run takes.
    kept = {
        "e_tot": energy,
        "kpts": fine,
        "mo_coeff": np.asarray(orbitals)[:, :, :4],
        "mo_energy": np.asarray(energies)[:, :4],
        "mo_occ": np.full((len(fine), 4), 2.0),
    }
    with h5py.File(path, "r+") as file:
        del file["scf"]
        for name, values in kept.items():
            file[f"scf/{name}"] = values
    return {"energy": energy, "converged": bool(mf.converged), "functional": mf.xc}


def main() -> None:
    folder = Path(sys.argv[1])
    wanted = sys.argv[2:]
    made = {}
    for name, (atom, basis) in atoms_and_molecules().items():
        if not wanted or name in wanted:
            made[name] = molecule(folder / f"{name}.chk", atom, basis)
    if not wanted or "c" in wanted:
        options = {"ecp": "ccecp", "symmetry": "D2h"}
        made["c"] = molecule(folder / "c.chk", "C", "ccecp-aug-cc-pvtz", 2, **options)
    for name, make in (("si", silicon), ("bn", boron_nitride)):
        if not wanted or name in wanted:
            made[name] = make(folder / f"{name}.chk")
    kept = folder / "energies.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    kept.write_text(json.dumps(before | made, indent=1) + "\n")


if __name__ == "__main__":
    main()
