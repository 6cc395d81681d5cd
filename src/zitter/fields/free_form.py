"""A pulse of any form within a band: coefficients to be optimized, scanned, or drawn at random."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zitter import checks, runtime, units
from zitter.fields import polarization as directions
from zitter.fields.base import Field, held, shown
from zitter.fields.fluence import fluence
from zitter.keywords import caller

MISSED = 0.05  # of ∫|A|² dt: what is warned of where a pulse is taken over


@final
class FreeForm(Field):
    """A(s) = sin²(πs/T) Σₖ [aₖ cos ωₖu + bₖ sin ωₖu],   u = s − T/2,   0 ≤ s = t − start ≤ T.

    `coefficients` are (aₖ, bₖ), an array (2, K), for light along `polarization`; or (2, 2, K),
    those along e₁ (`polarization`) before those along e₂, for light that turns in their plane. The
    frequencies ωₖ are equally spaced over `band`, both ends included; one alone lies in its middle.
    2π/T apart they describe every pulse of the band once. The window widens each by 4π/T at most,
    but for side lobes of less than 3 % of the amplitude.

    A is zero at both ends whatever the coefficients are, E = −dA/dt is as well, and both are linear
    in them.
    """

    coefficients: Any
    band: tuple[Any, Any]
    length: Any
    start: Any
    axis: tuple[float, ...] | None = eqx.field(static=True)
    free: ClassVar[tuple[str, ...]] = ("coefficients",)

    def __init__(
        self,
        coefficients: Sequence[Sequence[Any]] | np.ndarray,
        *,
        band: Sequence[float | str],
        duration: float | str,
        polarization: Sequence[float] | str | None = None,
        start: float | str = 0.0,
    ):
        values = checks.array("coefficients", coefficients)
        shape = np.shape(values)
        if shape[:-1] not in ((2,), (2, 2)) or shape[-1] == 0 or jnp.iscomplexobj(values):
            raise checks.InputError(
                "coefficients",
                f"must be real, of shape (2, K) or (2, 2, K), but have the shape {shape}",
            )
        self.coefficients = values
        if isinstance(band, str) or np.size(band) != 2:
            raise checks.InputError("band", f"must be two frequencies, but is {band!r}")
        low, high = (checks.positive("band", value, "energy") for value in band)
        if not checks.is_traced((low, high)) and high < low:
            raise checks.InputError("band", f"must rise, but falls from {low:g} to {high:g}")
        self.band = low, high
        self.length = checks.positive("duration", duration, "time")
        self.start = checks.non_negative("start", start, "time")
        self.axis = directions.checked(polarization)

    @classmethod
    def near(
        cls, pulse: Field, *, band: Sequence[float | str], terms: int | None = None
    ) -> FreeForm:
        """The free form whose A is nearest to that of a pulse, in the sense of ∫|ΔA|² dt.

        `terms` is the number of frequencies; without it they are 2π/T apart. Warns where ∫|ΔA|² dt
        is more than 5 % of ∫|A|² dt.
        """
        low, high = (float(checks.positive("band", value, "energy")) for value in band)
        end = float(checks.instance("pulse", pulse, Field).duration)
        if not np.isfinite(end):
            raise checks.InputError("pulse", "must end, but never does")
        usual = 1 + max(0, round((high - low) * end / (2 * np.pi)))
        count = usual if terms is None else checks.integer("terms", terms, 1)
        given = {"band": (low, high), "duration": end}
        times = np.linspace(0.0, end, max(512, int(8 * end * high)))
        runtime.settings()  # before JAX is used: double precision, and the flags of its compiler
        unit = cls(np.zeros((2, count)), **given)
        columns = np.asarray(unit._functions(jnp.asarray(times))).reshape(2 * count, -1).T
        wanted = [np.asarray(pulse.vector_potential_xyz(times)) @ axis for axis in _axes(pulse)]
        found = np.linalg.lstsq(columns, np.stack(wanted, axis=1), rcond=1e-8)[0]
        size = np.sum(np.square(wanted))
        missed = np.sum((columns @ found - np.stack(wanted, axis=1)) ** 2) / size if size else 0.0
        if missed > MISSED:
            warnings.warn(
                f"the free form misses {100 * missed:.0f} % of ∫|A|² dt of the pulse: take another "
                "band or more terms",
                stacklevel=caller(),
            )
        coefficients = found.T.reshape(len(wanted), 2, count)
        one = coefficients[0] if len(wanted) == 1 else coefficients
        return cls(one, **given, polarization=pulse.polarization)

    @property
    def duration(self) -> Any:
        return self.start + self.length

    @property
    def polarization(self) -> tuple[float, ...] | None:
        return self.axis

    @property
    def is_linear(self) -> bool:
        return np.ndim(self.coefficients) == 2

    @property
    def frequencies(self) -> Any:
        """ωₖ."""
        low, high = self.band
        count = np.shape(self.coefficients)[-1]
        return jnp.linspace(low, high, count) if count > 1 else jnp.reshape((low + high) / 2, (1,))

    def scaled(self, factor: Any) -> FreeForm:
        return eqx.tree_at(lambda p: p.coefficients, self, factor * self.coefficients)

    def _functions(self, t: Array) -> Array:
        """What the coefficients multiply, (2, K, times)."""
        s = held(t - self.start, self.length)
        phase = self.frequencies[:, None] * jnp.ravel(s - self.length / 2)
        window = jnp.sin(jnp.pi * jnp.ravel(s) / self.length) ** 2
        return (window * jnp.stack([jnp.cos(phase), jnp.sin(phase)])).astype(t.dtype)

    def _along(self, t: Array, coefficients: Any) -> Array:
        return jnp.einsum("ck,ckt->t", coefficients, self._functions(t)).reshape(t.shape)

    def _potential(self, t: Array) -> Array:
        return self._along(t, self.coefficients if self.is_linear else self.coefficients[0])

    def _potential_xyz(self, t: Array) -> Array:
        major = jnp.asarray(directions.major_axis(self.axis), t.dtype)
        along = self._potential(t)[..., None] * major
        if self.is_linear:
            return along
        minor = jnp.asarray(directions.minor_axis(self.axis), t.dtype)
        return along + self._along(t, self.coefficients[1])[..., None] * minor

    def describe(self) -> str:
        low, high = (shown(value, units.HARTREE_EV) for value in self.band)
        plane = directions.plane_in_words(self.axis)
        where = directions.in_words(self.axis) if self.is_linear else f"in the plane of {plane}"
        energy = "traced"
        if not checks.is_traced(self):
            energy = f"{float(fluence(self)) * units.FLUENCE_J_PER_CM2:.4g}"
        return (
            f"FreeForm: {np.shape(self.coefficients)[-1]} frequencies from {low} to {high} eV, "
            f"{shown(self.length, units.TIME_S * 1e15)} fs, {energy} J/cm², {where}"
        )


def _axes(pulse: Field) -> list[np.ndarray]:
    major = directions.major_axis(pulse.polarization)
    return [major] if pulse.is_linear else [major, directions.minor_axis(pulse.polarization)]
