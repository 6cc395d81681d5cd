"""Constant electric field, switched on and off smoothly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zitter import checks, units
from zitter.fields import polarization as directions
from zitter.fields.base import LinearField, held, shown


@final
class Static(LinearField):
    """E(s) = F sin²(πs/2r) for 0 ≤ s = t − start < r (`ramp`), F afterwards; A = −∫E dt.

    With a `duration` T the field ends at s = T, falling over the last r as it rose; without, it
    lasts for ever and `duration` is infinite. A does not return to zero.
    """

    amplitude: Any
    ramp: Any
    length: Any
    start: Any
    axis: tuple[float, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        amplitude: float | str,
        ramp: float | str,
        duration: float | str | None = None,
        polarization: Sequence[float] | str | None = None,
        start: float | str = 0.0,
    ):
        self.amplitude = checks.scalar("amplitude", amplitude, "field")
        self.ramp = checks.positive("ramp", ramp, "time")
        self.start = checks.non_negative("start", start, "time")
        self.axis = directions.checked(polarization)
        if duration is None:
            self.length = np.float64(np.inf)
            return
        self.length = checks.positive("duration", duration, "time")
        if not checks.is_traced((self.length, self.ramp)) and self.length < 2 * self.ramp:
            raise checks.InputError(
                "duration",
                f"must be at least two ramps ({2 * self.ramp:g}), but is {self.length:g}",
            )

    @property
    def duration(self) -> Any:
        return self.start + self.length

    @property
    def kinks(self) -> tuple[Any, ...]:
        start, end = self.start, self.duration
        return start, start + self.ramp, end - self.ramp, end

    def _potential(self, t: Array) -> Array:
        s = held(t - self.start, self.length)
        return -self.amplitude * (self._risen(s) - self._risen(s - (self.length - self.ramp)))

    def _risen(self, s: Array) -> Array:
        """∫₀ˢ of the switch: sin² on the ramp, then one; zero for s < 0."""
        on_ramp = held(s, self.ramp)
        wave = jnp.sin(math.pi * on_ramp / self.ramp)
        after = jnp.where(s > self.ramp, s - self.ramp, 0.0)
        return on_ramp / 2 - self.ramp / (2 * math.pi) * wave + after

    def describe(self) -> str:
        return (
            f"Static: {shown(self.amplitude)} a.u. "
            f"({shown(self.amplitude, units.FIELD_V_PER_M * 1e-9)} V/nm), "
            f"ramp {shown(self.ramp, units.TIME_S * 1e15)} fs, "
            f"length {shown(self.length, units.TIME_S * 1e15)} fs, {directions.in_words(self.axis)}"
        )
