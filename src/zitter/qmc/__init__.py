"""Quantum Monte Carlo: electron gases by VMC and DMC with Slater–Jastrow wave functions.

    gas = zt.qmc.ElectronGas(n=54, rs=1.0, dimension=3, lattice="sc")
    psi = zt.qmc.SlaterJastrow(gas, jastrow=[zt.qmc.U(order=8), zt.qmc.P(stars=5)])
    psi = zt.qmc.optimize(psi, method=zt.qmc.LinearMethod(), walkers=512).wavefunction
    out = zt.qmc.dmc(psi, timestep=0.01, walkers=1024, blocks=200)

Positions are components first inside this package: r (d, N) for a walker, (walkers, d, N) for all.
"""

from zitter.qmc.cells import Cell, closed_shells
from zitter.qmc.diffusion import dmc
from zitter.qmc.estimators import MomentumDensity, PairCorrelation, StructureFactor
from zitter.qmc.ewald import Ewald, madelung
from zitter.qmc.extrapolation import extrapolate
from zitter.qmc.jastrow import H, P, U
from zitter.qmc.linear_method import LinearMethod
from zitter.qmc.optimization import Optimization, optimize
from zitter.qmc.samples import Samples
from zitter.qmc.statistics import Estimate, autocorrelation_time, equilibration, reblock
from zitter.qmc.stochastic_reconfiguration import StochasticReconfiguration
from zitter.qmc.systems import ElectronGas, System, Trap
from zitter.qmc.twists import twist_grid
from zitter.qmc.variance_minimization import VarianceMinimization
from zitter.qmc.variational import vmc
from zitter.qmc.wavefunction import SlaterJastrow

__all__ = [
    "Cell",
    "ElectronGas",
    "Estimate",
    "Ewald",
    "H",
    "LinearMethod",
    "MomentumDensity",
    "Optimization",
    "P",
    "PairCorrelation",
    "Samples",
    "SlaterJastrow",
    "StochasticReconfiguration",
    "StructureFactor",
    "System",
    "Trap",
    "U",
    "VarianceMinimization",
    "autocorrelation_time",
    "closed_shells",
    "dmc",
    "equilibration",
    "extrapolate",
    "madelung",
    "optimize",
    "reblock",
    "twist_grid",
    "vmc",
]
