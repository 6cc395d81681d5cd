"""High-harmonic spectra from the dipole, its velocity or its acceleration.

    S(ω) = |∫ w(t) d̈(t) e^{iωt} dt|²,    d̈ → −iω ḋ → −ω² d

All three forms agree where the signal has ended at both ends; the acceleration needs the least of
the window w.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from scipy.signal import get_window

from zitter import checks, units

_POWERS = {"dipole": 2, "velocity": 1, "acceleration": 0}


@dataclasses.dataclass
class HarmonicSpectrum:
    """S at angular `frequencies` ω; `order` counts them in units of the laser's frequency."""

    frequencies: np.ndarray
    intensity: np.ndarray
    fundamental: float

    @property
    def order(self) -> np.ndarray:
        return self.frequencies / self.fundamental

    def at(self, order: float, width: float = 0.5) -> float:
        """∫ S dω within ± width/2 orders of a harmonic."""
        near = np.abs(self.order - order) <= width / 2
        return float(np.trapezoid(self.intensity[near], self.frequencies[near]))

    def cutoff(self, after: float = 3.0) -> float:
        """The order where the odd harmonics leave the plateau: a decade below its median.

        The plateau is made of the harmonics above `after` within two decades of the strongest.
        """
        if not np.any(self.intensity):
            raise checks.InputError("signal", "must not be zero to have a cutoff, but is")
        odd = np.arange(1, int(self.order[-1]), 2)
        if not np.any(odd > after):
            raise checks.InputError(
                "after", f"must be below the last odd harmonic of the spectrum, but is {after:g}"
            )
        level = np.log10([self.at(float(n), 1.0) + 1e-300 for n in odd])
        plateau = (odd > after) & (level > level[odd > after].max() - 2)
        edge = np.median(level[plateau]) - 1
        last = int(np.nonzero(plateau & (level > edge))[0].max())
        if last + 1 == len(odd):
            raise checks.InputError(
                "times", "must be close enough to see the cutoff, but the plateau goes on to the "
                f"last odd harmonic, {odd[last]}"
            )  # fmt: skip
        fall = (level[last] - edge) / (level[last] - level[last + 1])
        return float(odd[last] + 2 * min(fall, 1.0))


def harmonic_spectrum(
    times: Any,
    signal: Any,
    fundamental: float | str,
    form: Literal["dipole", "velocity", "acceleration"] = "acceleration",
    window: str | tuple[Any, ...] = "hann",
) -> HarmonicSpectrum:
    """S(ω) of one component of an observable recorded at equal time steps.

    `fundamental` is the laser's frequency, or a string such as "1.55 eV" or "800 nm"; `window` is
    any name `scipy.signal.get_window` knows, "boxcar" for none.
    """
    times = checks.array("times", times, (None,))
    signal = checks.array("signal", signal, (len(times),))
    checks.choice("form", form, _POWERS)
    if len(times) < 3:
        raise checks.InputError("times", f"must be at least 3, but are {len(times)}")
    steps = np.diff(times)
    # The last record may follow a shorter interval: it is left out.
    count = len(times) if np.isclose(steps[-1], steps[0], rtol=1e-6) else len(times) - 1
    if not np.allclose(steps[: count - 1], steps[0], rtol=1e-6):
        raise checks.InputError("times", "must be equally spaced, but are not")
    omega = _frequency(fundamental)
    if np.pi / steps[0] < 2 * omega:
        raise checks.InputError(
            "times",
            f"must be closer than half a period ({np.pi / omega:.3g}), "
            f"but are {steps[0]:.3g} apart",
        )
    weighted = _window(window, count) * signal[:count]
    amplitude = np.fft.rfft(weighted, 4 * count) * steps[0]
    frequencies = 2 * np.pi * np.fft.rfftfreq(4 * count, steps[0])
    intensity = np.abs(amplitude * frequencies ** _POWERS[form]) ** 2
    return HarmonicSpectrum(frequencies, intensity, omega)


def _frequency(fundamental: float | str) -> float:
    """ω from a photon energy, or from a wavelength with its unit."""
    if isinstance(fundamental, str):
        try:
            units.parse(fundamental, "energy")
        except ValueError:
            wavelength = checks.positive("fundamental", fundamental, "wavelength")
            return units.frequency_of_wavelength(float(wavelength))
    return float(checks.positive("fundamental", fundamental, "energy"))


def _window(window: str | tuple[Any, ...], count: int) -> np.ndarray:
    try:
        return np.asarray(get_window(window, count, fftbins=False))
    except (ValueError, TypeError):
        raise checks.InputError(
            "window", f"must be one that scipy.signal.get_window knows, but is {window!r}"
        ) from None


def cutoff_energy(ionization_energy: float, ponderomotive_energy: float) -> float:
    """Ip + 3.17 Up (Krause, Schafer & Kulander, Phys. Rev. Lett. 68, 3535 (1992))."""
    return ionization_energy + 3.17 * ponderomotive_energy
