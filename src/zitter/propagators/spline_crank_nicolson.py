"""Crank–Nicolson for the Dirac equation among the splines, with S + iΔt/2 H₀ factored for each κ.

    (S + iτ/2 (H₀ + V)) y = Sψ(t),    ψ(t + τ) = 2y − ψ(t),    V = V(t + τ/2)
    y + M⁻¹ (iτ/2 V) y = M⁻¹ Sψ,      M = S + iτ/2 H₀

BiCGSTAB solves the second line from y = ψ. The factors of M take (2n)^{5/3} numbers for each κ and
seconds to make, where the levels of H₀ that `CrankNicolson` works with take (2n)² and a
diagonalization: this is the way for the largest bases.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.blocks import SpinorBlocks
from zitter.bases.spinor.solver import SpinorSolver
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported, real_like
from zitter.linalg.sums import add
from zitter.propagators.base import Propagator
from zitter.propagators.bicgstab import (
    Course,
    bicgstab,
    contraction,
    strongest_light,
    two_digits,
)


class SolverMemory(eqx.Module):
    """Factors of M, and what the iteration did."""

    solver: SpinorSolver
    course: Course


class SplineCrankNicolson(Propagator):
    """Order 2, unitary; `tol` is the relative residual of each step."""

    tol: float = eqx.field(static=True)
    most_iterations: int = eqx.field(static=True)
    span: tuple[float, float] | None = eqx.field(static=True)

    def __init__(self, tol: float = 1e-12, most_iterations: int = 30):
        self.tol = float(checks.positive("tol", tol))
        self.most_iterations = checks.integer("most_iterations", most_iterations, 1)
        self.span = None

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2

    def prepare(self, H, t, dt):
        if not isinstance(H.basis, SpinorBasis) or not isinstance(H.fixed, SpinorBlocks):
            raise Unsupported(
                "SplineCrankNicolson needs a SpinorBasis and a field-free part that keeps κ and μ; "
                "elsewhere use CrankNicolson"
            )
        if jnp.finfo(H.fixed.dtype).bits < 64:
            # M and its inverse act on Sψ and Vψ alike, so that BiCGSTAB cannot see their rounding.
            raise Unsupported(
                "SplineCrankNicolson needs double precision: in single precision the factors of "
                "S + iΔt/2 H₀ lose 1e-5 of the norm in each step; use GaussCollocation or "
                "CrankNicolson, or precision = double"
            )
        ready = self.bare()
        object.__setattr__(ready, "span", (float(t[0]), float(t[1])))
        return ready

    def bare(self):
        return SplineCrankNicolson(self.tol, self.most_iterations)

    def init(self, H, psi, t, dt):
        assert isinstance(H.basis, SpinorBasis) and isinstance(H.fixed, SpinorBlocks)
        half = 0.5j * real_like(dt, psi)
        bands = H.basis.overlap_matrices(jnp.finfo(psi.dtype).dtype) + half * H.fixed.bands()
        return SolverMemory(SpinorSolver(H.basis, bands), Course.begin())

    def step(self, H, psi, t, dt, state):
        half = 0.5j * real_like(dt, psi)
        parts: list[Any] = [piece.at(t + 0.5 * dt) for piece in H.changing]
        parts += [] if H.absorber is None else [H.absorber]
        rhs = state.solver.solve(H.basis.overlap(psi))
        if not parts:
            return 2 * rhs - psi, state
        coupling = add(parts)

        def apply(y):
            return y + state.solver.solve(half * coupling.apply(y))

        y, count, residual = bicgstab(apply, rhs, psi, self.tol, self.most_iterations)
        course = state.course.after(count, 2 * count + 1, residual, self.tol, t)
        return 2 * y - psi, SolverMemory(state.solver, course)

    def report(self, state):
        return state.course.report()

    def problem(self, H, state, dt):
        failed_at = float(state.course.failed_at)
        if not math.isfinite(failed_at):
            return None
        assert self.span is not None
        _, strength = strongest_light(H, self.span)
        # Each product shrinks the error by ‖M⁻¹ τ/2 V‖ ≤ τ/2 max|cA|, or more.
        bound = 2 * contraction(self.tol, self.most_iterations) / max(strength, 1e-3 / float(dt))
        named = two_digits(min(0.5 * float(dt), bound))
        return (
            f"BiCGSTAB did not reach {self.tol:g} within {self.most_iterations} iterations at "
            f"t = {failed_at:.6g} with dt = {float(dt):.4g}: take dt = {named:g} or below."
        )
