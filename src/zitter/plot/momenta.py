"""The momentum distribution that a result holds, in the plane of its light.

It is that of the final state where all of it is still there, and of the flux through a sphere where
that was recorded and something absorbs.
"""

from __future__ import annotations

import math

import numpy as np

from zitter import checks
from zitter.fields import Field, FieldSum
from zitter.fields.polarization import major_axis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.plot.energies import hamiltonian
from zitter.plot.photoelectrons import MAP_DECADES
from zitter.plot.pulses import finite_end, turning_plane
from zitter.results import Solution
from zitter.spectra import AngularSpectrum, angular_spectrum, flux_spectrum
from zitter.spectra.directions import Plane

FEW, MANY = 48, 144  # momenta: to see how far the distribution reaches, and to draw it
POLAR, AROUND = 91, 181  # directions
LEAST = 1e-10  # probability that is worth a picture


def momenta(result: Solution, field: Field, H: Hamiltonian | None) -> AngularSpectrum | None:
    """d³P/dk³ in the plane of the light; None where the result does not hold it."""
    if result.basis is None or not _over(field, float(result.times[-1])):
        return None
    most = _fastest(field, -float(result.info.get("initial_energy", -0.5)))
    try:
        result.basis.channels_of()  # H of many another basis takes long to make
        H = hamiltonian(result) if H is None else H
        if H is None:
            return None
        radial = H.basis.channels_of(H.static.fixed).radial
        # Splines follow waves of a few knots in length, and a box holds half a wave at least.
        most = min(most, math.pi / (2 * float(np.diff(radial.knots).max())))
        least = min(math.pi / radial.rmax, 0.1 * most)
        coarse = _spectrum(result, field, H, np.linspace(least, most, FEW))
        reach = _reach(coarse)
        if reach is None:
            return None
        return _spectrum(result, field, H, np.linspace(least, reach, MANY))
    except (checks.InputError, Unsupported):  # no atom, or a state that has left its box
        return None


def _spectrum(result: Solution, field: Field, H: Hamiltonian, k: np.ndarray) -> AngularSpectrum:
    plane, energies = plane_of(field), 0.5 * k**2
    angles = np.linspace(0.0, math.pi, POLAR)
    if plane is not None:
        angles = np.linspace(0.0, 2 * math.pi, AROUND)[:-1]
    absorbs = H.absorber is not None or H.mask is not None or H.basis.complex_scaled
    if not absorbs or "surface" not in result.observables:
        return angular_spectrum(H, result.final, energies, angles, plane=plane)
    radius = float(result.info["surface_radius"])
    finish = H if H.mask is None else None
    return flux_spectrum(
        result, result.basis, field, radius, energies, angles, plane=plane, finish=finish
    )


def plane_of(field: Field) -> Plane | None:
    """That in which light turns, or one through its line; None for the half-plane k_z–k_⊥."""
    turning = turning_plane(field)
    if turning is not None:
        return turning
    axis = major_axis(field.polarization)
    if abs(axis[2]) > 1 - 1e-9:
        return None
    for i, name in ((0, "xy"), (1, "yx")):
        if abs(axis[i]) > 1 - 1e-9:
            return name
    across = np.cross(axis, np.cross([0.0, 0.0, 1.0], axis))
    return tuple(axis), tuple(across / np.linalg.norm(across))


def _over(field: Field, end: float) -> bool:
    """Whether the light has gone, and left no momentum behind."""
    duration = float(field.duration)
    if not duration <= end * (1 + 1e-9):
        return False
    potential = np.linalg.norm(_course(field)[0], axis=1)
    left = np.linalg.norm(np.asarray(field.vector_potential_xyz(end)))
    return bool(left <= 1e-3 * np.max(potential))


def _fastest(field: Field, ionization: float) -> float:
    """√5|A| of rescattered electrons (10 U_p) on top of three photons above threshold."""
    highest = 0.0
    for part in field.fields if isinstance(field, FieldSum) else (field,):
        potential, force = _course(part)
        strongest = float(np.max(np.linalg.norm(potential, axis=1)))
        if not strongest > 0:
            continue
        frequency = math.sqrt(float(np.sum(force**2) / np.sum(potential**2)))
        threshold = max(ionization, 0.0) + strongest**2 / 4
        above = (math.ceil(threshold / frequency) + 2) * frequency - threshold
        highest = max(highest, math.sqrt(5) * strongest + math.sqrt(2 * above))
    return highest or 1.0


def _course(field: Field) -> tuple[np.ndarray, np.ndarray]:
    times = np.linspace(0.0, finite_end(field), 2001)
    return (
        np.asarray(field.vector_potential_xyz(times)),
        np.asarray(field.electric_field_xyz(times)),
    )


def _reach(spectrum: AngularSpectrum) -> float | None:
    """The momentum beyond which a picture is empty; None where all of it is."""
    k = spectrum.momenta
    largest = np.max(spectrum.momentum_density, axis=1)
    if not np.max(k**3 * largest) > LEAST:
        return None
    last = int(np.max(np.nonzero(largest > 10.0**-MAP_DECADES * np.max(largest))))
    return float(k[min(last + 1, len(k) - 1)])
