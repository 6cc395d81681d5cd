"""The two lowest levels of H2+ with error estimates, a picture, and the density for a viewer."""

import sys

import numpy as np

import zitter as zt

nuclei = [[0, 0, -1.0], [0, 0, 1.0]]
model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1, centers=nuclei)])
grid = zt.Grid((48, 48, 54), 0.35)

levels = zt.eigenstates(zt.discretize(model, grid), 2, zt.LOBPCG(tol=1e-5))
errors = zt.energy_errors(model, grid, levels)
for energy, error, exact in zip(levels.energies, errors.total, (-1.102634, -0.667534), strict=True):
    print(f"E = {energy:.6f} ± {error:.0e} hartree (exact {exact})")

if len(sys.argv) > 1:
    folder = sys.argv[1]
    density = np.abs(np.asarray(levels.states[0])) ** 2
    atoms = [(1.0, place) for place in nuclei]
    zt.write_cube(f"{folder}/h2plus.cube", density, list(grid.axes().values()), atoms)
    zt.plot.save(zt.plot.slices(levels), f"{folder}/h2plus.png")
