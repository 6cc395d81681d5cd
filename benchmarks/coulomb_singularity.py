"""How fast −Z/r converges on a uniform grid, for each treatment of the singularity.

    python benchmarks/coulomb_singularity.py --json results/coulomb_singularity.json

Hydrogen's 1s and the two lowest levels of H2+ (R = 2), with sines as kinetic energy and the nuclei
at a place between the grid points, in a box large enough for 1e-6 hartree.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import arguments, done
from records import finish, record

import zitter as zt

SYSTEMS = {
    "H 1s": ([[0, 0, 0]], 18.0, 0, -0.5),
    "H2+ 1sσg": ([[0, 0, -1.0], [0, 0, 1.0]], 20.0, 0, -1.102634214495),
    "H2+ 2pσu": ([[0, 0, -1.0], [0, 0, 1.0]], 20.0, 1, -0.667534392202),
}
TREATMENTS = ("cut", "cell-average", "regularized")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--spacings", type=float, nargs="+", default=[0.6, 0.5, 0.4, 0.32, 0.26])
    options = parser.parse_args()
    zt.configure(precision="double")
    rows = []
    for treatment in TREATMENTS:
        solved = {}
        for h in options.spacings:
            for name, (centers, length, level, exact) in SYSTEMS.items():
                n = round(length / h) - 1
                spacing = length / (n + 1)
                key = (str(centers), h)
                if key not in solved:
                    term = zt.Coulomb(1.0, centers=centers, singularity=treatment)
                    grid = zt.Grid((n,) * 3, spacing, center=0.3 * spacing)
                    H = zt.discretize(zt.Model([zt.Kinetic(), term]), grid)
                    count = len(centers)
                    solved[key] = done(
                        lambda H=H, n=count: zt.eigenstates(H, n, zt.LOBPCG(tol=1e-4)).energies
                    )
                energies, seconds = solved[key]
                error = float(abs(energies[level] - exact))
                rows.append(
                    {
                        "treatment": treatment,
                        "state": name,
                        "spacing": spacing,
                        "points": n,
                        "error_hartree": error,
                        "seconds": seconds,
                    }
                )
    question = "Which treatment of the singularity converges, and how fast?"
    finish(record("coulomb_singularity", question, rows), options.json)


if __name__ == "__main__":
    main()
