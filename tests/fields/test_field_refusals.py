"""Input that makes no pulse is refused with the key and the reason."""

from __future__ import annotations

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zitter.checks import InputError
from zitter.fields import Gaussian, HalfCycle, SineSquared, Static, Tabulated, Trapezoid, Waveform

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
            lambda: Gaussian(**LIGHT, fwhm=60, turn_off=70, cutoff=95),
            "turn_off: must be at most 30 (times fwhm), or a time with its unit, "
            '"70 a.u.", but is 70',
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm=60, cutoff=95),
            "cutoff: must be at most 30 (times fwhm), or a time with its unit, "
            '"95 a.u.", but is 95',
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm="5 fs", turn_off="2 fs"),
            "turn_off: must be at least 0.5 (times fwhm), but is 0.4",
        ),
        (
            lambda: Gaussian(**LIGHT, fwhm="5 fs", turn_off="10 nm"),
            "turn_off: must be a number in atomic units or a string like",
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
        (
            lambda: Tabulated([0, 1]),
            "electric_field: must be the only one of electric_field, vector_potential, "
            "but the input has none",
        ),
        (
            lambda: Tabulated([0, 1], [0, 1], vector_potential=[0, 1]),
            "vector_potential: must be the only one of electric_field, vector_potential, "
            "but the input has electric_field and vector_potential",
        ),
        (lambda: Tabulated(electric_field=[0, 1]), "times: must be given, but is missing"),
        (
            lambda: Tabulated([0, 1, 2], vector_potential=[0.1, 1, 0]),
            "vector_potential: must begin at zero, as A is before a pulse, but begins at 0.1",
        ),
        (
            lambda: Tabulated([0, 1, 2], vector_potential=[0, 1]),
            "vector_potential: must have as many samples as times, at least 2, but has 2",
        ),
        (
            lambda: Tabulated([0, 1], [0, 1], quantity="vector_potential"),
            "quantity: must be given with file only, but is vector_potential",
        ),
        (
            lambda: Tabulated(file="a.txt", quantity="A"),
            "quantity: must be one of 'electric_field', 'vector_potential', but is 'A'",
        ),
        (lambda: Tabulated([0, 1], [0, 1j]), "electric_field: must be real, but is complex"),
        (
            lambda: Tabulated(),
            "file: must be given instead of times with electric_field or vector_potential, "
            "but is None",
        ),
        (
            lambda: Tabulated([0, 1], [0, 1], file="a.txt"),
            "file: must be given instead of times with electric_field or vector_potential, "
            "but is 'a.txt'",
        ),
        (lambda: Tabulated(file="missing.npz"), "file: must name a text file of two columns"),
        (lambda: Tabulated(file="missing.h5"), "file: must name a text file of two columns"),
        (lambda: Tabulated(file="missing.dat"), "file: must name a text file of two columns"),
        (
            lambda: Waveform(duration=5),
            "vector_potential: must be the only one of vector_potential, electric_field, "
            "but the input has none",
        ),
        (
            lambda: Waveform("t", electric_field="1", duration=5),
            "electric_field: must be the only one of vector_potential, electric_field, "
            "but the input has vector_potential and electric_field",
        ),
        (lambda: Waveform("t", duration=0), "duration: must be positive, but is 0"),
        (
            lambda: Waveform("t * x", duration=5),
            "vector_potential: must be an arithmetic expression of t, but uses 'x'",
        ),
        (
            lambda: Waveform(electric_field="__import__('os')", duration=5),
            "electric_field: must be an arithmetic expression of t, but uses",
        ),
        (
            lambda: Waveform(3, duration=5),
            "vector_potential: must be a function or an expression of t, but is 3",
        ),
        (
            lambda: Waveform("cos(t)", duration=5),
            "vector_potential: must begin at zero, as A is before a pulse, but begins at 1",
        ),
        (
            lambda: Waveform("sqrt(t)", duration=5),
            "vector_potential: must have a finite slope, but has none at t = 0",
        ),
        (
            lambda: Waveform(electric_field="1 / (t - 5)", duration=5),
            "electric_field: must have a finite value, but has none at t = 5",
        ),
        (
            lambda: Waveform(lambda t: t * jnp.ones(3), duration=5),
            "vector_potential: must give one real number for each time, but gives float64(3,)",
        ),
        (
            lambda: Waveform(lambda t: 1j * t, duration=5),
            "vector_potential: must give one real number for each time, but gives complex128()",
        ),
        (
            lambda: Waveform(np.sin, duration=5),
            "vector_potential: must be a function of one time in jax.numpy, but is not: ",
        ),
        (
            lambda: Waveform(jax.tree_util.Partial(jnp.multiply, "a"), duration=5),
            "vector_potential: must have numbers as parameters, but has 'a'",
        ),
        (
            lambda: Waveform(electric_field="sin(1e6 * t**3)", duration=100),
            "electric_field: must be smooth between 0 and 100, but cannot be integrated there",
        ),
        (
            lambda: jax.grad(
                lambda w: Waveform(electric_field=lambda t: w * t, duration=5).duration
            )(1.0),
            "electric_field: must not be traced by JAX (a vector_potential may be), but is",
        ),
        (
            lambda: jax.grad(lambda end: Waveform(electric_field="t", duration=end).duration)(5.0),
            "duration: must be a plain number with electric_field, but is traced by JAX",
        ),
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


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds none"),
        ("# t E\n", "holds none"),
        ("0 0 0\n1 1 1\n", "line 1 .* has 3 of them"),
        ("0 0\n\n1 1 # two\n2\n", "line 4 .* has 1 of them"),
        ("t E\n0 0\n", "line 1 .* has 't E'"),
        ("0,0\n1,1\n", "line 1 .* has '0,0'"),
    ],
)
def test_pulse_files_have_two_numbers_in_each_line(text, fault, tmp_path):
    file = tmp_path / "pulse.dat"
    file.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=f"^file: must hold .*{fault}") as refused:
            Tabulated(file=str(file))
    assert str(file) in str(refused.value)
