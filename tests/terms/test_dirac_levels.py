"""Stationary states of the Dirac equation against Sommerfeld's formula and an integrated orbit."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

import zitter as zt
from zitter.bases.edges import SmallBoxWarning
from zitter.bases.spinor.nuclei import finite_nucleus_error, ground_state_error

KAPPAS = (-1, 1, -2, 2, -3, 3)


def sommerfeld(Z, n, kappa, c):
    """E − c² of the level n, κ of a point nucleus, without cancellation."""
    gamma = np.sqrt(kappa**2 - (Z / c) ** 2)
    x = (Z / c) / (n - abs(kappa) + gamma)
    root = np.sqrt(1 + x * x)
    return -(c**2) * x * x / (root * (1 + root))


def first_level(kappa):
    """n of the lowest state: 1s½, 2p½, 2p3/2, 3d3/2, …"""
    return abs(kappa) + (1 if kappa > 0 else 0)


def atom(*terms, n=100, rmax=200.0, first=1e-3, kappa_max=3):
    radial = zt.RadialBSplines(n, 7, rmax, "exponential", first=first)
    basis = zt.SpinorBasis(radial, kappa_max, 0.5)
    return zt.discretize(zt.Model([zt.Dirac(), *terms]), basis)


# The wave function behaves as r^γ at the nucleus, γ = 0.74 for uranium's 1s: knots from 1e-6/Z on.
@pytest.mark.parametrize(
    ("Z", "first", "tolerance"),
    [(1, 1e-3, 1e-10), (10, 1e-4, 1e-10), (50, 1e-5, 1e-9), (92, 1e-6, 1e-8)],
)
def test_sommerfeld(Z, first, tolerance):
    H = atom(zt.Coulomb(Z=Z), rmax=200.0 / Z, first=first / Z)
    c = H.basis.c
    for kappa in KAPPAS:
        energies, _ = zt.spinor_states(H, kappa)
        inside = energies[energies > -2 * c**2][:3]  # everything from the lower continuum upwards
        exact = [sommerfeld(Z, first_level(kappa) + i, kappa, c) for i in range(3)]
        # An intruder in the gap would shift this list by one place.
        np.testing.assert_allclose(inside, exact, rtol=tolerance)


@pytest.mark.parametrize("Z", [20, 50, 92])
def test_no_intruders_however_fine_the_knots(Z):
    """The first function of κ = −1 must not fall through the gap on its way to the nucleus."""
    for first in np.geomspace(1e-3, 1e-8, 11):
        H = atom(zt.Coulomb(Z=Z), n=40, rmax=100.0 / Z, first=first / 10)
        c = H.basis.c
        for kappa in (-1, 1):
            energies, _ = zt.spinor_states(H, kappa)
            lowest = energies[energies > -2 * c**2][0]
            # The coarsest of these knots hold 1s½ of uranium to 1 %; an intruder is no near miss.
            exact = sommerfeld(Z, first_level(kappa), kappa, c)
            assert lowest == pytest.approx(exact, rel=2e-2)


def test_hydrogen_to_the_digits_of_the_literature():
    H = atom(zt.Coulomb(Z=1), n=70, rmax=80.0, kappa_max=2)
    found = zt.eigenstates(H, 8)
    # 1s½, then 2s½ = 2p½, then 2p3/2, each with μ = ±½
    expected = np.repeat([-0.50000665660, -0.12500208019, -0.12500208019, -0.12500041603], 2)
    np.testing.assert_allclose(found.energies, expected, atol=6e-12)
    assert np.max(found.residuals) < 1e-9
    norms = [float(H.basis.norm(state)) for state in found.states]
    np.testing.assert_allclose(norms, 1, atol=1e-12)


def test_orbits_of_hydrogen():
    """P of 2p½ and 2p3/2 is close to r² e^{−r/2}/√24, up to corrections of order (Z/c)²."""
    H = atom(zt.Coulomb(Z=1), n=60, rmax=60.0, kappa_max=2)
    r = np.asarray([0.5, 2.0, 6.0])
    for kappa in (1, -2):
        energies, states = zt.spinor_states(H, kappa)
        vector = states[:, np.argmax(energies > -(H.basis.c**2))]
        psi = np.zeros(H.basis.shape)
        psi[H.basis.channel(kappa, 0.5)] = vector
        P, Q = H.basis.radial_values(psi, r)
        row = H.basis.channel(kappa, 0.5)
        np.testing.assert_allclose(P[row], r**2 * np.exp(-r / 2) / np.sqrt(24), rtol=2e-4)
        slope = (2 * r - r**2 / 2) * np.exp(-r / 2) / np.sqrt(24)
        balance = (slope + kappa * np.asarray(P[row]) / r) / (2 * H.basis.c)
        np.testing.assert_allclose(Q[row], balance, atol=1e-6)  # Q ~ 1e-3, next order (Z/c)³


def test_speed_of_light_to_infinity():
    """E = −Z²/2n² − O(1/c²): the difference falls by 4 when c doubles."""
    radial = zt.RadialBSplines(60, 7, 60.0, "exponential", first=1e-3)
    shifts = []
    for c in (500.0, 1000.0):
        H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), zt.SpinorBasis(radial, 1, c=c))
        energies, _ = zt.spinor_states(H, -1)
        shifts.append(energies[energies > -(c**2)][0] + 0.5)
    assert shifts[0] / shifts[1] == pytest.approx(4, rel=1e-3)  # next order 1/c⁴ and rounding ~ c²ε
    assert shifts[0] == pytest.approx(-1 / (8 * 500**2), rel=1e-3)


@pytest.mark.parametrize("nucleus", [zt.UniformNucleus, zt.FermiNucleus])
def test_uranium_with_a_nucleus_of_finite_size(nucleus):
    """1s½ against the outward and inward integration of the radial equations (scipy, 1e-11)."""
    term = nucleus(92, "5.86 fm")
    H = atom(term, n=110, rmax=1.5, first=1e-6, kappa_max=1)
    energies, _ = zt.spinor_states(H, -1)
    energy = energies[energies > -(H.basis.c**2)][0]
    exact = integrated_level(term, H.basis.c, energy)
    assert energy == pytest.approx(exact, rel=1e-8)
    # A nucleus of 5.86 fm raises the level by 0.15 % (7.3 of 4861 hartree).
    assert energy / sommerfeld(92, 1, -1, H.basis.c) == pytest.approx(1 - 1.5e-3, abs=1e-4)


def test_uniform_nucleus_of_a_given_radius():
    """⟨r²⟩ = 3R²/5 of a sphere, and V(0) = −3Z/2R."""
    fm = 1e-15 / 5.29177210544e-11
    for given, radius in (({"radius": "7.5 fm"}, 7.5), ({"rms": "7.5 fm"}, np.sqrt(5 / 3) * 7.5)):
        nucleus = zt.UniformNucleus(92, **given)
        assert float(nucleus.radius) == pytest.approx(radius * fm, rel=1e-12)
        assert float(nucleus.rms) == pytest.approx(np.sqrt(3 / 5) * radius * fm, rel=1e-12)
        assert nucleus.central(0.0) == pytest.approx(-1.5 * 92 / (radius * fm), rel=1e-12)
    for given, sentence in (
        ({}, "rms: must be the only one of rms, radius, but the input has none"),
        (
            {"rms": 1e-4, "radius": 1e-4},
            "radius: must be the only one of rms, radius, but the input has rms and radius",
        ),
        ({"radius": -1}, "radius: must be positive, but is -1"),
    ):
        with pytest.raises(zt.InputError, match=f"^{sentence}$"):
            zt.UniformNucleus(92, **given)


def integrated_level(term, c, guess):
    """The energy near `guess` at which the solutions from both sides meet, for κ = −1."""
    knots = np.geomspace(1e-9, 1.0, 20001)
    charge = CubicSpline(np.log(knots), knots * np.asarray(term.central(knots)))

    def potential(r):
        return float(charge(np.log(r))) / r

    def slopes(r, y, energy):
        V = potential(r)
        P, Q = y
        return [P / r + (energy - V + 2 * c**2) / c * Q, -Q / r - (energy - V) / c * P]

    def mismatch(energy):
        start, middle, end = 1e-8, 0.01, 0.4
        V = potential(start)
        options = {"args": (energy,), "rtol": 1e-11, "atol": 1e-30, "method": "DOP853"}
        inner = [start, -(energy - V) / (3 * c) * start**2]
        out = solve_ivp(slopes, (start, middle), inner, **options).y[:, -1]
        decay = np.sqrt(-energy * (2 + energy / c**2))
        outer = [1e-20, -1e-20 * decay / (2 * c + energy / c)]
        back = solve_ivp(slopes, (end, middle), outer, **options).y[:, -1]
        return out[1] / out[0] - back[1] / back[0]

    return brentq(mismatch, guess * 1.0001, guess * 0.9999, xtol=1e-10, rtol=1e-13)


def test_any_central_potential():
    own = atom(zt.Potential(lambda r: -1 / r), n=40, rmax=30.0, kappa_max=1)
    coulomb = atom(zt.Coulomb(Z=1), n=40, rmax=30.0, kappa_max=1)
    np.testing.assert_array_equal(own.fixed.coefficients, coulomb.fixed.coefficients)
    argon = atom(zt.TongLin("Ar"), n=60, rmax=30.0, kappa_max=2)
    # 3p½ and 3p3/2 of argon: the fit is not relativistic, the splitting is (measured 0.177 eV).
    split = [zt.spinor_states(argon, k)[0] for k in (1, -2)]
    levels = [e[e > -(argon.basis.c**2)][1] for e in split]
    assert (levels[1] - levels[0]) * 27.211386 == pytest.approx(0.177, abs=0.03)


def test_too_few_splines_are_warned_of():
    """The warning's estimate against the error of the level itself."""
    for Z, n, knots in ((92, 100, "linear"), (92, 60, "exponential"), (1, 30, "linear")):
        radial = zt.RadialBSplines(n, 7, 2.0 if Z > 1 else 60.0, knots, first=1e-4)
        basis = zt.SpinorBasis(radial, 1)
        exact, estimate = sommerfeld(Z, 1, -1, basis.c), ground_state_error(radial, basis.c, Z)
        model = zt.Model([zt.Dirac(), zt.Coulomb(Z=Z)])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            H = zt.discretize(model, basis)
        energies, _ = zt.spinor_states(H, -1)
        found = abs(energies[energies > -(basis.c**2)][0] / exact - 1)
        assert found / 4 < estimate < 4 * found
        assert bool(seen) == (found > 1e-4)
        if seen:
            assert "100 splines" in str(seen[0].message) and "Z = 92" in str(seen[0].message)


def test_a_small_box_is_not_blamed_on_the_splines():
    for term, Z in ((zt.Coulomb(Z=1), 1), (zt.UniformNucleus(92, "5.86 fm"), 92)):
        for zr, n in ((0.5, 30), (0.5, 8), (10.0, 60)):
            radial = zt.RadialBSplines(n, 7, zr / Z, "exponential", first=1e-5)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                zt.discretize(zt.Model([zt.Dirac(), term]), zt.SpinorBasis(radial, 1))
            assert len(seen) == (zr < 10)
            if seen:
                words = f"is too small for Z = {Z}: .*; take {10 / Z:.2g} or above"
                assert seen[0].category is SmallBoxWarning and seen[0].filename == __file__
                assert re.search(words, str(seen[0].message))


def test_no_more_states_than_electrons():
    """12 splines give 12 electron states for each κ = ±1, μ = ±½, less what is held at zero."""
    H = atom(zt.Coulomb(Z=1), n=12, rmax=20.0, kappa_max=1)
    count = sum(2 * np.sum(zt.spinor_states(H, k)[0] > -(H.basis.c**2)) for k in (-1, 1))
    assert len(zt.eigenstates(H, int(count)).energies) == count
    with pytest.raises(zt.InputError, match=f"n: must be at most {count}, .* but is {count + 1}"):
        zt.eigenstates(H, int(count) + 1)


def test_solvers_that_need_a_floor_refuse():
    H = atom(zt.Coulomb(Z=1), n=30, rmax=20.0, kappa_max=1)
    assert not H.fixed.bounded_below
    for solver in (zt.ImaginaryTime(), zt.LOBPCG(), zt.ChebyshevFilter()):
        with pytest.raises(zt.Unsupported):
            zt.eigenstates(H, 1, solver)
    pulse = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=15)
    driven = atom(zt.Coulomb(Z=1), zt.DiracLight(pulse, 1), n=30, rmax=40.0, kappa_max=1)
    with pytest.raises(zt.Unsupported, match=r"no lowest states.*H\.static"):
        zt.eigenstates(driven.at(0.5), 1)
    with pytest.raises(zt.Unsupported, match="SpinorBasis"):
        zt.discretize(zt.Model([zt.Dirac()]), zt.Grid(64, 0.2))


@pytest.mark.parametrize("nucleus", [zt.UniformNucleus, zt.FermiNucleus])
def test_too_few_splines_for_a_nucleus_of_finite_size(nucleus):
    """The estimate against the level's error; the caller is where the warning points."""
    term = nucleus(92, "5.86 fm")
    fine = atom(term, n=110, rmax=1.5, first=1e-6, kappa_max=1)
    energies, _ = zt.spinor_states(fine, -1)
    exact = energies[energies > -(fine.basis.c**2)][0]
    for n, knots in ((100, "linear"), (60, "exponential")):
        radial = zt.RadialBSplines(n, 7, 2.0, knots, first=1e-5)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            H = zt.discretize(zt.Model([zt.Dirac(), term]), zt.SpinorBasis(radial, 1))
        energies, _ = zt.spinor_states(H, -1)
        found = abs(energies[energies > -(H.basis.c**2)][0] / exact - 1)
        assert bool(seen) == (found > 1e-4) == (knots == "linear")
        estimate = finite_nucleus_error(radial, H.basis.c, 92, float(term.rms), term.central)
        if seen:
            assert found / 4 < estimate < 4 * found
            assert seen[0].filename == __file__ and "Z = 92" in str(seen[0].message)
        else:
            assert estimate < 1e-7


def test_terms_of_schroedinger_name_those_of_dirac():
    basis = zt.SpinorBasis(zt.RadialBSplines(12, 7, 5.0), 1)
    pulse = zt.SineSquared(amplitude=1.0, frequency=50.0, cycles=3)
    for term, words in (
        (zt.Kinetic(), r"use Dirac\(\)"),
        (zt.LengthGauge(pulse), "use DiracLight"),
        (zt.VelocityGauge(pulse), "use DiracLight"),
    ):
        with pytest.raises(zt.Unsupported, match=words):
            zt.discretize(zt.Model([term]), basis)
