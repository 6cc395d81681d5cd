"""Exact numbers of hydrogen, in atomic units."""

from __future__ import annotations

import numpy as np

FINE_STRUCTURE = 1 / 137.035999177
DIPOLE_1S_2P = 128 * np.sqrt(2) / 243  # ⟨1s|z|2p⟩ = 0.744936
POLARIZABILITY = {0.0: 4.5, 0.05695: 4.588069593, 0.1: 4.784300343}
# Field: (energy or None, rate) of the ground state in a static field.
STARK = {0.06: (-0.50920345088, 5.15077495e-4), 0.08: (None, 4.539657551e-3)}


def level(n: int) -> float:
    return -0.5 / n**2


def cross_section(omega):
    """Photoionization cross-section of the ground state (a₀²), Stobbe's formula."""
    eta = 1 / np.sqrt(2 * (np.asarray(omega) - 0.5))
    falling = np.exp(-4 * eta * np.arctan(1 / eta)) / (1 - np.exp(-2 * np.pi * eta))
    return 2**9 * np.pi**2 / 3 * FINE_STRUCTURE * (0.5 / omega) ** 4 * falling


def one_photon_density(pulse, energies):
    """dP/dE in first order: cross-section × photons per area and frequency of the pulse."""
    times = np.linspace(0.0, float(pulse.duration), 20001)
    field = np.asarray(pulse.electric_field(times))
    omega = np.asarray(energies) + 0.5
    spectrum = np.array([np.trapezoid(field * np.exp(1j * w * times), times) for w in omega])
    photons = np.abs(spectrum) ** 2 / (4 * np.pi**2 * FINE_STRUCTURE * omega)
    return cross_section(omega) * photons
