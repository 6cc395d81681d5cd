"""Propagators: one method per file."""

from zitter.propagators.angular_split import AngularSplit
from zitter.propagators.base import Exponential, Propagator
from zitter.propagators.chebyshev import Chebyshev
from zitter.propagators.crank_nicolson import CrankNicolson
from zitter.propagators.gauss_collocation import GaussCollocation
from zitter.propagators.lanczos import Lanczos
from zitter.propagators.matrix_exponential import (
    CosSin,
    MatrixExponential,
    PatersonStockmeyer,
    TaylorSum,
)
from zitter.propagators.runge_kutta import RungeKutta4, RungeKuttaFehlberg45
from zitter.propagators.schemes import CommutatorFree4, Midpoint, TimeScheme
from zitter.propagators.spline_crank_nicolson import SplineCrankNicolson
from zitter.propagators.split_operator import SplitOperator
from zitter.propagators.taylor import Taylor

__all__ = [
    "AngularSplit",
    "Chebyshev",
    "CommutatorFree4",
    "CosSin",
    "CrankNicolson",
    "Exponential",
    "GaussCollocation",
    "Lanczos",
    "MatrixExponential",
    "Midpoint",
    "PatersonStockmeyer",
    "Propagator",
    "RungeKutta4",
    "RungeKuttaFehlberg45",
    "SplineCrankNicolson",
    "SplitOperator",
    "Taylor",
    "TaylorSum",
    "TimeScheme",
]
