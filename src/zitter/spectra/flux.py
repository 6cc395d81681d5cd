"""t-SURFF: spectra from the flux through a sphere, for boxes smaller than the electron's way.

    b(k) = i ∫dt ⟨χ_k(t)| [p²/2 + A·p, θ(r − R)] |ψ(t)⟩,    d³P/dk³ = |b(k)|²

Beyond R the electron is taken as free in the laser field: χ_k is a Volkov wave in velocity gauge,
(2π)^{−3/2} e^{ik·r − iΦ}, Φ = ∫(k²/2 + k·A)dt. What passes R may then be absorbed (Tao & Scrinzi,
New J. Phys. 14, 013021 (2012)). In partial waves, with X_lm and P_lm of `surface_terms`,

    b(k) = i√(2/π) Σ_l (−i)^l ∫dt e^{iΦ} [j_l(kR) Σ_m Y_lm(k̂)X_lm + ½kR j_l′(kR) Σ_m Y_lm(k̂)P_lm]

The Coulomb force beyond R is neglected: vary R to see what that costs. Slow electrons pass long
after the pulse: run on until they have, or let iSURF (`after_run`) count them.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
from scipy.special import spherical_jn

from zitter import checks
from zitter.bases.base import Basis
from zitter.bases.edges import ConvergenceWarning
from zitter.fields import Field
from zitter.fields.base import RESIDUAL_SHARE
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.results import Solution
from zitter.spectra.after_run import (
    check_light_is_over,
    check_range,
    checked_radius,
    outflow,
    over_at,
    plane_wave_error,
    warn_of_plane_waves,
)
from zitter.spectra.angular import AngularSpectrum, made
from zitter.spectra.directions import Directions, Plane, directions, harmonics
from zitter.spectra.quality import channels_of
from zitter.spectra.surface_terms import (
    SurfaceTerms,
    from_length_gauge,
    in_velocity_gauge,
    travelled,
)

# Of the largest amplitude: what half of the records may change. A spectrum that falls evenly is
# then off by the square of it or less.
CHANGE = 0.2


def flux_spectrum(
    solution: Solution,
    basis: Basis,
    pulse: Field,
    radius: float | str,
    energies: Any,
    angles: Any = None,
    azimuth: Any = 0.0,
    *,
    plane: Plane | None = None,
    finish: Hamiltonian | None = None,
) -> AngularSpectrum:
    """d²P/dE dΩ from a run that recorded `Surface(radius)`, in either gauge and any polarization.

    Directions as in `angular_spectrum`, by default polar angles in steps of 2°. Warns where the run
    ends too early for the slowest of `energies`; with `finish`, the Hamiltonian of the run, it may
    end with the pulse: all that passes later is then added by one solve for each l and energy
    (iSURF), for which H must absorb by `ComplexAbsorber` or `ExteriorScaling` beyond the radius.
    `wave_error` of the result says what plane waves cost where the potential has a tail.
    """
    if "surface" not in solution.observables:
        raise checks.InputError("observables", "must have held Surface(radius), but did not")
    channels = basis.channels_of()
    radius = float(checks.positive("radius", radius, "length"))
    energies = np.asarray(checks.array("energies", energies, (None,)), float)
    if not np.all(energies > 0):
        raise checks.InputError("energies", "must be positive, but are not all")
    length = _in_length_gauge(solution, radius)
    if angles is None and plane is None:
        angles = np.linspace(0, np.pi, 91)
    where = directions(angles, azimuth, plane)
    times = np.asarray(solution.times_of("surface"))
    potential, way, quiver = travelled(pulse, times)
    _check_sampling(times, energies, potential)
    if finish is None:
        _check_end(float(times[-1]), pulse, radius, float(np.min(energies)))
        _check_residual(float(times[-1]), pulse, potential)
    else:
        _check_finish(solution, finish, pulse, radius, times, potential)
    if channels.one_m and np.any(potential[:, :2]):
        raise checks.InputError("pulse", "must be along z, as the basis has one m, but is not")
    values, slopes = np.moveaxis(np.asarray(solution.observables["surface"]), -1, 0)
    if length:
        fastest = math.sqrt(2 * float(np.max(energies))) * radius
        lmax = int(fastest + 6 * np.cbrt(fastest)) + 10  # j_l(kR) < 1e-10 beyond
        terms = from_length_gauge(channels.basis, radius, values, slopes, potential, lmax)
    else:
        terms = in_velocity_gauge(channels.basis, radius, values, slopes, potential)
    # ψ_V of a run in length gauge has the phase of A²/2, which VelocityGauge leaves out on atoms.
    phase = quiver if length else 0 * quiver
    opened = finish is not None
    course = times, way, phase
    found = _amplitudes(terms, radius, energies, where, course, opened)
    half, few, apart = _half_of_the_records(terms, where, course)
    changed = np.abs(_amplitudes(half, radius, energies, few, apart, opened) - found[:, where.some])
    if finish is not None:
        turned = np.exp(1j * (energies * times[-1] + phase[-1]))
        late = turned * outflow(finish, solution.final, radius, energies, 0.0)
        found = found - 1j * _in_directions(channels, late, energies, where, way[-1])
    _check_content(times, energies, changed, found)
    density = np.sqrt(2 * energies)[:, None] * np.abs(found) ** 2
    spectrum = made(energies, where, density, channels.one_m)
    if "surface_charge" in solution.info:
        charge = float(solution.info["surface_charge"])
        warn_of_plane_waves(charge, energies, radius)
        spectrum.wave_error = plane_wave_error(charge, energies, radius)
    return spectrum


def _amplitudes(
    terms: SurfaceTerms,
    radius: float,
    energies: np.ndarray,
    where: Directions,
    course: tuple[np.ndarray, np.ndarray, np.ndarray],
    open_end: bool,
) -> np.ndarray:
    """b(k) up to the factor i, (energies, directions): m is summed before k is known. `course` has
    times, α and a phase.
    """
    times, way, phase = course
    weights = _weights(times, open_end)
    # Light in a plane leaves half of all (l, m) empty.
    alive = np.any((terms.flux != 0) | (terms.values != 0), axis=0)
    pairs = [pair for pair, here in zip(terms.pairs, alive, strict=True) if here]
    found = np.zeros((len(energies), int(np.prod(where.shape))), complex)
    if not pairs:
        return found
    X, P = terms.flux[:, alive], terms.values[:, alive]
    l = np.asarray([l for l, _ in pairs])
    orders = np.unique(l)
    rows = [np.nonzero(l == order)[0] for order in orders]
    k = np.sqrt(2 * energies)
    rho = np.outer(k, np.full(len(orders), radius))
    factors = math.sqrt(2 / math.pi) * (-1j) ** orders
    bessel = factors * spherical_jn(orders, rho)
    slope = factors * 0.5 * rho * spherical_jn(orders, rho, derivative=True)
    clock = np.exp(1j * (np.outer(energies, times) + phase)) * weights
    for which, vectors in where.parts():
        table = harmonics(pairs, vectors)
        flux, values = (
            np.stack([kind[:, here] @ table[here] for here in rows], axis=-1) for kind in (X, P)
        )  # (times, directions, l)
        for d, unit in enumerate(vectors):
            waves = clock * np.exp(1j * np.outer(k, way @ unit))
            sums = bessel * (waves @ flux[:, d]) + slope * (waves @ values[:, d])
            found[:, which.start + d] = np.sum(sums, axis=1)
    return found


def _half_of_the_records(
    terms: SurfaceTerms, where: Directions, course: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[SurfaceTerms, Directions, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Every second record up to the last, and some of the directions."""
    times, way, phase = course
    second = np.arange(len(times) - 1, -1, -2)[::-1]
    half = SurfaceTerms(terms.pairs, terms.flux[second], terms.values[second])
    few = dataclasses.replace(where, vectors=where.vectors.reshape(-1, 3)[where.some])
    return half, few, (times[second], way[second], phase[second])


def _in_directions(
    channels: Any, late: np.ndarray, energies: np.ndarray, where: Directions, way: np.ndarray
) -> np.ndarray:
    """k^{−1/2} e^{ik·α} Σ_lm (−i)^l Y_lm(k̂) b_lm(E)."""
    k = np.sqrt(2 * energies)[:, None]
    waves = ((-1j) ** channels.l[:, None] * late).T / np.sqrt(k)
    found = np.empty((len(energies), int(np.prod(where.shape))), complex)
    for which, vectors in where.parts():
        turn = np.exp(1j * k * (vectors @ way))
        found[:, which] = turn * (waves @ harmonics(channels.pairs, vectors))
    return found


def _weights(times: np.ndarray, open_end: bool) -> np.ndarray:
    """Trapezoids; where the integrand does not end with the run, with Gregory's correction of order
    6 for the last of the equal steps, and a cubic through the last points for a shorter one.
    """
    steps = np.diff(times)
    weights = np.concatenate([[0.0], steps]) / 2 + np.concatenate([steps, [0.0]]) / 2
    if not open_end or len(times) < 8:
        return weights
    last = len(times) - 1
    if not np.isclose(steps[-1], steps[-2], rtol=1e-6):
        weights[-2:] -= steps[-1] / 2
        x = (times[-4:] - times[-1]) / steps[-1]
        powers = np.arange(4)
        moments = (-1.0) ** powers / (powers + 1)  # ∫_{−1}^0 xⁿ dx
        weights[-4:] += steps[-1] * np.linalg.solve(x ** powers[:, None], moments)
        last -= 1
    ends = np.array([95 / 288, 317 / 240, 23 / 30, 793 / 720, 157 / 160])
    weights[last - 4 : last + 1] += steps[0] * (ends[::-1] - [1, 1, 1, 1, 0.5])
    return weights


def _in_length_gauge(solution: Solution, radius: float) -> bool:
    """The gauge of the run's light; refuses what the Volkov waves do not belong to, as far as the
    run has kept it.
    """
    recorded = solution.info.get("surface_radius", radius)
    if not math.isclose(recorded, radius):
        raise checks.InputError(
            "radius", f"must be that of the Surface, {recorded:g}, but is {radius:g}"
        )
    if "surface_charge" in solution.info:
        here, charge = (float(solution.info[f"surface_{x}"]) for x in ("charge_inside", "charge"))
        check_range(radius, here, charge)
    gauges = set(solution.info.get("surface_gauges", ()))
    if len(gauges) > 1:
        raise checks.InputError(
            "solution", "must be a run with light in one gauge, but has it in both"
        )
    return "length" in gauges


def _check_end(end: float, pulse: Field, radius: float, slowest: float) -> None:
    # The last electrons start with the end of the pulse. The wave packet is spread: after twice
    # the way's time R/k the spectrum is right to about 2 %.
    needed = float(pulse.duration) + 2 * radius / math.sqrt(2 * slowest)
    if end < needed < math.inf:
        warnings.warn(
            f"the run ends at t = {end:.4g}, before electrons of {slowest:.3g} hartree have passed "
            f"{radius:g} bohr: run on to t = {needed:.4g}, or take higher energies",
            ConvergenceWarning,
            stacklevel=caller(),
        )


def _check_residual(end: float, pulse: Field, A: np.ndarray) -> None:
    """Warn of an A that stays: an electron of the Volkov wave k then moves with k + A."""
    if end < float(pulse.duration) < math.inf or not _left_behind(A):
        return  # what a run leaves out that ends before the pulse was said
    vector = ", ".join(f"{component + 0.0:.3g}" for component in A[-1])
    warnings.warn(
        f"the pulse leaves A = ({vector}) behind: energies and directions are those of the "
        "canonical momentum k, and a detector sees k + A; take a pulse with ∫E dt = 0",
        ConvergenceWarning,
        stacklevel=caller(),
    )


def _left_behind(A: np.ndarray) -> bool:
    sizes = np.linalg.norm(A, axis=1)
    return bool(sizes[-1] > RESIDUAL_SHARE * np.max(sizes))


def _check_finish(
    solution: Solution,
    H: Hamiltonian,
    pulse: Field,
    radius: float,
    times: np.ndarray,
    A: np.ndarray,
) -> None:
    """That what follows the run is a constant H, and that the run has kept where it begins."""
    checked_radius(checks.instance("finish", H, Hamiltonian), channels_of(H), radius)
    check_light_is_over(H, float(times[-1]))
    if not over_at(pulse, float(times[-1])):
        raise checks.InputError(
            "pulse", f"must be over at the end of the run, t = {times[-1]:.4g}, for a finish, but "
            f"lasts until t = {float(pulse.duration):.4g}"
        )  # fmt: skip
    if _left_behind(A):
        raise checks.InputError(
            "pulse", f"must be over and leave A = 0 behind for a finish, but A at the end of the "
            f"run is {np.linalg.norm(A[-1]):.2g}"
        )  # fmt: skip
    if not np.isclose(times[-1], solution.times[-1]):
        raise checks.InputError(
            "observables",
            "must hold a Surface recorded at the end of the run for a finish, but its last record "
            f"is at t = {times[-1]:.4g}: every = 1 would do",
        )


def _check_sampling(times: np.ndarray, energies: np.ndarray, potential: np.ndarray) -> None:
    """Six records for a turn of the fastest waves asked for, dΦ/dt ≤ (k + |A|)²/2."""
    longest = float(np.max(np.diff(times)))
    strongest = float(np.max(np.linalg.norm(potential, axis=1)))
    fastest = 0.5 * (math.sqrt(2 * float(np.max(energies))) + strongest) ** 2
    needed = 2 * np.pi / fastest / 6
    if longest > needed:
        raise checks.InputError(
            "save_every",
            f"must record the surface at least every {needed:.3g} a.u. for these energies, "
            f"but it was every {longest:.3g}",
        )


def _check_content(
    times: np.ndarray, energies: np.ndarray, changed: np.ndarray, found: np.ndarray
) -> None:
    """Records a time Δt apart count electrons of E + 2π/Δt as those of E. Every second record does
    so with E + π/Δt, where a spectrum that falls has more: while that changes little, all is well.
    """
    weights = (2 * energies)[:, None] ** 0.25
    largest = float(np.max(weights * np.abs(found), initial=0.0))
    share = float(np.max(weights * changed, initial=0.0)) / largest if largest > 0 else 0.0
    if share > CHANGE:
        longest = float(np.max(np.diff(times)))
        warnings.warn(
            f"the surface was recorded every {longest:.3g} a.u., too rarely for the fastest "
            f"electrons that pass it: with every second record amplitudes change by {share:.0%} "
            "of the largest; take a smaller save_every (or `every` of the Surface)",
            ConvergenceWarning,
            stacklevel=caller(),
        )
