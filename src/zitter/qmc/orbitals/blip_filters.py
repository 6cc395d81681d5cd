"""From plane waves to blips: C_j = Σ_G c_G Γ(G) e^{iG·r_j}, Γ = Π_i γ(t_i), t_i = 2πm_i/n_i.

A plane wave e^{itx} becomes the spline γ(t) Σ_j e^{itj} b(x − j), which is e^{itx} sinc⁴(t/2)γ(t)
and aliases e^{i(t+2πp)x}; b has the Fourier transform sinc⁴(t/2). The three choices of γ differ in
what is done about the aliases.
"""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import numpy as np


class BlipFilter(eqx.Module):
    """γ(t): by what a plane wave's amplitude is multiplied to make spline coefficients."""

    @abc.abstractmethod
    def gamma(self, t: Any) -> np.ndarray:
        """γ at phases t per grid spacing, |t| ≤ π."""


class InterpolatingFilter(BlipFilter):
    """γ = 3/(2 + cos t): the spline equals the orbital on all grid points."""

    def gamma(self, t):
        return 3 / (2 + np.cos(t))


class LeastSquaresFilter(BlipFilter):
    """γ = sinc⁴(t/2)/Σ_p sinc⁸(t/2 + πp): the spline with the least error in the mean square."""

    def gamma(self, t):
        overlap = (2416 + 2382 * np.cos(t) + 240 * np.cos(2 * t) + 2 * np.cos(3 * t)) / 5040
        return _spline_transform(t) / overlap


class MatchedFilter(BlipFilter):
    """γ = 1/sinc⁴(t/2): each plane wave keeps its own amplitude, and aliases come on top."""

    def gamma(self, t):
        return 1 / _spline_transform(t)


def _spline_transform(t: Any) -> np.ndarray:
    return np.sinc(np.asarray(t) / (2 * np.pi)) ** 4


def filtered(spectrum: np.ndarray, kind: BlipFilter) -> np.ndarray:
    """Spline coefficients (n₁, n₂, n₃) of the function Σ_m c_m e^{2πi m·s}, c in FFT order."""
    for axis, n in enumerate(spectrum.shape):
        shape = [1, 1, 1]
        shape[axis] = n
        spectrum = spectrum * kind.gamma(2 * np.pi * np.fft.fftfreq(n)).reshape(shape)
    return np.fft.ifftn(spectrum, norm="forward")
