"""A small attoclock: hydrogen in two cycles of circular light.

The electrons' angles in the plane of polarization tell when they left. Where the light alone would
take them is −A at the peak of the field; the ion's force turns them further.
"""

import numpy as np

import zitter as zt
from zitter import spectra

A0, omega = 0.1, 0.4
pulse = zt.SineSquared(
    cycles=2,
    frequency=omega,
    amplitude=np.sqrt(2) * omega * A0,  # A0 along x and along y
    ellipticity=1.0,
    polarization="x",
)
radial = zt.RadialBSplines(n=60, degree=7, rmax=90.0, knots="graded", first=0.5)
momenta = np.linspace(0.15, 1.5, 60)

found = {}
for lmax in (3, 4, 5):
    basis = zt.SphericalBasis(radial, lmax, m="all")
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(pulse)]), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    run = zt.evolve(H, ground, (0.0, float(pulse.duration)), 0.1, observables=[zt.Norm()])
    found[lmax] = spectra.angular_spectrum(H.static, run.final, momenta**2 / 2, plane="xy")

offset = spectra.attoclock_offset(found, pulse)
for lmax, angle in offset.offsets.items():
    print(f"l ≤ {lmax}: offset {np.degrees(angle):.2f}°")
print(offset)
strongest = momenta[np.argmax(found[5].momentum_density.max(axis=1))]
print(f"strongest at k = {strongest:.2f}")
