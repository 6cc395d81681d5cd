"""Gaussian pulse of finite duration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import jax.numpy as jnp
from jaxtyping import Array

from zitter import checks
from zitter.fields.carrier import Carrier, refuse_subcycle
from zitter.fields.pulse import CarrierPulse

# Beyond this fraction of the turn-off the envelope underflows to zero in double precision, while
# tan would overflow in the derivatives.
_UNDERFLOW = 0.999


@final
class Gaussian(CarrierPulse):
    """A(u) = −(E₀/ω) exp(−α v(u)²) sin φ(u),   α = 2 ln 2 / fwhm²,   u = t − start − t₂.

    v = |u| up to t₁ = `turn_off`·fwhm, then v = t₁ + (2/π)(t₂ − t₁) tan(π/2 · (|u|−t₁)/(t₂−t₁)),
    which reaches infinity, and A exactly zero, at t₂ = `cutoff`·fwhm with continuous second
    derivatives (Patchkovskii and Muller, Comput. Phys. Commun. 199, 153 (2016)). `fwhm` is that of
    the intensity envelope exp(−2αu²); φ(u) = ωu + ½ chirp u² + cep; E ≈ E₀ exp(−αu²) cos φ. The
    whole pulse lasts 2t₂. A chirp changes the phase only, not `fwhm`.
    """

    carrier: Carrier
    length: Any
    fwhm: Any
    turn_off: Any
    cutoff: Any

    def __init__(
        self,
        *,
        amplitude: float | str | None = None,
        intensity: float | str | None = None,
        frequency: float | str | None = None,
        wavelength: float | str | None = None,
        fwhm: float | str,
        turn_off: float = 2.0,
        cutoff: float = 3.0,
        cep: float | str = 0.0,
        chirp: float = 0.0,
        polarization: Sequence[float] | str | None = None,
        ellipticity: float = 0.0,
        start: float | str = 0.0,
        allow_subcycle: bool = False,
    ):
        self.carrier = Carrier(
            amplitude, intensity, frequency, wavelength,
            cep, chirp, polarization, ellipticity, start, "center",
        )  # fmt: skip
        self.fwhm = checks.positive("fwhm", fwhm, "time")
        self.turn_off = checks.positive("turn_off", turn_off)
        self.cutoff = checks.positive("cutoff", cutoff)
        if not checks.is_traced((turn_off, cutoff)):
            # The half maximum must lie in the Gaussian part, and the tail must reach underflow.
            if self.turn_off < 0.5:
                raise checks.InputError(
                    "turn_off", f"must be at least 0.5 (times fwhm), but is {self.turn_off:g}"
                )
            if self.cutoff < self.turn_off + 0.1:
                raise checks.InputError(
                    "cutoff",
                    f"must be at least turn_off + 0.1 = {self.turn_off + 0.1:g} (times fwhm), "
                    f"but is {self.cutoff:g}",
                )
        self.length = 2 * self.cutoff * self.fwhm
        refuse_subcycle("fwhm", self.length, self.carrier, allow_subcycle)

    def _component(self, s: Array, lag: float) -> Array:
        u = jnp.abs(s - self.length / 2) / self.fwhm
        width = self.cutoff - self.turn_off
        x = (u - self.turn_off) / width
        # Each branch sees only arguments it is finite for, so derivatives hold no 0 · ∞.
        x_tail = jnp.where((x > 0) & (x < _UNDERFLOW), x, 0.0)
        tail = self.turn_off + 2 / math.pi * width * jnp.tan(math.pi / 2 * x_tail)
        v = jnp.where(x > 0, tail, u)
        envelope = jnp.where(x < _UNDERFLOW, jnp.exp(-2 * math.log(2) * v**2), 0.0)
        return self.carrier.potential(envelope, s, self.length, lag)
