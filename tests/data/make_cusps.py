"""Writes cusps.npz: occupied Hartree–Fock orbitals of PySCF (2.14) for He, Be and LiH.

Run in the root of the repository, with PySCF installed:  python tests/data/make_cusps.py
"""

import numpy as np
from pyscf import gto, scf  # pyright: ignore[reportMissingImports]


def main():
    kept = {}
    for name, atoms in {"He": "He 0 0 0", "Be": "Be 0 0 0", "LiH": "Li 0 0 0; H 0 0 3.015"}.items():
        molecule = gto.M(atom=atoms, unit="bohr", basis="cc-pvdz")
        field = scf.RHF(molecule).run(conv_tol=1e-12)
        kept[f"{name}_centers"] = molecule.atom_coords()
        kept[f"{name}_charges"] = molecule.atom_charges()
        kept[f"{name}_coefficients"] = field.mo_coeff[:, field.mo_occ > 0]
        kept[f"{name}_energy"] = field.e_tot
        kept[f"{name}_shells"] = np.array(
            [[molecule.bas_atom(b), molecule.bas_angular(b)] for b in range(molecule.nbas)]
        )
        for b in range(molecule.nbas):
            kept[f"{name}_shell{b}"] = np.column_stack(
                [molecule.bas_exp(b), molecule._libcint_ctr_coeff(b)]
            )
    np.savez_compressed("tests/data/cusps.npz", **kept)


if __name__ == "__main__":
    main()
