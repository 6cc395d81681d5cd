"""Harmonic spectra of signals with known content; focal averages of known powers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zitter as zt
from zitter import spectra
from zitter.spectra import ConvergenceWarning

OMEGA = 0.057
TIMES = np.linspace(0.0, 8 * 2 * np.pi / OMEGA, 4001)


def comb(orders, strengths, derivative):
    """Harmonics under a smooth envelope, or a derivative of their sum by finite differences."""
    envelope = np.sin(np.pi * TIMES / TIMES[-1]) ** 4
    signal = sum(s * np.cos(n * OMEGA * TIMES) for n, s in zip(orders, strengths, strict=True))
    signal = envelope * signal
    for _ in range(derivative):
        signal = np.gradient(signal, TIMES, edge_order=2)
    return signal


def test_the_three_forms_agree():
    forms = {"dipole": 0, "velocity": 1, "acceleration": 2}
    results = [
        spectra.harmonic_spectrum(TIMES, comb([3, 5], [1.0, 0.1], d), OMEGA, form, "boxcar").at(5)
        for form, d in forms.items()
    ]
    # np.gradient is second order: (5ωΔt)²/6 = 1e-3 for each derivative, squared in S.
    np.testing.assert_allclose(results, results[0], rtol=6e-3)


def test_strength_of_a_line():
    spectrum = spectra.harmonic_spectrum(TIMES, comb([3], [2.0], 0), OMEGA, "acceleration")
    # Parseval: ∫|a(ω)|² dω = π ∫ (w·signal)² dt over positive frequencies.
    window = np.hanning(len(TIMES))
    expected = np.pi * np.trapezoid((window * comb([3], [2.0], 0)) ** 2, TIMES)
    assert spectrum.at(3.0, 2.0) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("slope", [0.0, 0.05], ids=["flat", "sloping"])
@pytest.mark.parametrize("cutoff", [25.0, 26.2])
def test_cutoff_of_a_made_plateau(slope, cutoff):
    """The fall is that of hydrogen at 800 nm: half a decade over the first harmonic beyond."""
    orders = np.arange(1, 61, 2)
    levels = -3.0 - slope * orders - 0.17 * np.maximum(orders - cutoff, 0) ** 1.5  # log10 S
    found = spectra.harmonic_spectrum(TIMES, comb(orders, 10 ** (levels / 2), 0), OMEGA).cutoff()
    assert found == pytest.approx(cutoff, abs=0.02)  # n₀ is tried in steps of 0.01


def test_cutoff_of_a_cliff_and_above_a_floor():
    """Where nothing is left beyond the last harmonic, and where noise follows two decades below."""
    orders = np.arange(1, 61, 2)
    cliff = np.where(orders <= 25, -3.0, -12.0)
    spectrum = spectra.harmonic_spectrum(TIMES, comb(orders, 10 ** (cliff / 2), 0), OMEGA)
    assert spectrum.cutoff() == pytest.approx(25.0, abs=0.02)
    floor = np.maximum(-3.0 - 0.17 * np.maximum(orders - 25, 0) ** 1.5, -5.5)
    spectrum = spectra.harmonic_spectrum(TIMES, comb(orders, 10 ** (floor / 2), 0), OMEGA)
    assert spectrum.cutoff() == pytest.approx(25.0, abs=0.02)


def test_a_vector_is_the_sum_of_its_components_or_one_of_them():
    """`Acceleration` records (times, 3)."""
    parts = [comb([3], [1.0], 0), comb([5], [0.3], 0), comb([3, 7], [0.5, 0.1], 0)]
    vector = np.stack(parts, axis=1)
    each = [spectra.harmonic_spectrum(TIMES, part, OMEGA).intensity for part in parts]
    whole = spectra.harmonic_spectrum(TIMES, vector, OMEGA)
    np.testing.assert_allclose(whole.intensity, sum(each), rtol=1e-12)
    along_z = spectra.harmonic_spectrum(TIMES, vector, OMEGA, component="z")
    np.testing.assert_array_equal(along_z.intensity, each[2])
    with pytest.raises(zt.InputError, match=r"^component: must be one of 'x', 'y', but is 'z'"):
        spectra.harmonic_spectrum(TIMES, vector[:, :2], OMEGA, component="z")
    with pytest.raises(zt.InputError, match=r"^component: must not be given where the signal has"):
        spectra.harmonic_spectrum(TIMES, parts[0], OMEGA, component="z")
    with pytest.raises(
        zt.InputError, match=r"^signal: must have the shape \(4001,\), or .* has \(3,"
    ):
        spectra.harmonic_spectrum(TIMES, vector.T, OMEGA)


def test_the_fundamental_has_units():
    signal = comb([3], [1.0], 0)
    ev = spectra.harmonic_spectrum(TIMES, signal, "1.5498 eV").fundamental
    nm = spectra.harmonic_spectrum(TIMES, signal, "800 nm").fundamental
    # hc = 1239.842 eV nm: 800 nm are 1.549802 eV.
    assert ev == pytest.approx(1.5498 / 27.211386, rel=1e-7)
    assert nm == pytest.approx(ev, rel=3e-6)
    with pytest.raises(zt.InputError, match="fundamental: must be a number in atomic units or"):
        spectra.harmonic_spectrum(TIMES, signal, "800 fs")


def test_cutoff_law():
    assert spectra.cutoff_energy(0.5, 0.2195) == pytest.approx(1.1958, abs=1e-4)


def test_harmonic_refusals():
    with pytest.raises(zt.InputError, match="times: must be equally spaced"):
        spectra.harmonic_spectrum(np.array([0.0, 1.0, 3.0, 4.0]), np.zeros(4), OMEGA)
    with pytest.raises(zt.InputError, match="times: must be closer than half a period"):
        spectra.harmonic_spectrum(np.arange(8) * 100.0, np.zeros(8), OMEGA)
    with pytest.raises(zt.InputError, match="form: must be one of"):
        spectra.harmonic_spectrum(TIMES, np.zeros(4001), OMEGA, "jerk")  # type: ignore[arg-type]
    with pytest.raises(zt.InputError, match=r"window: must be one that .* knows, but is 'foo'"):
        spectra.harmonic_spectrum(TIMES, np.zeros(4001), OMEGA, window="foo")
    with pytest.raises(zt.InputError, match="times: must be at least 3, but are 1"):
        spectra.harmonic_spectrum([0.0], [0.0], OMEGA)
    with pytest.raises(zt.InputError, match="signal: must not be zero to have a cutoff"):
        spectra.harmonic_spectrum(TIMES, np.zeros(4001), OMEGA).cutoff()
    kick = spectra.harmonic_spectrum(TIMES, np.eye(1, 4001, 2000)[0], OMEGA)  # flat to the end
    with pytest.raises(zt.InputError, match="times: must be close enough to see the cutoff"):
        kick.cutoff()
    with pytest.raises(zt.InputError, match="after: must be below the last odd harmonic"):
        kick.cutoff(after=1e4)


@pytest.mark.parametrize("power", [3, 6])
def test_focal_average_of_a_power(power):
    intensities = np.geomspace(1e-3, 1.0, 40)
    found = spectra.focal_average(intensities, intensities**power)
    # ∫₀¹ I^n (2I + 1)√(1 − I)/I^{5/2} dI by Euler's beta function
    from scipy.special import beta

    expected = 2 * beta(power - 0.5, 1.5) + beta(power - 1.5, 1.5)
    assert found == pytest.approx(expected, rel=2e-4)
    thin = spectra.focal_average(intensities, intensities**power, "slice")
    assert thin == pytest.approx(1 / power, rel=1e-6)


def test_focal_average_tells_where_the_scan_decides():
    """One photon: the whole focus has no finite signal, a slice has."""
    intensities = np.geomspace(1e-2, 1.0, 9)
    # ∫ (2I + 1)√(1 − I)/I^{3/2} dI: the decade below 0.01 adds 2(√1000 − √100)(1 + O(0.01)) to 19.7
    with pytest.warns(ConvergenceWarning, match=r"below its first intensity would add 2\.2 of"):
        spectra.focal_average(intensities, intensities)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thin = spectra.focal_average(intensities, intensities, "slice")
        spectra.focal_average(intensities, intensities**3)
        spectra.focal_average(intensities, np.zeros(9))
    assert thin == pytest.approx(0.99, rel=1e-12)


def test_focal_average_takes_units():
    numbers = np.geomspace(1e11, 1e14, 20)
    strings = [f"{x:.15g} W/cm^2" for x in numbers]
    expected = spectra.focal_average(numbers, numbers**3)
    for given in (strings, np.array(strings)):
        assert spectra.focal_average(given, numbers**3) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(zt.InputError, match=r"intensities\.1: must be a number in atomic units or"):
        spectra.focal_average([1e-4, "1 eV"], [1.0, 1.0])


def test_focal_average_keeps_the_axes_of_spectra():
    intensities = np.geomspace(1e-3, 1.0, 5)
    values = np.stack([intensities**2, intensities**3], axis=1)
    assert spectra.focal_average(intensities, values).shape == (2,)
    with pytest.raises(zt.InputError, match="intensities: must be positive and rise"):
        spectra.focal_average([1.0, 0.5], [1.0, 1.0])
    with pytest.raises(zt.InputError, match="values: must have one entry for each intensity"):
        spectra.focal_average([0.5, 1.0], [1.0, 1.0, 1.0])


@pytest.mark.slow
def test_hydrogen_at_800_nm_has_its_plateau_and_cutoff():
    radial = zt.RadialBSplines(160, 7, 80.0, "graded", first=0.3, grading=10.0)
    basis = zt.SphericalBasis(radial, 20)
    pulse = zt.SineSquared(cycles=4, wavelength="800 nm", intensity="1e14 W/cm^2")
    terms = [zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(pulse), zt.ComplexAbsorber(30.0)]
    H = zt.discretize(zt.Model(terms), basis)
    ground = zt.eigenstates(H.static, 1).states[0]
    end = float(pulse.duration)
    run = zt.evolve(H, ground, (0.0, end), 0.05, zt.AngularSplit(), [zt.Acceleration()], 10)
    spectrum = spectra.harmonic_spectrum(
        run.times, run.observables["acceleration"], pulse.frequency
    )
    law = spectra.cutoff_energy(0.5, float(pulse.ponderomotive_energy)) / float(pulse.frequency)
    # H21 by the law; four cycles make a plateau that is rough to a quarter of a decade.
    assert law == pytest.approx(21.0, abs=0.01)
    assert spectrum.cutoff() == pytest.approx(law, abs=0.7)
    # Beyond the cutoff the spectrum falls by more than five decades within ten orders.
    assert spectrum.at(35, 2.0) < 1e-5 * spectrum.at(17, 2.0)
