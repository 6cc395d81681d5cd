"""High-harmonic spectra from the dipole, its velocity or its acceleration.

    S(ω) = |∫ w(t) d̈(t) e^{iωt} dt|²,    d̈ → −iω ḋ → −ω² d

All three forms agree where the signal has ended at both ends; the acceleration needs the least of
the window w. Of a vector that turns in a plane, with amplitudes a₁ and a₂ of e^{+iωt} along its
axes, a± = (a₁ ± i a₂)/√2 turn from the first axis towards the second (+), and the other way (−):

    helicity h = (|a₊|² − |a₋|²)/(|a₊|² + |a₋|²),    ellipticity ε = (|a₊| − |a₋|)/(|a₊| + |a₋|)
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from scipy.signal import get_window

from zitter import checks, units
from zitter.spectra.directions import Plane, plane_axes

FALL = 4.0  # decades below the plateau within which the fall is fitted

_POWERS = {"dipole": 2, "velocity": 1, "acceleration": 0}


@dataclasses.dataclass
class HarmonicSpectrum:
    """S at angular `frequencies` ω; `order` counts them in units of the laser's frequency.

    Of a vector `amplitudes` (frequencies, 2 or 3) are those of its components, and `part` gives the
    spectrum of one of them, or of what turns one way.
    """

    frequencies: np.ndarray
    intensity: np.ndarray
    fundamental: float
    amplitudes: np.ndarray | None = None

    @property
    def order(self) -> np.ndarray:
        return self.frequencies / self.fundamental

    def at(self, order: float, width: float = 0.5) -> float:
        """∫ S dω within ± width/2 orders of a harmonic."""
        near = np.abs(self.order - order) <= width / 2
        return float(np.trapezoid(self.intensity[near], self.frequencies[near]))

    def part(self, name: str, plane: Plane = "xy") -> HarmonicSpectrum:
        """The spectrum of a component, "x", "y" or "z", or of what turns in `plane`, given by two
        letters or two vectors, from its first axis towards its second, "+", or back, "-".
        """
        known = "xyz"[: self._vector.shape[1]]
        checks.choice("name", name, (*known, "+", "-"))
        if name in known:
            amplitude = self._vector[:, known.index(name)]
        else:
            first, second = (self._vector @ self._axes(plane).T).T
            amplitude = (first + (1j if name == "+" else -1j) * second) / np.sqrt(2)
        return HarmonicSpectrum(self.frequencies, np.abs(amplitude) ** 2, self.fundamental)

    def helicity(self, order: float, width: float = 0.5, plane: Plane = "xy") -> float:
        """From +1, a harmonic that turns from x towards y, to −1, one that turns back."""
        plus, minus = self._turning(order, width, plane)
        return (plus - minus) / (plus + minus)

    def ellipticity(self, order: float, width: float = 0.5, plane: Plane = "xy") -> float:
        """The ratio of the axes of a harmonic's ellipse, with the sign of its helicity."""
        plus, minus = np.sqrt(self._turning(order, width, plane))
        return float((plus - minus) / (plus + minus))

    def _turning(self, order: float, width: float, plane: Plane) -> tuple[float, float]:
        """∫ S dω of what turns one way and the other within a harmonic."""
        plus, minus = (self.part(sign, plane).at(order, width) for sign in "+-")
        if not plus + minus > 0:
            raise checks.InputError(
                "order", "must be that of a harmonic with a signal, but there is none within "
                f"{width:g} about order {order:g}"
            )  # fmt: skip
        return plus, minus

    @property
    def _vector(self) -> np.ndarray:
        if self.amplitudes is None:
            raise checks.InputError(
                "signal", "must be a vector, as Acceleration records it, for its parts, but is not"
            )
        return self.amplitudes

    def _axes(self, plane: Plane) -> np.ndarray:
        """Two unit vectors, as rows."""
        known = "xyz"[: self._vector.shape[1]]
        if not isinstance(plane, str) and len(known) == 3:
            return np.stack(plane_axes(plane))
        letters: str = checks.choice(
            "plane", plane, [a + b for a in known for b in known if a != b]
        )
        return np.eye(len(known))[[known.index(axis) for axis in letters]]

    def cutoff(self, after: float = 3.0) -> float:
        """The order where the plateau ends: n₀ of the best fit to the odd harmonics above `after`,

            log₁₀ S = a + b n − c (n − n₀)₊^{3/2}

        A straight plateau and beyond it the fall of an Airy function, |Ai(x)|² ~ e^{−4/3 x^{3/2}}:
        at the cutoff two classical orbits become one. The fit ends four decades below the plateau,
        or where the fall ends in a floor. Of hydrogen in a pulse of 800 nm n₀ is that of
        Ip + 3.17 Up to 0.7 orders (tests/spectra/test_harmonics_and_focus.py); harmonics of some
        more orders are not much weaker.
        """
        if not np.any(self.intensity):
            raise checks.InputError("signal", "must not be zero to have a cutoff, but is")
        odd = np.arange(1, int(self.order[-1]), 2)
        odd = odd[odd > after]
        if len(odd) == 0:
            raise checks.InputError(
                "after", f"must be below the last odd harmonic of the spectrum, but is {after:g}"
            )
        level = np.log10([self.at(float(n), 1.0) + 1e-300 for n in odd])
        end = _end_of_fall(level)
        if end is None:
            raise checks.InputError(
                "times", "must be close enough to see the cutoff, but the plateau goes on to the "
                f"last odd harmonic, {odd[-1]}"
            )  # fmt: skip
        return _knee(odd[: end + 1].astype(float), level[: end + 1])


def _end_of_fall(level: np.ndarray) -> int | None:
    """The last harmonic that the fall reaches within `FALL` decades, None where there is no fall.

    It begins a decade below the median of the plateau (all within two decades of the strongest).
    """
    plateau = level > level.max() - 2
    edge = np.median(level[plateau]) - 1
    end = int(np.nonzero(plateau & (level > edge))[0].max()) + 1
    if end == len(level):
        return None
    steepest = level[end - 1] - level[end]
    while end + 1 < len(level) and level[end + 1] > level.max() - FALL:
        step = level[end] - level[end + 1]
        if step < 0.5 * steepest:
            break
        end, steepest = end + 1, max(steepest, step)
    return end


def _knee(n: np.ndarray, level: np.ndarray) -> float:
    """n₀ of a + bn − c(n − n₀)₊^{3/2} by least squares; the first of equally good ones."""

    def misfit(knee: float) -> float:
        columns = np.stack([np.ones_like(n), n, np.maximum(n - knee, 0) ** 1.5], axis=1)
        found = np.linalg.lstsq(columns, level)[0]
        return float(np.sum((columns @ found - level) ** 2))

    low, high = n[0], n[-1]
    for step in (0.1, 0.01):
        tried = np.arange(low, high, step)
        misfits = np.asarray([misfit(knee) for knee in tried])
        best = float(tried[np.argmax(misfits <= misfits.min() + 1e-6)])
        low, high = max(best - step, n[0]), min(best + step, n[-1])
    return best


def harmonic_spectrum(
    times: Any,
    signal: Any,
    fundamental: float | str,
    form: Literal["dipole", "velocity", "acceleration"] = "acceleration",
    window: str | tuple[Any, ...] = "hann",
    component: Literal["x", "y", "z"] | None = None,
) -> HarmonicSpectrum:
    """S(ω) of an observable recorded at equal time steps.

    `signal` is one number at each time, or a vector (times, 2 or 3) as `Acceleration` records it:
    then the intensities of its components are summed, or `component` is taken alone, and the result
    knows parts, ellipticity and helicity.
    `fundamental` is the laser's frequency, or a string such as "1.55 eV" or "800 nm"; `window` is
    any name `scipy.signal.get_window` knows, "boxcar" for none.
    """
    times = checks.array("times", times, (None,))
    signal = _components(checks.array("signal", signal), len(times), component)
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
    weighted = _window(window, count)[:, None] * signal[:count]
    amplitude = np.fft.rfft(weighted, 4 * count, axis=0) * steps[0]
    frequencies = 2 * np.pi * np.fft.rfftfreq(4 * count, steps[0])
    # rfft has e^{−iωt}: what it gives are amplitudes of e^{+iωt}. d̈ = iω ḋ = −ω² d
    amplitude = amplitude * (1j * frequencies[:, None]) ** _POWERS[form]
    intensity = np.sum(np.abs(amplitude) ** 2, axis=1)
    vector = amplitude if amplitude.shape[1] > 1 else None
    return HarmonicSpectrum(frequencies, intensity, omega, vector)


def _components(signal: np.ndarray, count: int, component: str | None) -> np.ndarray:
    """(times, components) of a record, or of the one component asked for."""
    if signal.ndim not in (1, 2) or len(signal) != count or signal.shape[1:] > (3,):
        raise checks.InputError(
            "signal",
            f"must have the shape ({count},), or ({count}, 2) or ({count}, 3) for a vector, "
            f"but has {signal.shape}",
        )
    if component is None:
        return signal.reshape(count, -1)
    if signal.ndim == 1:
        raise checks.InputError("component", "must not be given where the signal has only one")
    axes = "xyz"[: signal.shape[1]]
    return signal[:, [axes.index(checks.choice("component", component, tuple(axes)))]]


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
    bound = checks.non_negative("ionization_energy", ionization_energy, "energy")
    return bound + 3.17 * checks.non_negative(
        "ponderomotive_energy", ponderomotive_energy, "energy"
    )
