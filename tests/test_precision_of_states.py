"""`configure(precision="single")` gives single-precision states, and runs that stay there."""

import jax.numpy as jnp
import pytest

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


@pytest.mark.slow
def test_implicit_steps_around_two_nuclei_stay_in_single_precision():
    """What separates is found in double; steps with it once mixed both precisions and failed."""
    pulse = zt.SineSquared(amplitude=0.05, frequency=0.5, cycles=1)
    nuclei = zt.Coulomb(Z=[1, 1], centers=[[0, 0, -1], [0, 0, 1]])
    model = zt.Model([zt.Kinetic(), nuclei, zt.LengthGauge(pulse)])
    H = zt.discretize(model, zt.ProlateSpheroidal(2.0, rmax=20.0))
    ground = zt.eigenstates(H.static, 1).states[0]
    double, single = (
        zt.evolve(H, ground.astype(dtype), (0.0, 1.0), 0.1, zt.CrankNicolson()).final
        for dtype in ("complex128", "complex64")
    )
    assert single.dtype == jnp.complex64
    # Ten steps; H of these nodes has elements of 10⁴, of which single precision keeps 10⁻³.
    assert float(H.basis.norm(single - double)) < 1e-3
