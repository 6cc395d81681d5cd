"""Atomic units inside, other units at the door (CODATA 2022 values, as SciPy carries them).

    parse("800 nm", "wavelength")  ->  15117.8…        parse(0.057, "energy")  ->  0.057

A plain number is already in atomic units. Intensity in atomic units means E0² of a linearly
polarised wave of peak field E0: I[W/cm²] = ε0·c·E0²/2 = 3.50944552773e16 · E0².
"""

from __future__ import annotations

import math
import re
import unicodedata

__all__ = ["frequency_of_wavelength", "parse", "to_ev", "to_fs", "to_w_per_cm2"]

# One atomic unit expressed in SI or customary units.
BOHR_M = 5.29177210544e-11
HARTREE_EV = 27.211386245981
HARTREE_J = 4.3597447222060e-18
TIME_S = 2.4188843265864e-17
FIELD_V_PER_M = 5.14220675112e11
INTENSITY_W_PER_CM2 = 3.50944552773e16  # ε0 c FIELD_V_PER_M² / 2 · 1e-4
# Of ∫E² dt: intensities are those of peak fields, ε0 c E0²/2, half of that for E² itself.
FLUENCE_J_PER_CM2 = 2 * INTENSITY_W_PER_CM2 * TIME_S
SPEED_OF_LIGHT = 137.035999177

# Keys are spelled as physicists spell them; `_factor` says which other spellings are understood.
_LENGTH = {"bohr": 1.0, "a0": 1.0, "m": 1 / BOHR_M}
_LENGTH |= {"cm": 1e-2 / BOHR_M, "mm": 1e-3 / BOHR_M, "um": 1e-6 / BOHR_M, "μm": 1e-6 / BOHR_M}
_LENGTH |= {"nm": 1e-9 / BOHR_M, "pm": 1e-12 / BOHR_M, "fm": 1e-15 / BOHR_M}
_LENGTH |= {"angstrom": 1e-10 / BOHR_M, "Å": 1e-10 / BOHR_M}
_ENERGY = {"hartree": 1.0, "Ha": 1.0, "eV": 1 / HARTREE_EV, "keV": 1e3 / HARTREE_EV}
_ENERGY |= {"meV": 1e-3 / HARTREE_EV, "MeV": 1e6 / HARTREE_EV, "Ry": 0.5, "rydberg": 0.5}
_ENERGY |= {"J": 1 / HARTREE_J}
_ENERGY |= {"cm^-1": 1e2 * BOHR_M * 2 * math.pi * SPEED_OF_LIGHT}
_TIME = {"s": 1 / TIME_S, "ps": 1e-12 / TIME_S, "fs": 1e-15 / TIME_S, "as": 1e-18 / TIME_S}
_FIELD = {"V/m": 1 / FIELD_V_PER_M, "V/cm": 1e2 / FIELD_V_PER_M, "V/nm": 1e9 / FIELD_V_PER_M}
_FIELD |= {"GV/m": 1e9 / FIELD_V_PER_M, "MV/cm": 1e8 / FIELD_V_PER_M}
_FIELD |= {"mV/cm": 1e-1 / FIELD_V_PER_M, "V/angstrom": 1e10 / FIELD_V_PER_M}
_INTENSITY = {"W/cm^2": 1 / INTENSITY_W_PER_CM2, "TW/cm^2": 1e12 / INTENSITY_W_PER_CM2}
_INTENSITY |= {"PW/cm^2": 1e15 / INTENSITY_W_PER_CM2, "W/m^2": 1e-4 / INTENSITY_W_PER_CM2}
_ANGLE = {"rad": 1.0, "deg": math.pi / 180, "°": math.pi / 180, "pi": math.pi}
_MASS = {"me": 1.0, "u": 1822.888486283, "mp": 1836.152673426}

DIMENSIONS: dict[str, dict[str, float]] = {
    "length": _LENGTH,
    "wavelength": _LENGTH,
    "energy": _ENERGY,
    "time": _TIME,
    "field": _FIELD,
    "intensity": _INTENSITY,
    "angle": _ANGLE,
    "mass": _MASS,
}
_EXAMPLES = {
    "length": "1.4 angstrom",
    "wavelength": "800 nm",
    "energy": "20 eV",
    "time": "5 fs",
    "field": "5 V/nm",
    "intensity": "1e14 W/cm^2",
    "angle": "90 deg",
    "mass": "1 mp",
}
_QUANTITY = re.compile(r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)?\s*$")


def parse(value: str | float, dimension: str) -> float:
    """The value in atomic units; `ValueError` says which units would have been right."""
    if not isinstance(value, str):
        return float(value)
    if dimension not in DIMENSIONS:
        raise ValueError(f'dimension: must be one of {", ".join(DIMENSIONS)}, but is "{dimension}"')
    known = DIMENSIONS[dimension]
    match = _QUANTITY.match(value)
    advice = f'must be a number in atomic units or a string like "{_EXAMPLES[dimension]}"'
    if match is None:
        raise ValueError(f'{advice}, but is "{value}"')
    number, unit = float(match.group(1)), match.group(2)
    if unit is None or unit.lower() in ("au", "a.u."):
        return number
    factor = _factor(unit, known)
    if factor is None:
        raise ValueError(f'{advice} (units: {", ".join(known)}), but is "{value}"')
    return number * factor


def _factor(unit: str, known: dict[str, float]) -> float | None:
    """The factor of a unit, or None.

    The exact spelling wins; otherwise case and "^" are ignored, unless two units then fit (mev may
    be meV or MeV). NFKC makes one sign of the several for Å, μ and ².
    """
    unit = unicodedata.normalize("NFKC", unit).replace("−", "-").replace("**", "^")
    if unit in known:
        return known[unit]
    plain = {name: name.lower().replace("^", "") for name in known}
    fits = [name for name in known if plain[name] == unit.lower().replace("^", "")]
    return known[fits[0]] if len(fits) == 1 else None


def to_ev(energy: float) -> float:
    return energy * HARTREE_EV


def to_fs(time: float) -> float:
    return time * TIME_S * 1e15


def to_w_per_cm2(intensity: float) -> float:
    return intensity * INTENSITY_W_PER_CM2


def frequency_of_wavelength(wavelength: float) -> float:
    """Angular frequency ω = 2πc/λ of light of that vacuum wavelength, all in atomic units."""
    return 2 * math.pi * SPEED_OF_LIGHT / wavelength
