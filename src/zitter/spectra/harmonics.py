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

from zitter import checks

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
        odd = np.arange(1, int(self.order[-1]), 2)
        level = np.log10([self.at(float(n), 1.0) + 1e-300 for n in odd])
        plateau = (odd > after) & (level > level[odd > after].max() - 2)
        edge = np.median(level[plateau]) - 1
        last = int(np.nonzero(plateau & (level > edge))[0].max())
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

    `window` is any name `scipy.signal.get_window` knows, "boxcar" for none.
    """
    times = checks.array("times", times, (None,))
    signal = checks.array("signal", signal, (len(times),))
    checks.choice("form", form, _POWERS)
    steps = np.diff(times)
    # The last record may follow a shorter interval: it is left out.
    count = len(times) if np.isclose(steps[-1], steps[0], rtol=1e-6) else len(times) - 1
    if not np.allclose(steps[: count - 1], steps[0], rtol=1e-6):
        raise checks.InputError("times", "must be equally spaced, but are not")
    omega = float(checks.positive("fundamental", fundamental, "energy"))
    if np.pi / steps[0] < 2 * omega:
        raise checks.InputError(
            "times",
            f"must be closer than half a period ({np.pi / omega:.3g}), "
            f"but are {steps[0]:.3g} apart",
        )
    weighted = get_window(window, count, fftbins=False) * signal[:count]
    amplitude = np.fft.rfft(weighted, 4 * count) * steps[0]
    frequencies = 2 * np.pi * np.fft.rfftfreq(4 * count, steps[0])
    intensity = np.abs(amplitude * frequencies ** _POWERS[form]) ** 2
    return HarmonicSpectrum(frequencies, intensity, omega)


def cutoff_energy(ionization_energy: float, ponderomotive_energy: float) -> float:
    """Ip + 3.17 Up (Krause, Schafer & Kulander, Phys. Rev. Lett. 68, 3535 (1992))."""
    return ionization_energy + 3.17 * ponderomotive_energy
