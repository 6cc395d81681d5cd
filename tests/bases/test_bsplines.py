"""Radial B-splines against SciPy's, against exact integrals, and their refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

import zitter as zt
from zitter.linalg.bands import host_dense

KNOTS = {
    "linear": {},
    "exponential": {"knots": "exponential", "first": 0.05},
    "graded": {"knots": "graded", "first": 0.1},
}


@pytest.mark.parametrize("options", KNOTS.values(), ids=KNOTS)
@pytest.mark.parametrize("degree", [1, 3, 8])
def test_values_and_slopes_are_those_of_scipy(options, degree):
    radial = zt.RadialBSplines(30, degree, 20.0, **options)
    knots, r = np.asarray(radial.knots), np.linspace(0.0, 20.0, 73)
    all_splines = BSpline(knots, np.eye(len(knots) - degree - 1), degree)
    np.testing.assert_allclose(radial.evaluate(r), all_splines(r)[:, 1:-1], atol=1e-14)
    inside = r[1:-1] + 1e-3  # slopes of degree 1 jump at knots
    slopes = all_splines.derivative()(inside)[:, 1:-1]
    np.testing.assert_allclose(radial.evaluate(inside, 1), slopes, atol=1e-12)


@pytest.mark.parametrize("rmax", [40 / 26, 0.1, 0.2, 7.3])
def test_the_last_knot_is_the_end_of_the_box(rmax):
    """rmax·j/count may miss rmax by a rounding error; that would make one interval more."""
    for n in range(20, 120, 7):
        radial = zt.RadialBSplines(n, 7, rmax)
        assert len(np.unique(radial.knots)) == n + 2 - 7 + 1
        assert max(radial.knots) == rmax


def test_free_outer_end_keeps_the_last_spline():
    closed = zt.RadialBSplines(20, 5, 10.0)
    free = closed.opened()
    assert free.n == closed.n + 1 and free.knots == closed.knots
    assert closed.evaluate(10.0).max() == 0.0
    assert free.evaluate(10.0)[0, -1] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.slow
def test_integrals_are_exact_for_polynomials_and_inverse_powers():
    # r² e^{-r} is not a polynomial, but its projection converges; r(10−r) is one of the splines'.
    radial = zt.RadialBSplines(25, 6, 10.0)
    c = np.asarray(radial.project(lambda r: r * (10 - r)))

    def integral(bands):
        return c @ host_dense(bands) @ c

    assert integral(radial.overlap) == pytest.approx(10**5 / 30, rel=1e-13)
    assert integral(radial.matrix(lambda r: 1 / r)) == pytest.approx(10**4 / 12, rel=1e-13)
    assert integral(radial.matrix(lambda r: 1 / r**2)) == pytest.approx(10**3 / 3, rel=1e-13)
    assert integral(radial.matrix(1.0, 1, 1)) == pytest.approx(10**3 / 3, rel=1e-13)
    assert integral(radial.matrix(1.0, 0, 1)) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("degree", [3, 5])
def test_energies_converge_with_twice_the_degree(degree):
    # Galerkin: the error of an eigenvalue falls as h^{2·degree}.
    errors = []
    for n in (36, 54):
        radial = zt.RadialBSplines(n, degree, 20.0)
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(radial, 0))
        errors.append(zt.channel_states(H, 1)[0][0, 0] + 0.5)
    steps = (54 + 2 - degree) / (36 + 2 - degree)
    order = np.log(errors[0] / errors[1]) / np.log(steps)
    assert 2 * degree - 1.0 < order < 2 * degree + 1.5


@pytest.mark.slow
def test_exterior_scaling_leaves_bound_states_alone():
    scaling = zt.ExteriorScaling(15.0, 0.5)
    radial = zt.RadialBSplines(70, 7, 40.0, "graded", first=0.3, scaling=scaling)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Coulomb(Z=1)]), zt.SphericalBasis(radial, 0))
    found = zt.eigenstates(H, 2, zt.Resonances(near=-0.45)).energies
    # E(2s): the scaled region begins where the state is still 1e-3, so the contour is tested.
    np.testing.assert_allclose(sorted(found.real), [-0.5, -0.125], atol=1e-9)
    np.testing.assert_allclose(found.imag, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n": 3, "degree": 7}, r"n: must be at least 8, but is 3"),
        ({"rmax": -1.0}, r"rmax: must be positive, but is -1"),
        ({"knots": [0.0, 1.0, 2.0]}, r"knots: must hold 26 breakpoints for this n, but holds 3"),
        ({"knots": "log"}, r"knots: must be one of"),
        ({"knots": "graded", "first": 5.0}, r"first: must be below rmax/intervals"),
        ({"scaling": zt.ExteriorScaling(200.0)}, r"scaling.radius: must be below rmax"),
    ],
)
def test_bad_input_is_refused(options, sentence):
    with pytest.raises(zt.InputError, match=sentence):
        zt.RadialBSplines(**({"n": 30, "degree": 7, "rmax": 50.0} | options))


def test_scaling_angle_is_bounded():
    with pytest.raises(zt.InputError, match="angle: must be below 90 degrees"):
        zt.ExteriorScaling(10.0, "100 deg")
