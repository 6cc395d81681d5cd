"""Errors by the step size of what absorbers leave, where steps are far too long."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zitter as zt

SPAN = (0.0, 24.0)


@pytest.fixture(scope="module")
def scattered():
    """A packet on its way over a barrier to an absorber, and the norm that it has in the end."""
    grid = zt.Grid(150, 0.4)
    barrier = zt.Potential(expression="0.5*exp(-(x-5)**2)")
    H = zt.discretize(zt.Model([zt.Kinetic(order=2), barrier, zt.ComplexAbsorber(width=10)]), grid)
    psi = zt.WavePacket(center=-5, width=2.0, momentum=1.2).on(grid)
    exact = zt.evolve(
        H, psi, SPAN, 0.02, zt.CrankNicolson(), observables=[zt.Norm()], save_every=1200
    )
    return H, psi, exact


@pytest.mark.parametrize("dt", [0.8, 1.2, 1.5, 2.0])
def test_the_norm_is_as_uncertain_as_the_state(scattered, dt):
    """Both runs are too slow to reach the absorber, and agree that nothing is lost."""
    H, psi, exact = scattered
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = zt.evolve(
            H, psi, SPAN, dt, zt.CrankNicolson(), observables=[zt.Norm()], save_every=10**9,
            step_check=True,
        )  # fmt: skip
    off = abs(run.observables["norm"][-1] - exact.observables["norm"][-1])
    assert off > 0.1
    assert run.step_errors["norm"] > off
    assert run.info["step_error"] > H.basis.norm(np.asarray(run.final) - np.asarray(exact.final))
