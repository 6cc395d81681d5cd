"""Pictures. Each function returns a matplotlib figure; `save` writes it.

zt.plot.save(zt.plot.overview(sol, pulse), "run.png")
"""

from zitter.plot.courses import observables
from zitter.plot.densities import animate, density
from zitter.plot.energies import levels
from zitter.plot.errors import convergence
from zitter.plot.overviews import moving_potential, overview
from zitter.plot.photoelectrons import momentum_map, photoelectrons
from zitter.plot.pulses import pulse
from zitter.plot.spectra import emission, spectrum
from zitter.plot.stationary import convergence_history, isosurface, slices
from zitter.plot.style import save

__all__ = [
    "animate",
    "convergence",
    "convergence_history",
    "density",
    "emission",
    "isosurface",
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
]
