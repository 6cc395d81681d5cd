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
# In units of fwhm. The envelope underflows at 24: beyond, a time was meant and its unit forgotten.
_MOST_WIDTHS = 30.0


@final
class Gaussian(CarrierPulse):
    """A(u) = −(E₀/ω) exp(−α v(u)²) sin φ(u),   α = 2 ln 2 / fwhm²,   u = t − start − t₂.

    v = |u| up to t₁ (`turn_off`), then v = t₁ + (2/π)(t₂ − t₁) tan(π/2 · (|u| − t₁)/(t₂ − t₁)),
    which reaches infinity, and A exactly zero, at t₂ (`cutoff`) with continuous second
    derivatives (Patchkovskii and Muller, Comput. Phys. Commun. 199, 153 (2016)). Both are numbers
    of `fwhm`, or times where they have a unit: `fwhm="5 fs", turn_off="10 fs", cutoff="15 fs"` is
    `fwhm="5 fs"` with the defaults 2 and 3. The whole pulse lasts 2t₂.

    `fwhm` is that of the intensity envelope exp(−2αu²); φ(u) = ωu + ½ chirp u² + cep;
    E ≈ E₀ exp(−αu²) cos φ. A chirp changes the phase only, not `fwhm`.
    """

    carrier: Carrier
    length: Any
    fwhm: Any
    turn_off: Any  # t₁ / fwhm
    cutoff: Any  # t₂ / fwhm

    def __init__(
        self,
        *,
        amplitude: float | str | None = None,
        intensity: float | str | None = None,
        frequency: float | str | None = None,
        wavelength: float | str | None = None,
        fwhm: float | str,
        turn_off: float | str = 2.0,
        cutoff: float | str = 3.0,
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
        self.turn_off = _in_widths("turn_off", turn_off, self.fwhm)
        self.cutoff = _in_widths("cutoff", cutoff, self.fwhm)
        if not checks.is_traced((self.turn_off, self.cutoff)):
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


def _in_widths(key: str, value: float | str, fwhm: Any) -> Any:
    """A time on either side of the middle, over fwhm: as it is, or from a time with its unit."""
    if isinstance(value, str):
        return checks.positive(key, value, "time") / fwhm
    widths = checks.positive(key, value)
    if not checks.is_traced(widths) and widths > _MOST_WIDTHS:
        given = checks.as_given(value)
        raise checks.InputError(
            key,
            f'must be at most {_MOST_WIDTHS:g} (times fwhm), or a time with its unit, "{given} '
            f'a.u.", but is {given}',
        )
    return widths
