"""Pulse with a sine-squared envelope on the electric field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import jax.numpy as jnp
from jaxtyping import Array

from zitter.fields.carrier import Carrier, pulse_length
from zitter.fields.pulse import CarrierPulse


@final
class SineSquaredField(CarrierPulse):
    """E(s) = E₀ sin²(πs/T) cos φ(s),   A(s) = −∫₀ˢ E ds′,   0 ≤ s = t − start ≤ T.

    φ(s) = ω(s − s₀) + cep, with s₀ = 0 (`phase_origin="start"`) or T/2 ("center"). The common
    E₀ sin²(ωt/2n) sin(ωt) of n cycles is `cycles=n, cep="-90 deg"`. A is integrated in closed form
    and returns to zero for a whole number of cycles above one; otherwise see
    `residual_vector_potential`.
    """

    carrier: Carrier
    length: Any

    def __init__(
        self,
        *,
        amplitude: float | str | None = None,
        intensity: float | str | None = None,
        frequency: float | str | None = None,
        wavelength: float | str | None = None,
        cycles: float | None = None,
        duration: float | str | None = None,
        cep: float | str = 0.0,
        polarization: Sequence[float] | str | None = None,
        ellipticity: float = 0.0,
        start: float | str = 0.0,
        phase_origin: str = "start",
        allow_subcycle: bool = False,
    ):
        self.carrier = Carrier(
            amplitude, intensity, frequency, wavelength,
            cep, 0.0, polarization, ellipticity, start, phase_origin,
        )  # fmt: skip
        self.length = pulse_length(cycles, duration, self.carrier, allow_subcycle)

    def _component(self, s: Array, lag: float) -> Array:
        # sin²(Ωs/2) cos φ = ½ cos φ − ¼ cos(φ + Ωs) − ¼ cos(φ − Ωs)
        omega, sideband = self.carrier.frequency, 2 * math.pi / self.length
        phase = self.carrier.cep - lag - omega * self.carrier.origin(self.length)

        def integral(frequency: Array) -> Array:
            # ∫₀ˢ cos(νs′ + c) ds′, written so that ν = 0 (a single cycle) is regular
            half = frequency * s / 2
            return s * jnp.sinc(half / jnp.pi) * jnp.cos(half + phase)

        sidebands = integral(omega + sideband) + integral(omega - sideband)
        return -self.carrier.amplitude * (integral(omega) / 2 - sidebands / 4)
