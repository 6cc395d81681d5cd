"""Photoelectrons of hydrogen in a 20 eV pulse: yield in two gauges, spectrum, angles.

The atom enters by its eigenstates, their energies and dipole elements only.
"""

import numpy as np

import zitter as zt
from zitter import spectra, units

pulse = zt.SineSquared(cycles=3, frequency="20 eV", intensity="1e14 W/cm^2")
radial = zt.RadialBSplines(n=80, degree=7, rmax=60.0, knots="graded", first=0.4)
basis = zt.SphericalBasis(radial, lmax=3)
spectra.check_box(basis, pulse, "30 eV")  # warns if such an electron reaches the wall

atom = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), basis)
states = zt.eigenbasis(atom, energy_max=20.0)
method = zt.Taylor(tol=1e-12, scheme=zt.CommutatorFree4())

finals = []
for gauge in (zt.LengthGauge, zt.VelocityGauge):
    H = zt.discretize(zt.Model([zt.FieldFree(), gauge(pulse)]), states)
    run = zt.evolve(H, states.state(l=0), (0.0, float(pulse.duration)), 0.1, method)
    finals.append(run.final)
    print(f"{gauge.__name__:>14} ionization {spectra.ionization_yield(states, run.final):.8f}")

spectrum = spectra.photoelectron_spectrum(states, finals[-1])
peak = float(spectrum.energies[np.argmax(spectrum.total)])
print(f"strongest at {units.to_ev(peak):.2f} eV")

angular = spectra.angular_spectrum(atom, states.on_parent(finals[-1]), [peak])
print(f"asymmetry there: beta = {angular.asymmetry()[0]:.4f}")
