"""Input that makes no pulse is refused with the key and the reason."""

from __future__ import annotations

import re
import warnings

import pytest

from zitter.checks import InputError
from zitter.fields import Gaussian, HalfCycle, SineSquared, Static, Tabulated, Trapezoid

LIGHT = {"amplitude": 0.05, "frequency": 0.3}


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (
            lambda: SineSquared(amplitude=0.1, intensity=0.01, frequency=0.3, cycles=4),
            "intensity: must not be given together with amplitude, but is 0.01",
        ),
        (
            lambda: SineSquared(frequency=0.3, cycles=4),
            "amplitude: must be given (or intensity), but both are missing",
        ),
        (
            lambda: SineSquared(amplitude=0.1, cycles=4),
            "frequency: must be given (or wavelength), but both are missing",
        ),
        (
            lambda: SineSquared(**LIGHT, wavelength="800 nm", cycles=4),
            "wavelength: must not be given together with frequency, but is 800 nm",
        ),
        (
            lambda: SineSquared(intensity=-1e14, frequency=0.3, cycles=4),
            "intensity: must be positive, but is -1e14",
        ),
        (
            lambda: SineSquared(intensity="1e14 W", frequency=0.3, cycles=4),
            "intensity: must be a number in atomic units or a string like",
        ),
        (lambda: SineSquared(**LIGHT, cycles=0), "cycles: must be positive, but is 0"),
        (
            lambda: SineSquared(**LIGHT, cycles=0.5),
            "cycles: must give a pulse of at least one optical cycle, but gives 0.5 cycles "
            "(allow_subcycle = true accepts it)",
        ),
        (
            lambda: SineSquared(**LIGHT, duration=1.0),
            "duration: must give a pulse of at least one optical cycle, but gives 0.0477 cycles",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, duration=100),
            "duration: must not be given together with cycles, but is 100",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, phase_origin="end"),
            "phase_origin: must be one of 'center', 'start', but is 'end'",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, ellipticity=1.5),
            "ellipticity: must be between -1 and 1, but is 1.5",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, start=-1),
            "start: must not be negative, but is -1",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, polarization=(0, 0)),
            "polarization: must have a direction, but is zero",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, polarization=(1, 0, 0, 0)),
            "polarization: must have one to three components, but has 4",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, polarization="q"),
            "polarization: must be one of 'x', 'y', 'z', but is 'q'",
        ),
        (
            lambda: SineSquared(**LIGHT, cycles=4, polarization=(1, 1j)),
            "polarization: must be real (see ellipticity), but is complex",
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm=1.0),
            "fwhm: must give a pulse of at least one optical cycle, but gives 0.286 cycles",
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm=50, cutoff=2),
            "cutoff: must be at least turn_off + 0.1 = 2.1 (times fwhm), but is 2",
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm=50, turn_off=0.3),
            "turn_off: must be at least 0.5 (times fwhm), but is 0.3",
        ),
        (
            lambda: Trapezoid(**LIGHT, ramp_cycles=0, plateau_cycles=4),
            "ramp_cycles: must be positive, but is 0",
        ),
        (
            lambda: Trapezoid(**LIGHT, ramp_cycles=1, plateau_cycles=4, smooth="yes"),
            "smooth: must be true or false, but is 'yes'",
        ),
        (
            lambda: HalfCycle(amplitude=0.1, duration="5 eV"),
            "duration: must be a number in atomic units or a string like",
        ),
        (
            lambda: Static(amplitude=0.1, ramp=10, duration=15),
            "duration: must be at least two ramps (20), but is 15",
        ),
        (
            lambda: Tabulated([0, 1, 1], [0, 1, 2]),
            "times: must increase from t ≥ 0, but does not always increase",
        ),
        (
            lambda: Tabulated([-1, 0, 1], [0, 1, 2]),
            "times: must increase from t ≥ 0, but begins at -1",
        ),
        (
            lambda: Tabulated([0, 1, 2], [0, 1]),
            "electric_field: must have as many samples as times, at least 2, but has 2",
        ),
        (lambda: Tabulated([0, 1]), "electric_field: must be given, but is missing"),
        (lambda: Tabulated([0, 1], [0, 1j]), "electric_field: must be real, but is complex"),
        (
            lambda: Tabulated(),
            "file: must be given instead of times and electric_field, but is None",
        ),
        (
            lambda: Tabulated([0, 1], [0, 1], file="a.txt"),
            "file: must be given instead of times and electric_field, but is 'a.txt'",
        ),
        (lambda: Tabulated(file="missing.npz"), "file: must be a text file of two columns"),
        (lambda: Tabulated(file="missing.h5"), "file: must be a text file of two columns"),
        (lambda: Tabulated(file="missing.dat"), "file: must be a text file of two columns"),
    ],
)
def test_refused(build, sentence):
    with pytest.raises(InputError, match="^" + re.escape(sentence)):
        build()


def test_subcycle_pulses_on_request():
    assert SineSquared(**LIGHT, cycles=0.5, allow_subcycle=True).duration > 0
    assert Gaussian(**LIGHT, fwhm=1.0, allow_subcycle=True).duration > 0


def test_an_intensity_without_its_unit_is_told():
    light = {"frequency": 0.3, "cycles": 4}
    with pytest.warns(UserWarning, match=r'atomic units, 3\.5e\+30 W/cm\^2; .* "1e14 W/cm\^2"'):
        SineSquared(**light, intensity=1e14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SineSquared(**light, intensity="1e14 W/cm^2")
        SineSquared(**light, intensity="1e23 W/cm^2")  # meant so
        SineSquared(**light, intensity=0.1)
