"""A driven harmonic oscillator: the packet follows the classical path and keeps its shape.

d²q/dt² = −q − E(t) starting at rest; the exact state is a coherent state around q(t).
"""

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.interpolate import CubicSpline

import zitter as zt

pulse = zt.SineSquared(amplitude=0.3, frequency=1.0, cycles=4)
grid = zt.Grid(127, 0.2)
H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0), zt.LengthGauge(pulse)]), grid)
ground = zt.eigenstates(H.static, 1)
end = float(pulse.duration)

sol = zt.evolve(
    H, ground.states[0], t=(0.0, end), dt=0.05, propagator=zt.SplitOperator(order=4),
    observables=[zt.Position(), zt.Energy()], save_every=20,
)  # fmt: skip

# The classical path from rest: q(t) = −∫ sin(t − s) E(s) ds.
s = np.linspace(0.0, end, 20001)
E = np.asarray(pulse.electric_field(s))
cosine, sine = (cumulative_simpson(f(s) * E, x=s, initial=0.0) for f in (np.cos, np.sin))
path = CubicSpline(s, np.cos(s) * sine - np.sin(s) * cosine)(sol.times)

print(f"ground state {ground.energies[0]:.12f} hartree (exact 0.5)")
print(f"energy after the pulse {sol.observables['energy'][-1]:.8f} hartree")
difference = np.max(np.abs(sol.observables["position"] - path))
print(f"largest distance from the classical path: {difference:.1e} bohr")
