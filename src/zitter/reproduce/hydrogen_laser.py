"""Ó Broin & Nikolopoulos: hydrogen in a 20 eV pulse, in a basis of eigenstates, three propagators.

E(t) = E₀ sin²(ωt/2n) sin ωt, 1e14 W/cm², velocity gauge; Taylor of order 10 (Δt = 6.25e-3), RK4
(2.5e-3) and RKF45 (3.75e-3), which need the same number of products Hψ. The paper gives neither the
box nor n: here n = 10 cycles and 350 bohr for its 640 states per l, l = 0 … 20 (`--full`, for a
GPU). The default run keeps the steps and takes 4 cycles, 100 bohr, 172 states per l, l = 0 … 5.
"""

from __future__ import annotations

import dataclasses
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import find_peaks

from zitter import runtime, units
from zitter.bases import EigenBasis, RadialBSplines, SphericalBasis
from zitter.eigensolvers import eigenbasis
from zitter.fields import SineSquaredField
from zitter.propagators import CommutatorFree4, RungeKutta4, RungeKuttaFehlberg45, Taylor
from zitter.reproduce import propagator_costs
from zitter.reproduce.report import Report, Row
from zitter.solve import evolve
from zitter.spectra import PhotoelectronSpectrum, ionization_yield, photoelectron_spectrum
from zitter.spectra.quality import check_lmax
from zitter.terms import Coulomb, FieldFree, Kinetic, LengthGauge, Model, VelocityGauge, discretize

PHOTON, INTENSITY, IONIZATION = "20 eV", "1e14 W/cm^2", 0.5
# propagator, step, norm loss in the paper
METHODS = {
    "Taylor 10": (Taylor(10), 6.25e-3, 1.9e-14),
    "RK4": (RungeKutta4(), 2.5e-3, 2.3e-11),
    "RKF45": (RungeKuttaFehlberg45(), 3.75e-3, 2.5e-11),
}
# Asked of this package (length = velocity to 1e-6), not a number of the paper. In a complete basis
# the gauges agree exactly; what is left shows how far this one is from complete.
GAUGE_BOUND = 1e-6


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a run is."""

    cycles: int
    rmax: float
    splines: int
    states: int
    lmax: int


# The few splines more than states leave out what lives in the first interval: for high l the
# centrifugal term there reaches 1e5 hartree, which no explicit step could follow.
SMALL, PAPER = Size(4, 100.0, 178, 172, 5), Size(10, 350.0, 646, 640, 20)
# Where one method is looked at alone, a small box will do.
TINY = Size(4, 40.0, 66, 60, 3)


def run(full: bool = False, out: Path | None = None, progress: bool = False) -> Report:
    return reproduce(PAPER if full else SMALL, out, progress)


def reproduce(size: Size, out: Path | None = None, progress: bool = False) -> Report:
    """The whole report for a run of that size."""
    started = time.perf_counter()
    basis, pulse = hydrogen(size), paper_pulse(size)
    rows = _atom(basis)
    spectra, finals = {}, {}
    for name, (method, dt, loss) in METHODS.items():
        H = discretize(Model([FieldFree(), VelocityGauge(pulse)]), basis)
        span = (0.0, float(pulse.duration))
        solution = evolve(H, basis.state(0), span, dt, method, save_every=10**9, progress=progress)
        finals[name] = np.asarray(solution.final)
        spectra[name] = photoelectron_spectrum(basis, solution.final)
        # Rounding of 1e4 to 1e5 products adds to the method's own loss.
        rounding = 1e-17 * solution.info["steps"] * 10
        value = abs(float(solution.info["norm_loss"]))
        rows.append(
            Row(f"norm loss, {name}", value, rounding, loss, "paper", loss + rounding,
                bool(value <= loss + rounding), "choice")
        )  # fmt: skip
        took = f"whole run with {name}, {basis.shape[0]} values of l, with compilation (s)"
        rows.append(Row(took, solution.info["seconds"], source="zitter, here"))
    rows += _agreement(spectra) + _peaks(spectra["Taylor 10"], pulse, size)
    rows += _gauges(basis, pulse, finals["RK4"]) + _fehlberg()
    rows.append(Row.bounded("population of the last l", check_lmax(basis, finals["RK4"]), 1e-8))
    # With the paper's size the runs above are the measurement.
    costs = {} if size == PAPER else propagator_costs.projected(basis, pulse, METHODS)
    rows += propagator_costs.rows(costs)
    figures = [] if out is None else _figures(out, spectra, pulse, costs, size)
    told, notes = runtime.describe(), _notes(size)
    seconds = time.perf_counter() - started
    return Report(
        "hydrogen-laser", rows, seconds, told["device"], told["precision"], notes, figures
    )


def paper_pulse(size: Size, amplitude: float = 1.0) -> SineSquaredField:
    """The paper's pulse, with this part of its amplitude."""
    intensity = amplitude**2 * units.parse(INTENSITY, "intensity")
    return SineSquaredField(
        cycles=size.cycles, cep="-90 deg", frequency=PHOTON, intensity=intensity
    )


def hydrogen(size: Size) -> EigenBasis:
    """The lowest states of each l in a box of equally spaced splines."""
    radial = RadialBSplines(size.splines, 8, size.rmax)
    atom = discretize(Model([Kinetic(), Coulomb(Z=1)]), SphericalBasis(radial, size.lmax))
    return eigenbasis(atom, states=size.states)


def _atom(basis: EigenBasis) -> list[Row]:
    """What enters the paper's method, against exact numbers."""
    energies = np.asarray(basis.energies)
    rows = [
        Row.compared(f"E({n}{'sp'[l]}) (hartree)", energies[l, n - l - 1], -0.5 / n**2, 1e-11,
                     "exact")
        for n, l in ((1, 0), (2, 0), (2, 1))
    ]  # fmt: skip
    # A sum over all states, for which the basis must not be cut.
    radial = RadialBSplines(90, 9, 60.0, "graded", first=0.3)
    whole = eigenbasis(discretize(Model([Kinetic(), Coulomb(Z=1)]), SphericalBasis(radial, 1)))
    assert whole.length is not None
    dipoles = np.asarray(whole.length[0, 0])
    gaps = np.asarray(whole.energies[1] - whole.energies[0, 0])
    exact = 128 * math.sqrt(2) / 243  # ⟨1s|z|2p⟩
    rows.append(Row.compared("⟨1s|z|2p⟩ (bohr)", abs(dipoles[0]), exact, 1e-9, "exact"))
    for omega, alpha in ((0.0, 4.5), (0.05695, 4.588069593), (0.1, 4.784300343)):
        value = float(np.sum(2 * gaps * dipoles**2 / (gaps**2 - omega**2)))
        rows.append(Row.compared(f"α({omega:g}) (a.u.)", value, alpha, 1e-6, "exact"))
    return rows


def _agreement(spectra: dict[str, PhotoelectronSpectrum]) -> list[Row]:
    """Figure 3: the paper's RKF45 curve is off by eye; a correct one cannot be."""
    reference = spectra["RK4"].total
    rows = []
    for name in ("Taylor 10", "RKF45"):
        gap = np.max(np.abs(spectra[name].total - reference)) / reference.max()
        # Taylor freezes H at the middle of its step: an error of order (ωΔt)²/24 = 9e-7.
        rows.append(Row.bounded(f"PES of {name} against RK4 (of maximum)", float(gap), 1e-5))
    return rows


def _peaks(pes: PhotoelectronSpectrum, pulse: SineSquaredField, size: Size) -> list[Row]:
    """ATI peaks at nω − Ip − Up, blurred and pulled down by the width of a short pulse.

    The peak of n photons is the strongest maximum within ω/2 of there, and may lie half of that
    width away, which is a choice.
    """
    photon = float(pulse.frequency)
    half_width = 0.72 * photon / size.cycles  # of the pulse's spectrum
    places = find_peaks(pes.total)[0]
    peaks, heights = pes.energies[places], pes.total[places]
    rows = []
    for n in (1, 2, 3):
        expected = n * photon - IONIZATION - float(pulse.ponderomotive_energy)
        near = np.abs(peaks - expected) < photon / 2
        found = float(peaks[np.argmax(np.where(near, heights, -1.0))]) if any(near) else math.nan
        name = f"ATI peak of {n} photon{'s' * (n > 1)} (eV)"
        found, expected = units.to_ev(found), units.to_ev(expected)
        source = "n·20 eV − Ip − Up"
        rows.append(Row.compared(name, found, expected, units.to_ev(half_width), source))
    return rows


def _gauges(basis: EigenBasis, pulse: SineSquaredField, velocity: np.ndarray) -> list[Row]:
    H = discretize(Model([FieldFree(), LengthGauge(pulse)]), basis)
    span = (0.0, float(pulse.duration))
    method = Taylor(tol=1e-12, scheme=CommutatorFree4())
    length = evolve(H, basis.state(0), span, 0.02, method, save_every=10**9)
    yields = [ionization_yield(basis, psi) for psi in (length.final, velocity)]
    gap = yields[0] / yields[1] - 1
    return [
        Row("ionization, velocity gauge", yields[1], abs(yields[0] - yields[1]), source="zitter"),
        Row.bounded("ionization, length against velocity gauge (relative)", gap, GAUGE_BOUND),
    ]


def _fehlberg() -> list[Row]:
    """Why the paper's RKF45 curve deviates: not by the method, whose error is measured here, and
    not visibly to its check of the norm, which half of A(t) passes as well.
    """
    basis, pulse, weak = hydrogen(TINY), paper_pulse(TINY), paper_pulse(TINY, amplitude=0.5)
    end = float(pulse.duration)
    # Whole multiples of the coarsest run's steps, so that one compiled program serves all.
    coarsest = math.ceil(end / (8 * METHODS["RKF45"][1]))

    def final(light: SineSquaredField, method: Any, steps: int) -> Any:
        H = discretize(Model([FieldFree(), VelocityGauge(light)]), basis)
        return evolve(H, basis.state(0), (0.0, end), end / steps, method, save_every=coarsest)

    exact = final(pulse, Taylor(tol=1e-14, scheme=CommutatorFree4()), 4 * coarsest).final
    method = RungeKuttaFehlberg45()
    errors = {
        n: float(np.linalg.norm(final(pulse, method, 8 * coarsest // n).final - exact))
        for n in (1, 4, 8)
    }
    half = final(weak, method, 8 * coarsest)
    weaker = ionization_yield(basis, half.final) / ionization_yield(basis, exact)
    loss = abs(float(half.info["norm_loss"]))
    order = math.log2(errors[8] / errors[4])
    return [
        Row.bounded("RKF45: error of the state at the paper's step", errors[1], 1e-9),
        Row.compared("RKF45: order of convergence, Δt = 0.03 → 0.015", order, 5.0, 0.3, "theory"),
        Row("RKF45 with half of A(t): norm loss", loss, None, 2.5e-11, "paper"),
        Row.compared("RKF45 with half of A(t): yield, of the right one", weaker, 0.25, 0.05,
                     "one photon: (1/2)²"),
    ]  # fmt: skip


def _notes(size: Size) -> list[str]:
    notes = [
        "Why the paper's RKF45 spectrum deviates: the method does not do that. With Fehlberg's "
        "coefficients and A(t) at the stages t + (0, 1/4, 3/8, 12/13, 1, 1/2)Δt its error falls "
        "with the fifth power of the step and is far below anything visible at the paper's. The "
        "norm cannot tell, since any Hermitian H(t) keeps it. The paper integrates E(t) to A(t) "
        "along the steps. The last stage of this method goes back to the middle of the step; a sum "
        "carried on from there advances A by half a step at each step and ends with half of it. "
        "That leaves the peaks where they are and changes their heights, as the paper describes, "
        "and keeps the norm (rows above). The cause is inferred, the paper's program is not at "
        "hand.",
    ]
    if size != PAPER:
        notes.insert(
            0,
            f"Scaled down: {size.cycles} cycles, {size.rmax:g} bohr, {size.states} states per "
            f"l, l ≤ {size.lmax} instead of {PAPER.cycles}, {PAPER.rmax:g}, {PAPER.states}, "
            f"{PAPER.lmax}; the time steps are the paper's.",
        )
    return notes


def _figures(
    out: Path,
    spectra: dict[str, PhotoelectronSpectrum],
    pulse: SineSquaredField,
    costs: propagator_costs.Curves,
    size: Size,
) -> list[str]:
    from zitter import plot

    pes = plot.photoelectrons(spectra, photon=float(pulse.frequency), ionization=IONIZATION)
    curves = propagator_costs.figure(costs, size.states)
    return [
        str(plot.save(pes, out / "hydrogen-laser.png")),
        str(plot.save(curves, out / "hydrogen-laser-cost.png")),
    ]
