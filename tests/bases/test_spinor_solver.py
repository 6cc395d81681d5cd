"""Direct solves for all κ and μ of a spinor basis."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.bases.spinor import solver as spinor_solver
from zitter.bases.spinor.solver import SpinorSolver
from zitter.linalg.bands import host_dense


@pytest.mark.parametrize(
    ("kappa_max", "mu_max"), [(3, None), pytest.param(9, 2.5, marks=pytest.mark.slow)]
)
def test_solution_of_the_implicit_step(kappa_max, mu_max):
    basis = zt.SpinorBasis(zt.RadialBSplines(40, 7, 20.0), kappa_max, mu_max)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    bands = basis.overlap_matrices() + 0.5j * 1e-3 * H.fixed.bands()
    rng = np.random.default_rng(0)
    rhs = rng.normal(size=basis.shape) + 1j * rng.normal(size=basis.shape)
    solver = SpinorSolver(basis, bands)
    assert len(solver.factors) == min(spinor_solver.CLASSES, max(1, kappa_max // 4))
    found = eqx.filter_jit(SpinorSolver.solve)(solver, jnp.asarray(rhs))
    for k, kappa in enumerate(basis.distinct_kappas):
        rows = np.nonzero(basis.kappas == kappa)[0]
        exact = np.linalg.solve(host_dense(bands[k]), rhs[rows].T).T
        # M has condition 1e5: Δt/2 ‖H₀‖ ~ 10, times that of S.
        np.testing.assert_allclose(found[rows], exact, atol=1e-11 * np.abs(exact).max())
