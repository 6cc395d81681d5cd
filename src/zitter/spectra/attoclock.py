"""The offset of an attoclock: where electrons fly, against where the light alone would take them.

    W(φ) = ∫ k dk d³P/dk³   in the plane of polarization,    offset = φ_max − arg(−A(t₀))

A(t₀) is the vector potential when the field is strongest; without the ion's force electrons set
free then end with k = −A(t₀). Positive offsets go with the rotation of the light. The maximum meant
is the highest one of W, which is steadier than that of d³P/dk³ itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from zitter import checks
from zitter.fields import Field
from zitter.spectra.angular import AngularSpectrum
from zitter.spectra.directions import plane_axes

UNRESOLVED = 1e-3  # of W: what the shortest waves on the circle may hold


@dataclasses.dataclass(frozen=True)
class AttoclockOffset:
    """`offset` of the maximum of W(φ), and its `spread` over the spectra given, in radians.

    `angle` is where the maximum lies in the plane, `expected` where −A(t₀) points; `offsets` has
    that of each spectrum, by its label.
    """

    offset: float
    spread: float
    angle: float
    expected: float
    offsets: dict[Any, float]

    def __repr__(self) -> str:
        spread = f" ± {np.degrees(self.spread):.2f}" if len(self.offsets) > 1 else ""
        return (
            f"AttoclockOffset: {np.degrees(self.offset):.2f}{spread}°, W(φ) is largest at "
            f"{np.degrees(self.angle):.2f}°, −A at {np.degrees(self.expected):.2f}°"
        )


def attoclock_offset(
    spectra: AngularSpectrum | Mapping[Any, AngularSpectrum], pulse: Field
) -> AttoclockOffset:
    """The offset of a spectrum in the plane of polarization (`plane="xy"`, all around).

    Of several, as {lmax: spectrum}, the last one counts, and `spread` is the largest difference
    between any of them and it.
    """
    if isinstance(spectra, AngularSpectrum):
        spectra = {"": spectra}
    if not spectra:
        raise checks.InputError("spectra", "must be at least one, but are none")
    found = {}
    for label, spectrum in spectra.items():
        if spectrum.plane is None:
            raise checks.InputError(
                "spectra", 'must lie in the plane of polarization, plane = "xy", but do not'
            )
        expected, turn = _expected(pulse, *plane_axes(spectrum.plane))
        angle = circular_maximum(spectrum.angles, spectrum.over_momenta)
        found[label] = (_turned(turn * (angle - expected)), angle, expected)
    offsets = {label: offset for label, (offset, _, _) in found.items()}
    offset, angle, expected = list(found.values())[-1]
    spread = max(abs(_turned(x - offset)) for x in offsets.values())
    return AttoclockOffset(offset, spread, angle, expected, offsets)


def circular_maximum(angles: np.ndarray, values: np.ndarray) -> float:
    """The place of the highest maximum of a periodic function, by its Fourier series."""
    count = len(angles)
    even = 2 * np.pi * np.arange(count) / count
    if count < 8 or not np.allclose(angles - angles[0], even, rtol=0, atol=1e-9):
        raise checks.InputError("angles", "must go once around in equal steps, but do not")
    if not np.max(values) > 0:
        raise checks.InputError("spectra", "must have W(φ) above zero somewhere, but have not")
    if np.ptp(values) <= 1e-12 * np.max(values):
        raise checks.InputError(
            "spectra", "must have a maximum of W(φ), but it is the same all around"
        )
    series = np.fft.rfft(values)
    if np.abs(series[-1]) > UNRESOLVED * np.abs(series[0]):
        raise checks.InputError(
            "angles", f"must resolve the distribution, but {count} of them do not: take more"
        )
    fine = 32 * count
    padded = np.zeros(fine // 2 + 1, complex)
    padded[: len(series)] = series
    place = 2 * np.pi * int(np.argmax(np.fft.irfft(padded, fine))) / fine
    m = np.arange(len(series))
    for _ in range(3):  # Newton, from within a thirtieth of a step
        wave = series * np.exp(1j * m * place)
        place += float(np.sum(np.imag(m * wave)) / -np.sum(np.real(m * m * wave)))
    return float((angles[0] + place) % (2 * np.pi))


def _expected(pulse: Field, e1: np.ndarray, e2: np.ndarray) -> tuple[float, float]:
    """(the angle of −A where |E| is largest, +1 where the light turns from e₁ towards e₂)."""
    duration = float(pulse.duration)
    if not np.isfinite(duration):
        raise checks.InputError("pulse", "must end, but its duration is infinite")
    times = np.linspace(0.0, duration, 40001)
    fields = np.asarray(pulse.electric_field_xyz(times)) @ np.stack([e1, e2], axis=1)
    peak = int(np.argmax(np.sum(fields**2, axis=1)))
    field = fields[peak]
    A = np.asarray(pulse.vector_potential_xyz(times[peak])) @ np.stack([e1, e2], axis=1)
    turning = -(A[0] * field[1] - A[1] * field[0])  # A × dA/dt, dA/dt = −E
    if abs(turning) <= 1e-6 * np.linalg.norm(A) * np.linalg.norm(field):
        raise checks.InputError("pulse", "must turn in the plane of the spectrum, but does not")
    return float(np.arctan2(-A[1], -A[0]) % (2 * np.pi)), float(np.sign(turning))


def _turned(angle: float) -> float:
    """Between −π and π."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
