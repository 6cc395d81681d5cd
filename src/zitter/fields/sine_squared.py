"""Pulse with a sine-squared envelope on the vector potential."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import jax.numpy as jnp
from jaxtyping import Array

from zitter.fields.carrier import Carrier, pulse_length
from zitter.fields.pulse import CarrierPulse


@final
class SineSquared(CarrierPulse):
    """A(s) = −(E₀/ω) sin²(πs/T) sin φ(s),   0 ≤ s = t − start ≤ T.

    φ(s) = ω(s − s₀) + ½ chirp (s − s₀)² + cep with s₀ = T/2 (`phase_origin="center"`) or 0
    ("start"), so that E ≈ E₀ sin²(πs/T) cos φ. A vanishes at both ends whatever the parameters.
    T is `duration` or `cycles` periods 2π/ω. The form A = +(E₀/ω) sin²(πs/T) sin(ωs + α) used in
    relativistic work is `phase_origin="start"`, `cep=α + π`.
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
        chirp: float = 0.0,
        polarization: Sequence[float] | str | None = None,
        ellipticity: float = 0.0,
        start: float | str = 0.0,
        phase_origin: str = "center",
        allow_subcycle: bool = False,
    ):
        self.carrier = Carrier(
            amplitude, intensity, frequency, wavelength,
            cep, chirp, polarization, ellipticity, start, phase_origin,
        )  # fmt: skip
        self.length = pulse_length(cycles, duration, self.carrier, allow_subcycle)

    def _component(self, s: Array, lag: float) -> Array:
        envelope = jnp.sin(jnp.pi * s / self.length) ** 2
        return self.carrier.potential(envelope, s, self.length, lag)
