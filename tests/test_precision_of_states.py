"""`configure(precision="single")` gives single-precision states, and runs that stay there."""

import jax.numpy as jnp

import zitter as zt


def test_eigenstates_come_in_the_precision_asked_for():
    model = zt.Model([zt.Kinetic(), zt.Harmonic(1.0)])
    try:
        zt.configure(precision="single")
        H = zt.discretize(model, zt.Grid(64, 0.3))
        ground = zt.eigenstates(H, 1)
        sol = zt.evolve(H, ground.states[0], (0.0, 1.0), 0.1, zt.SplitOperator(), [zt.Norm()])
    finally:
        zt.configure(precision="double")
    assert ground.states.dtype == jnp.float32
    assert sol.final.dtype == jnp.complex64
    # The energy is found in double: exact to rounding, whatever the states are kept in.
    assert abs(ground.energies[0] - 0.5) < 1e-12
