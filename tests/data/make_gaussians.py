"""Writes gaussians.npz: functions of PySCF (2.14) on two carbons and a hydrogen, s to g.

Run in the root of the repository, with PySCF installed:  python tests/data/make_gaussians.py
"""

import numpy as np
from pyscf import gto  # pyright: ignore[reportMissingImports]

BASIS = {
    "C": [
        [0, [40.0, 0.02, -0.01], [6.0, 0.3, -0.2], [0.9, 0.6, 0.9]],
        [1, [6.0, 0.2], [0.7, 0.8]],
        [2, [1.1, 1.0]],
        [3, [0.9, 1.0]],
        [4, [1.3, 1.0]],
    ],
    "H": [[0, [0.8, 0.5], [0.2, 0.6]], [1, [0.5, 1.0]], [2, [0.6, 0.5], [0.2, 0.7]]],
}


def main():
    points = np.random.default_rng(5).normal(size=(5, 3)) * 1.5
    kept = {"points": points}
    for cartesian in (False, True):
        molecule = gto.M(
            atom="C 0 0 0.1; H 0.2 -0.1 2.0; C 1.4 1.1 -0.7",
            unit="bohr",
            basis=BASIS,
            spin=1,
            cart=cartesian,
        )
        name = "cart" if cartesian else "sph"
        found = molecule.eval_gto(f"GTOval_{name}_deriv2", points)
        kept[name] = np.stack([*found[:4], found[4] + found[7] + found[9]])
    kept["centers"] = molecule.atom_coords()
    for b in range(molecule.nbas):
        kept[f"shell{b:02d}"] = np.column_stack(
            [molecule.bas_exp(b), molecule._libcint_ctr_coeff(b)]
        )
    kept["shells"] = np.array(
        [[molecule.bas_atom(b), molecule.bas_angular(b)] for b in range(molecule.nbas)]
    )
    np.savez_compressed("tests/data/gaussians.npz", **kept)


if __name__ == "__main__":
    main()
