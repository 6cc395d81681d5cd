"""Unipolar pulse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from zitter import checks, units
from zitter.fields import polarization as directions
from zitter.fields.base import LinearField, held, shown


@final
class HalfCycle(LinearField):
    """E(s) = E₀ sin²(πs/T),   A(s) = −E₀ [s/2 − (T/4π) sin(2πs/T)],   0 ≤ s = t − start ≤ T.

    E has one sign (that of `amplitude`), so A does not return to zero: the kick it leaves,
    `residual_vector_potential`, is −E₀T/2.
    """

    amplitude: Any
    length: Any
    start: Any
    axis: tuple[float, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        amplitude: float | str,
        duration: float | str,
        polarization: Sequence[float] | str | None = None,
        start: float | str = 0.0,
    ):
        self.amplitude = checks.scalar("amplitude", amplitude, "field")
        self.length = checks.positive("duration", duration, "time")
        self.start = checks.non_negative("start", start, "time")
        self.axis = directions.checked(polarization)

    @property
    def duration(self) -> Any:
        return self.start + self.length

    def _potential(self, t: Array) -> Array:
        s = held(t - self.start, self.length)
        wave = jnp.sin(2 * math.pi * s / self.length)
        return -self.amplitude * (s / 2 - self.length / (4 * math.pi) * wave)

    def describe(self) -> str:
        return (
            f"HalfCycle: peak field {shown(self.amplitude)} a.u. "
            f"({shown(self.amplitude, units.FIELD_V_PER_M * 1e-9)} V/nm), "
            f"{shown(self.length, units.TIME_S * 1e15)} fs, {directions.in_words(self.axis)}"
        )
