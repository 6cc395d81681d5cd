"""Quantum Monte Carlo: electrons by VMC and DMC, with Slater–Jastrow or other wave functions.

    gas = zt.qmc.ElectronGas(n=54, rs=1.0, dimension=3, lattice="sc")
    psi = zt.qmc.SlaterJastrow(gas, jastrow=[zt.qmc.U(order=8), zt.qmc.P(stars=5)])
    psi = zt.qmc.optimize(psi, method=zt.qmc.LinearMethod(), walkers=512).wavefunction
    out = zt.qmc.dmc(psi, timestep=0.01, walkers=1024, blocks=200)

Positions are components first inside this package: r (d, N) for a walker, (walkers, d, N) for all.
"""

from zitter import keywords
from zitter.qmc.averages import average_runs
from zitter.qmc.bridges import from_pwscf, from_pyscf, from_trexio, pseudopotential
from zitter.qmc.cells import Cell, closed_shells
from zitter.qmc.determinants import Determinants
from zitter.qmc.energies import (
    CoulombEnergy,
    CrystalEnergy,
    EnergyTerm,
    Ewald,
    EwaldEnergy,
    ExternalPotential,
    KineticEnergy,
    LocalPseudopotential,
    NonlocalPseudopotential,
    Transitions,
    madelung,
)
from zitter.qmc.estimators import (
    Density,
    DipoleMoment,
    Estimator,
    Forces,
    MomentumDensity,
    PairCorrelation,
    RadialDensity,
    StructureFactor,
)
from zitter.qmc.extrapolation import extrapolate
from zitter.qmc.finite_size import FiniteSize, finite_size
from zitter.qmc.jastrow import Change, Chi, F, H, JastrowTerm, P, PreparedTerm, Q, U
from zitter.qmc.optimizers import (
    LinearMethod,
    Optimization,
    StochasticReconfiguration,
    VarianceMinimization,
    optimize,
)
from zitter.qmc.orbitals import (
    BlipConversion,
    BlipFilter,
    Blips,
    BlochGaussians,
    CuspCorrected,
    GaussianBasis,
    Gaussians,
    GaussianShell,
    InterpolatingFilter,
    LeastSquaresFilter,
    MatchedFilter,
    Nodeless,
    Orbitals,
    PlaneWaves,
    RealParts,
    SlaterShell,
    SlaterTypes,
    blips_from_plane_waves,
    cusp_corrected,
    to_blips,
)
from zitter.qmc.plain import PlainWavefunction
from zitter.qmc.samples import Samples
from zitter.qmc.slater_jastrow import SlaterJastrow
from zitter.qmc.statistics import Estimate, autocorrelation_time, equilibration, reblock
from zitter.qmc.systems import (
    Crystal,
    ElectronGas,
    Electrons,
    GaussianSum,
    Nucleus,
    Pseudopotential,
    Radial,
    RadialTable,
    System,
    Trap,
)
from zitter.qmc.twists import twist_grid
from zitter.qmc.walk.diffusion import dmc
from zitter.qmc.walk.localization import DeterminantLocality, Locality, Localization, TMoves
from zitter.qmc.walk.variational import vmc
from zitter.qmc.wavefunction import Wavefunction

__all__ = [
    "BlipConversion",
    "BlipFilter",
    "Blips",
    "BlochGaussians",
    "Cell",
    "Change",
    "Chi",
    "CoulombEnergy",
    "Crystal",
    "CrystalEnergy",
    "CuspCorrected",
    "Density",
    "DeterminantLocality",
    "Determinants",
    "DipoleMoment",
    "ElectronGas",
    "Electrons",
    "EnergyTerm",
    "Estimate",
    "Estimator",
    "Ewald",
    "EwaldEnergy",
    "ExternalPotential",
    "F",
    "FiniteSize",
    "Forces",
    "GaussianBasis",
    "GaussianShell",
    "GaussianSum",
    "Gaussians",
    "H",
    "InterpolatingFilter",
    "JastrowTerm",
    "KineticEnergy",
    "LeastSquaresFilter",
    "LinearMethod",
    "LocalPseudopotential",
    "Locality",
    "Localization",
    "MatchedFilter",
    "MomentumDensity",
    "Nodeless",
    "NonlocalPseudopotential",
    "Nucleus",
    "Optimization",
    "Orbitals",
    "P",
    "PairCorrelation",
    "PlainWavefunction",
    "PlaneWaves",
    "PreparedTerm",
    "Pseudopotential",
    "Q",
    "Radial",
    "RadialDensity",
    "RadialTable",
    "RealParts",
    "Samples",
    "SlaterJastrow",
    "SlaterShell",
    "SlaterTypes",
    "StochasticReconfiguration",
    "StructureFactor",
    "System",
    "TMoves",
    "Transitions",
    "Trap",
    "U",
    "VarianceMinimization",
    "Wavefunction",
    "autocorrelation_time",
    "average_runs",
    "blips_from_plane_waves",
    "closed_shells",
    "cusp_corrected",
    "dmc",
    "equilibration",
    "extrapolate",
    "finite_size",
    "from_pwscf",
    "from_pyscf",
    "from_trexio",
    "madelung",
    "optimize",
    "pseudopotential",
    "reblock",
    "to_blips",
    "twist_grid",
    "vmc",
]

keywords.check_keywords(__name__)
