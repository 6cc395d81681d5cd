"""Pictures. Each function returns a matplotlib figure; `save` writes it.

zt.plot.save(zt.plot.overview(sol, pulse), "run.png")
"""

from zitter import keywords
from zitter.plot.courses import observables
from zitter.plot.densities import animate, density
from zitter.plot.diagrams import level_diagram
from zitter.plot.dirac import along_axis, dirac_overview, spinor_spectra
from zitter.plot.energies import levels
from zitter.plot.errors import convergence
from zitter.plot.overviews import moving_potential, overview
from zitter.plot.photoelectrons import bound_states, momentum_map, photoelectrons
from zitter.plot.pulses import pulse
from zitter.plot.spectra import emission, spectrum
from zitter.plot.stationary import convergence_history, isosurface, slices
from zitter.plot.style import save

__all__ = [
    "along_axis",
    "animate",
    "bound_states",
    "convergence",
    "convergence_history",
    "density",
    "dirac_overview",
    "emission",
    "isosurface",
    "level_diagram",
    "levels",
    "momentum_map",
    "moving_potential",
    "observables",
    "overview",
    "photoelectrons",
    "pulse",
    "save",
    "slices",
    "spectrum",
    "spinor_spectra",
]

keywords.check_keywords(__name__)
