"""Writes bloch_gaussians.npz: Bloch sums of PySCF (2.14) for diamond and a sheet of boron nitride.

Run in the root of the repository, with PySCF installed:  python tests/data/make_bloch_gaussians.py
"""

import numpy as np
from pyscf.pbc import gto  # pyright: ignore[reportMissingImports]

BASIS = [[0, [4.0, 0.3], [0.6, 0.6], [0.2, 0.3]], [1, [0.5, 1.0]], [2, [0.9, 1.0]]]


def cell_of(vectors, atoms, dimension):
    cell = gto.Cell()
    cell.a, cell.atom, cell.dimension, cell.unit = vectors, atoms, dimension, "bohr"
    cell.basis = dict.fromkeys("CBN", BASIS)
    cell.precision = 1e-14
    cell.build()
    return cell


def main():
    fcc = 3.37 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    hexagonal = 4.74 * np.array([[1, 0, 0], [0.5, np.sqrt(0.75), 0], [0, 0, 5]])
    third = (hexagonal[0] + hexagonal[1]) / 3
    cells = {
        "diamond": cell_of(fcc, [["C", [0, 0, 0]], ["C", 3 * [3 * 3.37 / 2]]], 3),
        "sheet": cell_of(hexagonal, [["B", [0, 0, 0]], ["N", third]], 2),
    }
    generator = np.random.default_rng(7)
    kept = {}
    for name, cell in cells.items():
        scaled = [[0, 0, 0], [0.5, 0, 0], [0.1, 0.2, 0.3], [-0.1, -0.2, -0.3], [0.25, 0.5, 0]]
        scaled = np.array(scaled) * ([1, 1, 1] if name == "diamond" else [1, 1, 0])
        k = cell.get_abs_kpts(scaled)
        points = generator.normal(size=(4, 3)) * [4, 4, 1.5]
        parts = generator.normal(size=(2, len(k), cell.nao, 2))
        coefficients = parts[0] + 1j * parts[1]
        found = cell.pbc_eval_gto("GTOval_sph_deriv2", points, kpts=k)
        table = np.stack([[*f[:4], f[4] + f[7] + f[9]] for f in found])  # k, part, point, function
        orbitals = np.einsum("kapf,kfj->apkj", table, coefficients)
        kept |= {
            f"{name}_vectors": cell.lattice_vectors()[: cell.dimension],
            f"{name}_centers": cell.atom_coords(),
            f"{name}_k": k,
            f"{name}_points": points,
            f"{name}_coefficients": coefficients,
            f"{name}_orbitals": orbitals.reshape(5, len(points), -1),
        }
    for b in range(3):
        kept[f"shell{b}"] = np.column_stack([cell.bas_exp(b), cell._libcint_ctr_coeff(b)])
    np.savez_compressed("tests/data/bloch_gaussians.npz", **kept)


if __name__ == "__main__":
    main()
