"""How much more would a stronger pulse excite? The answer by automatic differentiation.

The derivative of the final population of the first excited state with respect to the pulse's
amplitude, through the whole evolution, beside a finite difference.
"""

import jax

import zitter as zt

grid = zt.Grid(127, 0.4)
atom = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0)]
states = zt.eigenstates(zt.discretize(zt.Model(atom), grid), 2).states


@jax.jit
def excited(amplitude):
    pulse = zt.SineSquared(amplitude=amplitude, frequency=0.267, cycles=4)
    H = zt.discretize(zt.Model([*atom, zt.LengthGauge(pulse)]), grid)
    end = 4 * 2 * 3.141592653589793 / 0.267
    sol = zt.evolve(
        H, states[0], t=(0.0, end), dt=0.1, propagator=zt.SplitOperator(),
        observables=[zt.Populations(states)], save_every=50,
    )  # fmt: skip
    return sol.observables["populations"][-1][1]


amplitude, step = 0.02, 1e-5
slope = jax.grad(excited)(amplitude)
difference = (excited(amplitude + step) - excited(amplitude - step)) / (2 * step)
print(f"population of the first excited state: {excited(amplitude):.8f}")
print(f"its derivative by jax.grad:            {slope:.8f}")
print(f"its derivative by differences:         {difference:.8f}")
