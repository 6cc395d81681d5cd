"""Bottomonium in vacuum and in a hot, anisotropic plasma: masses in GeV.

The Schrödinger equation knows no units. Here lengths are in 1/GeV (0.1973 fm), energies and masses
in GeV: put the reduced mass m_b/2 into Kinetic and into the potential, and add 2 m_b to the levels.
"""

import zitter as zt

BOTTOM_MASS = 4.70  # GeV
ALPHA, SIGMA = 0.385, 0.223  # 4α_s/3 and the string tension in GeV²
DEBYE_MASS, ANISOTROPY = 0.35, 1.0

reduced = BOTTOM_MASS / 2
grid = zt.Grid((54, 54, 54), 0.33)  # a box of 18/GeV = 3.6 fm

media = {
    "vacuum (Cornell)": zt.Cornell(ALPHA, SIGMA, reduced),
    "isotropic plasma": zt.ScreenedCornell(ALPHA, SIGMA, DEBYE_MASS, reduced),
    "squeezed along z": zt.AnisotropicCornell(ALPHA, SIGMA, DEBYE_MASS, ANISOTROPY, reduced),
}
for name, potential in media.items():
    H = zt.discretize(zt.Model([zt.Kinetic(reduced), potential]), grid)
    levels = zt.eigenstates(H, 4, zt.LOBPCG(tol=1e-6))
    masses = 2 * BOTTOM_MASS + levels.energies
    print(f"{name}: 1S {masses[0]:.4f} GeV, 1P " + ", ".join(f"{m:.4f}" for m in masses[1:]))
