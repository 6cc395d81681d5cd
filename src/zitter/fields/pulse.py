"""What all pulses with a carrier have in common, whatever their envelope."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zitter import checks, units
from zitter.fields import polarization as directions
from zitter.fields.base import Field, held, shown
from zitter.fields.carrier import Carrier


class CarrierPulse(Field):
    """A pulse of `length` with a carrier: E ≈ E₀ f(s) [e₁ cos φ + ε e₂ sin φ] / √(1 + ε²).

    The root keeps the cycle-averaged intensity, and with it the ponderomotive energy, independent
    of the ellipticity ε.
    """

    carrier: eqx.AbstractVar[Carrier]
    length: eqx.AbstractVar[Any]

    @abstractmethod
    def _component(self, s: Array, lag: float) -> Array:
        """A at time s ∈ [0, length] after the start, for linear light with phase φ − lag."""

    @property
    def duration(self) -> Any:
        return self.carrier.start + self.length

    @property
    def kinks(self) -> tuple[Any, ...]:
        return self.carrier.start, self.duration

    @property
    def polarization(self) -> tuple[float, ...] | None:
        return self.carrier.axis

    @property
    def is_linear(self) -> bool:
        return self.carrier.is_linear

    @property
    def amplitude(self) -> Any:
        """E₀."""
        return self.carrier.amplitude

    @property
    def frequency(self) -> Any:
        """ω at the phase origin."""
        return self.carrier.frequency

    @property
    def wavelength(self) -> Any:
        """λ = 2πc/ω in vacuum."""
        return 2 * math.pi * units.SPEED_OF_LIGHT / self.carrier.frequency

    @property
    def peak_intensity(self) -> Any:
        """E₀², in atomic units of intensity."""
        return self.carrier.amplitude**2

    @property
    def ponderomotive_energy(self) -> Any:
        """Up = E₀² / 4ω²."""
        return self.peak_intensity / (4 * self.carrier.frequency**2)

    def keldysh_parameter(self, ionization_energy: float | str) -> Any:
        """γ = √(Ip / 2Up): tunneling below 1, multiphoton ionization above."""
        energy = checks.positive("ionization_energy", ionization_energy, "energy")
        return (energy / (2 * self.ponderomotive_energy)) ** 0.5

    def describe(self) -> str:
        return (
            f"{type(self).__name__}: "
            f"{shown(self.peak_intensity, units.INTENSITY_W_PER_CM2)} W/cm², "
            f"{shown(self.wavelength, units.BOHR_M * 1e9)} nm "
            f"({shown(self.frequency, units.HARTREE_EV)} eV), "
            f"{shown(self.length, units.TIME_S * 1e15)} fs{self._delay}, "
            f"Up = {shown(self.ponderomotive_energy, units.HARTREE_EV)} eV, {self._turning}"
        )

    @property
    def _delay(self) -> str:
        start = self.carrier.start
        if not checks.is_traced(start) and np.ndim(start) == 0 and start == 0:
            return ""
        return f" from {shown(start, units.TIME_S * 1e15)} fs on"

    @property
    def _turning(self) -> str:
        axis = self.carrier.axis
        if self.carrier.is_linear:
            return directions.in_words(axis)
        ellipticity = self.carrier.ellipticity
        axes = directions.elliptic_in_words(axis, shown(ellipticity))
        if checks.is_traced(self) or np.ndim(ellipticity) > 0:
            return axes
        peak = shown(self.amplitude / (1 + ellipticity**2) ** 0.5)
        sense = directions.turning_in_words(axis, bool(ellipticity > 0))
        return f"{peak} a.u. on the major axis, {sense}, {axes}"

    def scaled(self, factor: Any) -> CarrierPulse:
        return eqx.tree_at(lambda p: p.carrier.amplitude, self, factor * self.amplitude)

    def _potential(self, t: Array) -> Array:
        s = held(t - self.carrier.start, self.length)
        return self._component(s, 0.0) / jnp.sqrt(1 + self.carrier.ellipticity**2)

    def _potential_xyz(self, t: Array) -> Array:
        major = jnp.asarray(directions.major_axis(self.carrier.axis), t.dtype)
        along = self._potential(t)[..., None] * major
        if self.carrier.is_linear:
            return along
        minor = jnp.asarray(directions.minor_axis(self.carrier.axis), t.dtype)
        s = held(t - self.carrier.start, self.length)
        ellipticity = self.carrier.ellipticity
        across = ellipticity / jnp.sqrt(1 + ellipticity**2) * self._component(s, math.pi / 2)
        return along + across[..., None] * minor
