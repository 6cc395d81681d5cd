"""Photoelectrons of hydrogen in a pulse of ω = 50, by the Dirac equation and beside it the
relativistic strong-field approximation: yield, peak and the push along the light.
"""

import warnings

import numpy as np

import zitter as zt
from zitter import spectra
from zitter.terms.dirac_light import SmallBoxWarning

warnings.simplefilter("ignore", SmallBoxWarning)  # the fastest electrons are not looked at

pulse = zt.SineSquared(amplitude=50.0, frequency=50.0, cycles=6, polarization="x")
basis = zt.SpinorBasis(zt.RadialBSplines(n=72, degree=7, rmax=14.0), kappa_max=3, mu_max=2.5)
H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), zt.DiracLight(pulse, lmax=5)]), basis)
ground = zt.eigenstates(H.static, 1)
end = float(pulse.duration)
run = zt.evolve(
    H, ground.states[0], (0.0, end), end / 60, zt.GaussCollocation(3, tol=1e-10),
    observables=[zt.Norm(), zt.KappaPopulations()],
)  # fmt: skip
print(f"norm {run.observables['norm'][-1] - 1:+.1e}, products {run.info['products']:.0f}")

levels = spectra.spinor_levels(H)
spectrum = spectra.spinor_spectrum(levels, run.final, np.linspace(20.0, 90.0, 281))
print(f"dP/dE is largest at {spectrum.energies[np.argmax(spectrum.total)]:.1f} hartree")

grid = spectra.MomentumGrid.spheres(np.linspace(7.0, 13.0, 61), polar=16, azimuthal=8)
free = spectra.free_part(levels, run.final)
for name, found in (
    ("Dirac", spectra.momentum_distribution(basis, free, grid)),
    ("rSFA", spectra.strong_field_distribution(pulse, grid)),
):
    push = found.mean_along_axis / found.probability
    print(f"{name:>6}: probability {found.probability:.3e}, mean p_z {push:.3f}")
