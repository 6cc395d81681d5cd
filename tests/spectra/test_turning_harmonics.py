"""Harmonics of vectors: components, ellipticity and helicity, and the rules of bicircular light."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import spectra

OMEGA = 0.1
TIMES = np.linspace(0.0, 12 * 2 * np.pi / OMEGA, 3001)


def ellipse(order, epsilon, tilt=0.0):
    """(cos, ε sin) turned by an angle: from x towards y for ε > 0."""
    phase = order * OMEGA * TIMES
    x, y = np.cos(phase), epsilon * np.sin(phase)
    return np.stack([np.cos(tilt) * x - np.sin(tilt) * y, np.sin(tilt) * x + np.cos(tilt) * y], 1)


@pytest.mark.parametrize(("epsilon", "tilt"), [(1.0, 0.0), (-1.0, 0.0), (0.3, 0.0), (-0.6, 0.7)])
@pytest.mark.parametrize("form", ["dipole", "velocity", "acceleration"])
def test_ellipticity_and_helicity(epsilon, tilt, form):
    spectrum = spectra.harmonic_spectrum(TIMES, ellipse(5, epsilon, tilt), OMEGA, form)
    # |a±| ∝ |1 ± ε|; Hann's window leaves 1e-9 of a line at −5.
    assert spectrum.ellipticity(5) == pytest.approx(epsilon, abs=1e-4)
    helicity = 2 * epsilon / (1 + epsilon**2)
    assert spectrum.helicity(5) == pytest.approx(helicity, abs=1e-7)
    assert spectrum.helicity(5, plane="yx") == pytest.approx(-helicity, abs=1e-7)


def test_parts_add_up():
    signal = ellipse(3, 0.5) + 0.3 * ellipse(5, -1.0)
    spectrum = spectra.harmonic_spectrum(TIMES, signal, OMEGA)
    for parts in (("x", "y"), ("+", "-")):
        total = sum(spectrum.part(name).intensity for name in parts)
        np.testing.assert_allclose(total, spectrum.intensity, rtol=1e-12)
    alone = spectra.harmonic_spectrum(TIMES, signal, OMEGA, component="y")
    np.testing.assert_allclose(spectrum.part("y").intensity, alone.intensity, rtol=1e-12)
    assert spectrum.part("-").at(5) > 1e6 * spectrum.part("+").at(5)
    with pytest.raises(zt.InputError, match="signal: must be a vector, as Acceleration records"):
        alone.helicity(3)
    with pytest.raises(zt.InputError, match="plane: must be one of"):
        spectrum.helicity(3, plane="xz")
    with pytest.raises(zt.InputError, match="name: must be one of"):
        spectrum.part("z")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lmax")  # the rules hold for any
def test_bicircular_light():
    """ω turning one way and 2ω the other: ω is 3n + 1, 2ω is 3n − 1, and 3n are missing.

    Hydrogen with l ≤ 3, in a trapezoid long enough for lines.
    """
    frequency = 0.12
    one, two = (
        zt.Trapezoid(
            frequency=n * frequency, intensity="2e13 W/cm^2", ramp_cycles=3 * n,
            plateau_cycles=6 * n, polarization="x", ellipticity=turn,
        )
        for n, turn in ((1, 1.0), (2, -1.0))
    )  # fmt: skip
    radial = zt.RadialBSplines(30, 5, 25.0, "graded", first=0.5, grading=6.0)
    terms = [zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(one + two), zt.ComplexAbsorber(10.0)]
    H = zt.discretize(zt.Model(terms), zt.SphericalBasis(radial, 3, m="all"))
    ground = zt.eigenstates(H.static, 1).states[0]
    end = float(one.duration)
    run = zt.evolve(H, ground, (0.0, end), 0.2, zt.AngularSplit(), [zt.Acceleration()])
    spectrum = spectra.harmonic_spectrum(
        run.times, run.observables["acceleration"], frequency, window="blackmanharris"
    )
    for order, helicity in ((1, 1), (2, -1), (4, 1), (5, -1), (7, 1), (8, -1)):
        # Ramps of three cycles leave 1e-4 of the wrong sense at the weakest of them.
        assert spectrum.helicity(order) == pytest.approx(helicity, abs=1e-3)
    assert spectrum.at(3) < 1e-4 * spectrum.at(4)
    assert spectrum.at(6) < 1e-2 * spectrum.at(7)


def test_a_harmonic_without_a_signal_has_no_helicity():
    times = np.linspace(0.0, 400.0, 2001)
    spectrum = spectra.harmonic_spectrum(times, np.zeros((2001, 3)), 0.1)
    for ask in (spectrum.helicity, spectrum.ellipticity):
        with pytest.raises(zt.InputError, match="order: must be that of a harmonic with a signal"):
            ask(3)
        with pytest.raises(zt.InputError, match=r"none within 1e-09 about order 3\.1"):
            ask(3.1, 1e-9)


def test_harmonics_that_turn_in_an_oblique_plane():
    first, second = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    signal = ellipse(5, 0.3) @ np.stack([first, second])
    spectrum = spectra.harmonic_spectrum(TIMES, signal, OMEGA)
    assert spectrum.ellipticity(5, plane=[first, second]) == pytest.approx(0.3, abs=1e-4)
    assert spectrum.ellipticity(5, plane=[second, first]) == pytest.approx(-0.3, abs=1e-4)
    flat = spectra.harmonic_spectrum(TIMES, signal[:, :2], OMEGA)
    with pytest.raises(zt.InputError, match="plane: must be one of"):
        flat.helicity(5, plane=[first, second])
