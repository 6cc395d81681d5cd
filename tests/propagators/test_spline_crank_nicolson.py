"""Crank–Nicolson among the splines, for bases too large to diagonalize."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt

PULSE = zt.SineSquared(amplitude=300.0, frequency=50.0, cycles=2, phase_origin="start")


@pytest.fixture(scope="module")
def hydrogen():
    basis = zt.SpinorBasis(zt.RadialBSplines(24, 7, 12.0, "graded", first=0.1, grading=2.0), 2)
    light = zt.DiracLight(PULSE, 2)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1), light]), basis)
    return H, zt.eigenstates(H.static, 1).states[0].astype(complex)


def run(case, method, steps, start=0.05, length=0.02):
    H, psi = case
    return zt.evolve(H, psi, (start, start + length), length / steps, method, save_every=steps)


def test_steps_keep_the_norm(hydrogen):
    """Cayley's form does; its midpoint, which is what is solved for, does not."""
    H, psi = hydrogen
    there = run(hydrogen, zt.SplineCrankNicolson(1e-13), 2, length=2e-3)
    assert float(H.basis.norm(there.final - psi)) > 1e-3
    assert abs(there.info["norm_loss"]) < 1e-10


@pytest.mark.slow
def test_same_step_as_among_the_levels(hydrogen):
    """One equation solved in two ways: the residuals of 20 steps are the difference."""
    splines = run(hydrogen, zt.SplineCrankNicolson(1e-12), 20)
    levels = run(hydrogen, zt.CrankNicolson(1e-12), 20)
    assert float(hydrogen[0].basis.norm(splines.final - levels.final)) < 1e-10
    assert abs(splines.info["norm_loss"]) < 1e-10
    assert splines.info["residual"] < 1e-12 and splines.info["products"] >= 3 * 20


@pytest.mark.slow
def test_order_two(hydrogen):
    """Steps short against 1/2c² = 2.7e-5, where the order shows."""
    fine, *others = (
        run(hydrogen, zt.SplineCrankNicolson(1e-13), n, length=4e-5).final for n in (256, 32, 16)
    )
    errors = [float(hydrogen[0].basis.norm(other - fine)) for other in others]
    assert np.log2(errors[1] / errors[0]) == pytest.approx(2, abs=0.1)  # 256 against 32: 2 % left


@pytest.mark.slow
def test_not_converged_says_which_step_would_do(hydrogen):
    """One for the strongest field of the span, although the iteration fails in a weaker one."""
    H, psi = hydrogen
    method = zt.SplineCrankNicolson(1e-12, most_iterations=4)
    end = float(PULSE.duration)
    with pytest.raises(zt.RunError, match="take dt = ") as error:
        zt.evolve(H, psi, (0.0, end), end / 50, method, save_every=1)
    failed_at = float(str(error.value).split("at t = ")[1].split()[0])
    named = float(str(error.value).split("take dt = ")[1].split()[0])
    times = np.linspace(0.0, end, 101)
    fields = [float(H.changing[0].at(t).strength()) for t in times]
    weaker = float(H.changing[0].at(failed_at + 0.01 * end).strength())
    assert weaker < 0.8 * max(fields)
    # Two products for each iteration, which shrink the error by τ/2 max|cA|: 1e-12 after eight.
    assert named == pytest.approx(2 * 10**-1.5 / max(fields), rel=0.1)
    again = run(hydrogen, method, 4, times[np.argmax(fields)], 4 * named)
    assert again.info["residual"] < 1e-12


def test_other_bases_are_refused():
    grid = zt.Grid(32, 0.5)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), grid)
    with pytest.raises(zt.Unsupported, match="SpinorBasis"):
        zt.evolve(H, np.ones(32), (0.0, 1.0), 0.1, zt.SplineCrankNicolson())


def test_single_precision_is_refused(hydrogen):
    """The rounding of the factors does not show in any residual."""
    single = hydrogen[0].astype(np.float32)
    with pytest.raises(zt.Unsupported, match="double precision"):
        zt.SplineCrankNicolson().prepare(single, (0.0, 0.1), 0.01)


@pytest.mark.parametrize("method", [zt.Lanczos(), zt.Chebyshev(), zt.SplitOperator()])
def test_explicit_methods_name_the_right_one(hydrogen, method):
    H, psi = hydrogen
    with pytest.raises(zt.Unsupported, match="use GaussCollocation"):
        zt.evolve(H, psi, (0.0, 0.1), 0.01, method)
