"""Crank–Nicolson for the Dirac equation among the splines, with S + iΔt/2 H₀ factored for each κ.

The factors take (2n)^{5/3} numbers for each κ and seconds to make, where the levels of H₀ that
`CrankNicolson` works with take (2n)² and a diagonalization: this is the way for the largest bases.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported
from zitter.propagators.base import Propagator
from zitter.propagators.crank_nicolson import begin, midpoint
from zitter.propagators.implicit import Separated, contraction, separated, strongest, two_digits


class SplineCrankNicolson(Propagator):
    """Order 2, unitary; `tol` is the relative residual of each step."""

    tol: float = eqx.field(static=True)
    most_iterations: int = eqx.field(static=True)
    separated: Separated | None

    def __init__(self, tol: float = 1e-12, most_iterations: int = 30):
        self.tol = float(checks.positive("tol", tol))
        self.most_iterations = checks.integer("most_iterations", most_iterations, 1)
        self.separated = None

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2

    def long_step(self, H):
        return True

    def prepare(self, H, t, dt):
        found = separated("SplineCrankNicolson", H, t, H.basis.factored_resolvents)
        if jnp.finfo(H.fixed.dtype).bits < 64:
            # M and its inverse act on Sψ and Vψ alike, so that BiCGSTAB cannot see their rounding.
            raise Unsupported(
                "SplineCrankNicolson needs double precision: in single precision the factors of "
                "S + iΔt/2 H₀ lose 1e-5 of the norm in each step; use GaussCollocation or "
                "CrankNicolson, or precision = double"
            )
        return eqx.tree_at(lambda p: p.separated, self.bare(), found, is_leaf=lambda x: x is None)

    @property
    def any_step(self):
        return True

    def bare(self):
        return SplineCrankNicolson(self.tol, self.most_iterations)

    def init(self, H, psi, t, dt):
        assert self.separated is not None
        return begin(self.separated, H, psi, t, dt, H.basis.factored_resolvents)

    def step(self, H, psi, t, dt, state):
        assert self.separated is not None
        most, family = self.most_iterations, H.basis.factored_resolvents
        return midpoint(self.separated, H, psi, t, dt, state, self.tol, most, family)

    def report(self, state):
        return {} if state.course is None else state.course.report()

    def failed_at(self, state):
        return jnp.inf if state.course is None else state.course.failed_at

    def problem(self, H, state, dt):
        if state.course is None or math.isinf(float(state.course.failed_at)):
            return None
        assert self.separated is not None
        _, strength = strongest(H, self.separated.span)
        # Each product shrinks the error by ‖M⁻¹ τ/2 V‖ ≤ τ/2 max|cA|, or more. Factors for other
        # steps take too long to try any.
        bound = 2 * contraction(self.tol, self.most_iterations) / max(strength, 1e-3 / float(dt))
        named = two_digits(min(0.5 * float(dt), bound))
        return (
            f"BiCGSTAB did not reach {self.tol:g} within {self.most_iterations} iterations at "
            f"t = {float(state.course.failed_at):.6g} with dt = {float(dt):.4g}: take "
            f"dt = {named:g} or below."
        )
