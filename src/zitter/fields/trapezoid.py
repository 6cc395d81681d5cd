"""Flat-top pulse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from zitter import checks
from zitter.fields.carrier import Carrier, refuse_subcycle
from zitter.fields.pulse import CarrierPulse


@final
class Trapezoid(CarrierPulse):
    """A(s) = −(E₀/ω) g(s/r) g((T − s)/r) sin φ(s),   0 ≤ s = t − start ≤ T = 2r + plateau.

    g(x) = sin²(πx/2) (`smooth=True`) or x (`smooth=False`) on the ramps of length r, 1 on the
    plateau; both lengths are given in periods 2π/ω. φ(s) = ω(s − s₀) + ½ chirp (s − s₀)² + cep,
    s₀ = T/2 (`phase_origin="center"`) or 0 ("start"); E ≈ E₀ cos φ on the plateau. Linear ramps
    have kinks, where E jumps by up to E₀ / (2π ramp_cycles). A vanishes at both ends.
    """

    carrier: Carrier
    length: Any
    ramp: Any
    smooth: bool = eqx.field(static=True)

    def __init__(
        self,
        *,
        amplitude: float | str | None = None,
        intensity: float | str | None = None,
        frequency: float | str | None = None,
        wavelength: float | str | None = None,
        ramp_cycles: float,
        plateau_cycles: float,
        smooth: bool = True,
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
        self.ramp = checks.positive("ramp_cycles", ramp_cycles) * self.carrier.period
        plateau = checks.non_negative("plateau_cycles", plateau_cycles) * self.carrier.period
        self.length = 2 * self.ramp + plateau
        self.smooth = checks.boolean("smooth", smooth)
        refuse_subcycle("plateau_cycles", self.length, self.carrier, allow_subcycle)

    @property
    def kinks(self) -> tuple[Any, ...]:
        start, end = super().kinks
        return start, start + self.ramp, end - self.ramp, end

    def _component(self, s: Array, lag: float) -> Array:
        rise = jnp.minimum(s / self.ramp, 1.0)
        fall = jnp.minimum((self.length - s) / self.ramp, 1.0)
        if self.smooth:
            rise, fall = jnp.sin(jnp.pi / 2 * rise) ** 2, jnp.sin(jnp.pi / 2 * fall) ** 2
        return self.carrier.potential(rise * fall, s, self.length, lag)
