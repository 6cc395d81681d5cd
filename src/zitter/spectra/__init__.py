"""What is computed from states and records after a run: photoelectrons, harmonics, averages."""

from zitter.spectra.angular import AngularSpectrum, angular_spectrum
from zitter.spectra.continuum import amplitudes, coulomb_phase
from zitter.spectra.flux import flux_spectrum
from zitter.spectra.focus import focal_average
from zitter.spectra.harmonics import HarmonicSpectrum, cutoff_energy, harmonic_spectrum
from zitter.spectra.photoelectron import (
    PhotoelectronSpectrum,
    bound_populations,
    ionization_yield,
    photoelectron_spectrum,
)
from zitter.spectra.quality import ConvergenceWarning, check_box, check_lmax
from zitter.spectra.window import window_spectrum

__all__ = [
    "AngularSpectrum",
    "ConvergenceWarning",
    "HarmonicSpectrum",
    "PhotoelectronSpectrum",
    "amplitudes",
    "angular_spectrum",
    "bound_populations",
    "check_box",
    "check_lmax",
    "coulomb_phase",
    "cutoff_energy",
    "flux_spectrum",
    "focal_average",
    "harmonic_spectrum",
    "ionization_yield",
    "photoelectron_spectrum",
    "window_spectrum",
]
