"""Units against CODATA as SciPy carries it; the constants in use are those of one CODATA year."""

from __future__ import annotations

import math

import pytest
import scipy.constants
from hypothesis import given
from hypothesis import strategies as st

from zitter import units

CODATA = {name: entry[0] for name, entry in scipy.constants.physical_constants.items()}
UNITS = [(dimension, unit) for dimension, known in units.DIMENSIONS.items() for unit in known]


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (units.BOHR_M, "Bohr radius"),
        (units.HARTREE_EV, "Hartree energy in eV"),
        (units.HARTREE_J, "Hartree energy"),
        (units.TIME_S, "atomic unit of time"),
        (units.FIELD_V_PER_M, "atomic unit of electric field"),
        (units.SPEED_OF_LIGHT, "inverse fine-structure constant"),
        (units.DIMENSIONS["mass"]["mp"], "proton-electron mass ratio"),
    ],
)
def test_constants_are_codata(ours, name):
    assert ours == CODATA[name]


def test_atomic_mass_unit():
    # SciPy has its inverse, rounded to 13 digits.
    assert units.parse("1 u", "mass") == pytest.approx(1 / CODATA["electron mass in u"], rel=1e-11)


def test_atomic_unit_of_intensity():
    # I = ε0 c E²/2. The field is given to 12 digits, ε0 to 11.
    expected = scipy.constants.epsilon_0 * scipy.constants.c * units.FIELD_V_PER_M**2 / 2 * 1e-4
    assert pytest.approx(expected, rel=1e-11) == units.INTENSITY_W_PER_CM2


def test_atomic_unit_of_fluence():
    # ε0 c ∫E² dt of the field itself, with no half as in the mean over a wave: 1.698 J/cm².
    field, time = CODATA["atomic unit of electric field"], CODATA["atomic unit of time"]
    expected = scipy.constants.epsilon_0 * scipy.constants.c * field**2 * time * 1e-4
    assert pytest.approx(expected, rel=1e-11) == units.FLUENCE_J_PER_CM2
    assert pytest.approx(1.698, abs=5e-4) == units.FLUENCE_J_PER_CM2


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("1.4 angstrom", "length", 1.4e-10 / CODATA["Bohr radius"]),
        ("800 nm", "wavelength", 800e-9 / CODATA["Bohr radius"]),
        ("20 eV", "energy", 20 / CODATA["Hartree energy in eV"]),
        ("1 Ry", "energy", 0.5),
        ("1 cm^-1", "energy", 1 / (CODATA["hartree-inverse meter relationship"] / 100)),
        ("5 fs", "time", 5e-15 / CODATA["atomic unit of time"]),
        ("24 as", "time", 24e-18 / CODATA["atomic unit of time"]),
        ("5 V/nm", "field", 5e9 / CODATA["atomic unit of electric field"]),
        ("30 MV/cm", "field", 3e9 / CODATA["atomic unit of electric field"]),
        ("1e14 W/cm^2", "intensity", 1e14 / 3.50944552773e16),
        ("90 deg", "angle", math.pi / 2),
        ("0.5 pi", "angle", math.pi / 2),
        ("1 mp", "mass", CODATA["proton-electron mass ratio"]),
    ],
)
def test_quantities_with_units(text, dimension, expected):
    # The tables hold 12 digits or more.
    assert units.parse(text, dimension) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("value", [0.057, 3, "0.057", " 5.7e-2 ", "0.057 au", "0.057 a.u."])
def test_plain_numbers_are_atomic_units(value):
    assert units.parse(value, "energy") == float(str(value).split()[0])


@pytest.mark.parametrize(
    ("text", "same", "dimension"),
    [
        ("2e14W/cm2", "2e14 W/cm^2", "intensity"),
        ("2e14 W/cm²", "2e14 W/cm^2", "intensity"),
        ("2e14 w/cm**2", "2e14 W/cm^2", "intensity"),
        ("20 EV", "20 eV", "energy"),
        ("3 cm-1", "3 cm^-1", "energy"),
        ("3 cm⁻¹", "3 cm^-1", "energy"),
        ("1.5 Angstrom", "1.5 Å", "length"),
        ("1.5 \N{ANGSTROM SIGN}", "1.5 angstrom", "length"),
        ("1.5 A\N{COMBINING RING ABOVE}", "1.5 angstrom", "length"),
        ("0.8 \N{MICRO SIGN}m", "800 nm", "length"),
        ("0.8 \N{GREEK SMALL LETTER MU}m", "0.8 um", "length"),
    ],
)
def test_spellings_of_one_unit(text, same, dimension):
    assert units.parse(text, dimension) == pytest.approx(units.parse(same, dimension), rel=1e-15)


def test_prefixes_that_differ_in_case_only():
    assert units.parse("1 MeV", "energy") == pytest.approx(1e9 * units.parse("1 meV", "energy"))
    assert units.parse("1 MV/cm", "field") == pytest.approx(1e9 * units.parse("1 mV/cm", "field"))
    with pytest.raises(ValueError, match="meV, MeV"):
        units.parse("1 mev", "energy")


@given(unit=st.sampled_from(UNITS), number=st.floats(1e-30, 1e30), sign=st.sampled_from([1, -1]))
def test_round_trip_through_text(unit, number, sign):
    dimension, name = unit
    back = units.parse(f"{sign * number!r} {name}", dimension) / units.DIMENSIONS[dimension][name]
    # One multiplication and one division: two roundings.
    assert back == pytest.approx(sign * number, rel=4e-16)


@given(st.floats(1e-6, 1e6))
def test_conversions_for_printing_invert_parsing(value):
    # Printing multiplies by one constant, parsing by its rounded inverse: a few roundings.
    assert units.to_ev(units.parse(f"{value!r} eV", "energy")) == pytest.approx(value, rel=1e-15)
    assert units.to_fs(units.parse(f"{value!r} fs", "time")) == pytest.approx(value, rel=1e-15)
    intensity = units.parse(f"{value!r} W/cm^2", "intensity")
    assert units.to_w_per_cm2(intensity) == pytest.approx(value, rel=1e-15)


def test_photon_energy_of_800_nm():
    omega = units.frequency_of_wavelength(units.parse("800 nm", "wavelength"))
    photon = scipy.constants.h * scipy.constants.c / 800e-9 / scipy.constants.e
    # CODATA's rounded constants agree with one another to about 12 digits.
    assert units.to_ev(omega) == pytest.approx(photon, rel=1e-11)


@pytest.mark.parametrize("text", ["", "nm", "nan", "inf", "ten nm", "1,4 nm", "--3", "1e nm"])
def test_text_without_a_usable_quantity_is_refused(text):
    with pytest.raises(
        ValueError, match=r'must be a number in atomic units or a string like "1\.4 a'
    ):
        units.parse(text, "length")


def test_wrong_unit_names_the_right_ones():
    with pytest.raises(ValueError) as caught:
        units.parse("5 fs", "energy")
    assert str(caught.value) == (
        'must be a number in atomic units or a string like "20 eV" '
        "(units: hartree, Ha, eV, keV, meV, MeV, Ry, rydberg, J, cm^-1), "
        'but is "5 fs"'
    )


@pytest.mark.parametrize("dimension", units.DIMENSIONS)
def test_every_dimension_has_an_example_that_parses(dimension):
    assert units.parse(units._EXAMPLES[dimension], dimension) > 0
