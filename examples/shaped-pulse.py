"""A pulse shaped by gradients takes hydrogen from 1s to 2p, in three dimensions.

The guess is poor: it is detuned by 0.02 hartree, and leaves the electron in 1s. What is varied are
the amplitudes of twelve frequencies within a band, as cosines and sines; the fluence is bounded.

    python examples/shaped-pulse.py
"""

import zitter as zt

DURATION = 600.0  # 14.5 fs: a shorter resonant pulse would have to be strong enough to ionize
FLUENCE = 0.03  # atomic units, 0.051 J/cm²

radial = zt.RadialBSplines(45, degree=7, rmax=45.0, knots="graded", first=0.4)
basis = zt.SphericalBasis(radial, lmax=3)
atom = [zt.Kinetic(), zt.Coulomb(Z=1), zt.ComplexAbsorber(15.0)]
hydrogen = zt.discretize(zt.Model(atom), basis)
ground, target = (zt.Eigenstate(n=n, l=n - 1).on(hydrogen) for n in (1, 2))

guess = zt.SineSquared(amplitude=0.006, frequency=0.355, duration=DURATION)
pulse = zt.FreeForm.near(guess, band=(0.32, 0.43))
objective = zt.AtEnd(
    lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]),
    basis,
    ground,
    target,
    dt=0.2,
    propagator=zt.AngularSplit(radial_order=4),
)
found = zt.control(objective, pulse, fluence=FLUENCE, goal=0.992, iterations=40, progress=True)
found.save("shaped-pulse.h5")
zt.plot.save(zt.plot.overview(found), "shaped-pulse.png")

finer = zt.SphericalBasis(zt.RadialBSplines(80, 7, 60.0, "graded", first=0.3), lmax=5)
richer = zt.discretize(zt.Model(atom), finer)
ends = [zt.Eigenstate(n=n, l=n - 1).on(richer) for n in (1, 2)]
again = zt.AtEnd(objective.model, finer, *ends, dt=0.1, propagator=objective.propagator)

print(found.pulse)
print(f"population of 2p: {found.course.values[0]:.4f} at first, {found.value:.4f} in the end")
print(f"its error by the time step: {found.info['step_error']:.1e}")
print(f"on a finer basis, in a larger box, with half the step: {float(again(found.pulse)):.4f}")
print(f"fluence: {found.info['fluence']:.4f} of {FLUENCE} atomic units")
