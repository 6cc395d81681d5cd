"""Writes determinants.npz: CASSCF expansions of PySCF (2.14) for stretched H2, and for the valence
electrons of Be in a soft local potential, −2/r + (2/r + 1.2) e^{−0.6 r²}.

Run in the root of the repository, with PySCF installed:  python tests/data/make_determinants.py
"""

import numpy as np
from pyscf import fci, gto, mcscf, scf  # pyright: ignore[reportMissingImports]

SOFT = {"Be": [2, [[-1, [[], [[0.6, 2.0]], [[0.6, 1.2]]]]]]}
EXPONENTS = ((0, 2.0), (0, 0.6), (0, 0.2), (0, 0.06), (1, 0.6), (1, 0.2), (1, 0.07))


def expansion(name, atom, basis, active, electrons, ecp=None):
    """Shells, orbitals, determinants with their coefficients, and the energy."""
    molecule = gto.M(atom=atom, unit="bohr", basis=basis, ecp=ecp or {}, verbose=0)
    field = scf.RHF(molecule).run(conv_tol=1e-12)
    found = mcscf.CASSCF(field, active, electrons).run(conv_tol=1e-11)
    half = electrons // 2
    listed = fci.addons.large_ci(found.ci, active, (half, half), tol=1e-6, return_strs=False)
    core = list(range(found.ncore))
    whole = lambda string: core + sorted(found.ncore + int(i) for i in string)  # noqa: E731
    shells = range(molecule.nbas)
    kept = {
        "centers": molecule.atom_coords(),
        "charges": molecule.atom_charges(),
        "shells": np.array([[molecule.bas_atom(b), molecule.bas_angular(b)] for b in shells]),
        "orbitals": found.mo_coeff[:, : found.ncore + active],
        "coefficients": np.array([c for c, _, _ in listed]),
        "up": np.array([whole(a) for _, a, _ in listed]),
        "down": np.array([whole(b) for _, _, b in listed]),
        "energies": np.array([found.e_tot, field.e_tot]),
    }
    for b in shells:
        columns = [molecule.bas_exp(b), molecule._libcint_ctr_coeff(b)]
        kept[f"shell{b:02d}"] = np.column_stack(columns)
    return {f"{name}_{key}": value for key, value in kept.items()}


def main():
    basis = {"Be": [[l, [a, 1.0]] for l, a in EXPONENTS]}
    kept = expansion("be", "Be 0 0 0", basis, 4, 2, SOFT)
    kept |= expansion("h2", "H 0 0 0; H 0 0 3", "6-31g", 2, 2)
    np.savez_compressed("tests/data/determinants.npz", **kept)


if __name__ == "__main__":
    main()
