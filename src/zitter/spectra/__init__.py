"""What is computed from states and records after a run: photoelectrons, harmonics, averages."""

from zitter import keywords
from zitter.spectra.after_run import surface_amplitudes
from zitter.spectra.angular import AngularSpectrum, angular_spectrum
from zitter.spectra.attoclock import AttoclockOffset, attoclock_offset
from zitter.spectra.continuum import amplitudes, coulomb_phase
from zitter.spectra.flux import flux_spectrum
from zitter.spectra.focus import focal_average
from zitter.spectra.harmonics import HarmonicSpectrum, cutoff_energy, harmonic_spectrum
from zitter.spectra.momentum_distribution import MomentumDistribution, MomentumGrid
from zitter.spectra.photoelectron import (
    PhotoelectronSpectrum,
    bound_populations,
    ionization_yield,
    photoelectron_spectrum,
)
from zitter.spectra.quality import ConvergenceWarning, check_box, check_lmax
from zitter.spectra.relativistic_sfa import (
    HydrogenGroundState,
    strong_field_distribution,
    volkov_amplitudes,
)
from zitter.spectra.spinor_momentum import SplineState, momentum_distribution
from zitter.spectra.spinor_photoelectrons import (
    LevelPopulations,
    SpinorSpectrum,
    free_part,
    level_populations,
    spectrum_error,
    spinor_levels,
    spinor_spectrum,
)
from zitter.spectra.window import window_spectrum

__all__ = [
    "AngularSpectrum",
    "AttoclockOffset",
    "ConvergenceWarning",
    "HarmonicSpectrum",
    "HydrogenGroundState",
    "LevelPopulations",
    "MomentumDistribution",
    "MomentumGrid",
    "PhotoelectronSpectrum",
    "SpinorSpectrum",
    "SplineState",
    "amplitudes",
    "angular_spectrum",
    "attoclock_offset",
    "bound_populations",
    "check_box",
    "check_lmax",
    "coulomb_phase",
    "cutoff_energy",
    "flux_spectrum",
    "focal_average",
    "free_part",
    "harmonic_spectrum",
    "ionization_yield",
    "level_populations",
    "momentum_distribution",
    "photoelectron_spectrum",
    "spectrum_error",
    "spinor_levels",
    "spinor_spectrum",
    "strong_field_distribution",
    "surface_amplitudes",
    "volkov_amplitudes",
    "window_spectrum",
]

keywords.check_keywords(__name__)
