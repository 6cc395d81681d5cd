"""The oscillating part that all carrier pulses share, and the one place that reads its keywords."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from zitter import checks, units
from zitter.fields import polarization as directions
from zitter.keywords import caller

# In atomic units, 3.5e22 W/cm²: beyond, a unit was more likely forgotten than meant.
UNLIKELY_INTENSITY = 1e6


class Carrier(eqx.Module):
    """φ(s) = ω u + ½ b u² + cep,   u = s − s₀,   s = t − start.

    s₀ is the middle of the pulse (`phase_origin="center"`) or its beginning ("start"); b (`chirp`)
    is the rate of the instantaneous frequency, ω(u) = ω + b u. Every pulse uses φ such that
    E ≈ E₀ f(s) cos φ(s), with f its envelope.
    """

    amplitude: Any
    frequency: Any
    cep: Any
    chirp: Any
    ellipticity: Any
    start: Any
    axis: tuple[float, ...] | None = eqx.field(static=True)
    is_linear: bool = eqx.field(static=True)
    phase_origin: str = eqx.field(static=True)

    def __init__(
        self,
        amplitude: float | str | None,
        intensity: float | str | None,
        frequency: float | str | None,
        wavelength: float | str | None,
        cep: float | str,
        chirp: float,
        polarization: Sequence[float] | str | None,
        ellipticity: float,
        start: float | str,
        phase_origin: str,
    ):
        self.amplitude = peak_field(amplitude, intensity)
        if only_one("frequency", frequency, "wavelength", wavelength) == "frequency":
            self.frequency = checks.positive("frequency", frequency, "energy")
        else:
            length = checks.positive("wavelength", wavelength, "wavelength")
            self.frequency = units.frequency_of_wavelength(length)
        self.cep = checks.scalar("cep", cep, "angle")
        self.chirp = checks.scalar("chirp", chirp)
        self.ellipticity = checked_ellipticity("ellipticity", ellipticity)
        self.start = checks.non_negative("start", start, "time")
        self.axis = directions.checked(polarization)
        # Static: whether one component is enough decides how light terms are built.
        self.is_linear = not checks.is_traced(self.ellipticity) and bool(self.ellipticity == 0)
        self.phase_origin = checks.choice("phase_origin", phase_origin, ("center", "start"))

    @property
    def period(self) -> Any:
        return 2 * math.pi / self.frequency

    def origin(self, length: Any) -> Any:
        """s₀ of a pulse of that length."""
        return length / 2 if self.phase_origin == "center" else 0.0

    def potential(self, envelope: Array, s: Array, length: Array, lag: float) -> Array:
        """−(E₀/ω) f sin(φ − lag): A of a pulse whose envelope multiplies A."""
        u = s - self.origin(length)
        phase = self.frequency * u + 0.5 * self.chirp * u * u + self.cep - lag
        return -self.amplitude / self.frequency * envelope * jnp.sin(phase)


def checked_ellipticity(key: str, value: Any, dimension: str | None = None) -> Any:
    """ε between −1 and 1, beyond which e₁ would not be the major axis."""
    number = checks.scalar(key, value, dimension)
    if not checks.is_traced(number) and abs(number) > 1:
        raise checks.InputError(key, f"must be between -1 and 1, but is {number:g}")
    return number


def peak_field(amplitude: float | str | None, intensity: float | str | None) -> Any:
    """E₀ from the one of the two that is given; I = E₀² in atomic units."""
    if only_one("amplitude", amplitude, "intensity", intensity) == "amplitude":
        return checks.positive("amplitude", amplitude, "field")
    value = checks.positive("intensity", intensity, "intensity")
    warn_of_missing_unit(intensity)
    return value**0.5


def warn_of_missing_unit(intensity: Any) -> None:
    if isinstance(intensity, str) or checks.is_traced(intensity) or intensity < UNLIKELY_INTENSITY:
        return
    given = checks.as_given(intensity)
    warnings.warn(
        f"intensity = {given} is in atomic units, {units.to_w_per_cm2(float(intensity)):.2g} "
        f'W/cm^2; with its unit it would be "{given} W/cm^2"',
        stacklevel=caller(),
    )


def pulse_length(
    cycles: float | None, duration: float | str | None, carrier: Carrier, allow_subcycle: bool
) -> Any:
    """The length from a number of cycles or from a time, whichever is given."""
    key = only_one("cycles", cycles, "duration", duration)
    if key == "cycles":
        length = checks.positive("cycles", cycles) * carrier.period
    else:
        length = checks.positive("duration", duration, "time")
    refuse_subcycle(key, length, carrier, allow_subcycle)
    return length


def refuse_subcycle(key: str, length: Any, carrier: Carrier, allow_subcycle: bool) -> None:
    """Below one cycle ω is no longer the frequency of the light and E₀ no longer its peak."""
    if checks.boolean("allow_subcycle", allow_subcycle) or checks.is_traced((length, carrier)):
        return
    cycles = length / carrier.period
    if cycles < 1 - 1e-9:  # one cycle given as a time may round to just below one
        raise checks.InputError(
            key,
            f"must give a pulse of at least one optical cycle, but gives {cycles:.3g} cycles "
            "(allow_subcycle = true accepts it)",
        )


def only_one(first: str, first_value: Any, second: str, second_value: Any) -> str:
    """The name of the one keyword of two that is given."""
    if first_value is not None and second_value is not None:
        raise checks.InputError(
            second, f"must not be given together with {first}, but is {second_value}"
        )
    if first_value is None and second_value is None:
        raise checks.InputError(first, f"must be given (or {second}), but both are missing")
    return first if second_value is None else second
