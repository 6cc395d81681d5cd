"""t-SURFF: spectra from the flux through a sphere, for boxes smaller than the electron's way.

    b(k) = i ∫dt ⟨χ_k(t)| [p²/2 + A·p, θ(r − R)] |ψ(t)⟩,    d³P/dk³ = |b(k)|²

Beyond R the electron is taken as free in the laser field: χ_k is a Volkov wave in velocity gauge,
(2π)^{−3/2} e^{ik·r − iΦ}, Φ = ∫(k²/2 + k·A)dt. What passes R may then be absorbed (Tao & Scrinzi,
New J. Phys. 14, 013021 (2012)). The Coulomb force beyond R is neglected: vary R to see what that
costs, and run on after the pulse until slow electrons have passed.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy.special import spherical_jn

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning
from zitter.fields import Field
from zitter.results import Solution
from zitter.spectra.angular import AngularSpectrum, spherical_harmonic


def flux_spectrum(
    solution: Solution,
    basis: Basis,
    pulse: Field,
    radius: float | str,
    energies: Any,
    angles: Any = None,
) -> AngularSpectrum:
    """d²P/dE dΩ from a run in velocity gauge that recorded `Surface(radius)`, light along z.

    Warns where the run ends too early for the slowest of `energies`.
    """
    if "surface" not in solution.observables:
        raise checks.InputError("observables", "must have held Surface(radius), but did not")
    channels = basis.channels_of()
    if not channels.one_m or not pulse.is_linear:
        raise checks.InputError("basis", "must have one m, for light along z")
    radius = float(checks.positive("radius", radius, "length"))
    energies = checks.array("energies", energies, (None,))
    if not np.all(energies > 0):
        raise checks.InputError("energies", "must be positive, but are not all")
    _check_run(solution, radius)
    angles = (
        np.linspace(0, np.pi, 91) if angles is None else checks.array("angles", angles, (None,))
    )
    times = np.asarray(solution.times_of("surface"))
    _check_sampling(times, energies)
    _check_end(float(times[-1]), pulse, radius, float(np.min(energies)))
    values, slopes = np.moveaxis(np.asarray(solution.observables["surface"]), -1, 0)
    potential = np.asarray(pulse.vector_potential(times))
    steps = np.diff(times)
    travelled = np.concatenate([[0.0], np.cumsum(0.5 * steps * (potential[1:] + potential[:-1]))])
    weights = np.concatenate([[0.0], steps]) / 2 + np.concatenate([steps, [0.0]]) / 2
    mixed = values @ channels.cosine.T  # ⟨l|cos θ|l′⟩ P_l′
    harmonics = np.stack([spherical_harmonic(l, m, angles) for l, m in channels.pairs])
    l = channels.l
    density = np.zeros((len(energies), len(angles)))
    for e, energy in enumerate(energies):
        k = np.sqrt(2 * energy)
        bessel, bessel_slope = (spherical_jn(l, k * radius, derivative=d) for d in (False, True))
        flux = -0.5 * (bessel * (radius * slopes - values) - k * radius * bessel_slope * values)
        flux = flux - 1j * radius * bessel * potential[:, None] * mixed
        flux = flux * (np.exp(0.5j * k * k * times) * weights)[:, None]
        volkov = np.exp(1j * k * np.outer(np.cos(angles), travelled))
        terms = volkov @ (flux * (-1j) ** l)  # (angles, channels)
        amplitude = 1j * 4 * np.pi * (2 * np.pi) ** -1.5 * np.sum(terms * harmonics.T, axis=1)
        density[e] = k * np.abs(amplitude) ** 2
    return AngularSpectrum(energies, angles, density)


def _check_run(solution: Solution, radius: float) -> None:
    """Refuse what the Volkov waves do not belong to, as far as the run has kept it."""
    recorded = solution.info.get("surface_radius", radius)
    if not math.isclose(recorded, radius):
        raise checks.InputError(
            "radius", f"must be that of the Surface, {recorded:g}, but is {radius:g}"
        )
    if "length" in solution.info.get("surface_gauges", ()):
        raise checks.InputError(
            "solution", "must be a run with VelocityGauge, but its light is in length gauge"
        )


def _check_end(end: float, pulse: Field, radius: float, slowest: float) -> None:
    # The last electrons start with the end of the pulse. The wave packet is spread: after twice
    # the way's time R/k the spectrum is right to about 2 %.
    needed = float(pulse.duration) + 2 * radius / math.sqrt(2 * slowest)
    if end < needed < math.inf:
        warnings.warn(
            f"the run ends at t = {end:.4g}, before electrons of {slowest:.3g} hartree have passed "
            f"{radius:g} bohr: run on to t = {needed:.4g}, or take higher energies",
            ConvergenceWarning,
            stacklevel=3,
        )


def _check_sampling(times: np.ndarray, energies: np.ndarray) -> None:
    longest = float(np.max(np.diff(times)))
    needed = 2 * np.pi / float(np.max(energies)) / 6
    if longest > needed:
        raise checks.InputError(
            "save_every",
            f"must record the surface at least every {needed:.3g} a.u. for these energies, "
            f"but it was every {longest:.3g}",
        )
