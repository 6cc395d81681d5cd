"""How parameters are optimized, one method per file."""

from zitter.qmc.optimizers.base import Method
from zitter.qmc.optimizers.linear_method import LinearMethod
from zitter.qmc.optimizers.optimization import Optimization, optimize
from zitter.qmc.optimizers.stochastic_reconfiguration import StochasticReconfiguration
from zitter.qmc.optimizers.variance_minimization import VarianceMinimization

__all__ = [
    "LinearMethod",
    "Method",
    "Optimization",
    "StochasticReconfiguration",
    "VarianceMinimization",
    "optimize",
]
