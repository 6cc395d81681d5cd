"""Crank–Nicolson among eigenstates, where H₀ is a diagonal of energies and needs no factors.

    (1 + iτ/2 (H₀ + V)) y = ψ(t),    ψ(t + τ) = 2y − ψ(t),    V = V(t + τ/2)
    y + M⁻¹ (iτ/2 V) y = M⁻¹ψ,       M = 1 + iτ/2 H₀

BiCGSTAB solves the second line from y = M⁻¹ψ. V holds the light between l and l ± 1, and the
absorber within each l.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Unsupported, real_like
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import add
from zitter.propagators.base import Propagator
from zitter.propagators.bicgstab import Course, bicgstab

MOST_ITERATIONS = 50


class EigenCrankNicolson(Propagator):
    """What `CrankNicolson` becomes on an `EigenBasis`; `tol` is the relative residual of a step."""

    tol: float = eqx.field(static=True)
    span: tuple[float, float] | None = eqx.field(static=True)  # of the run, once prepared

    def __init__(self, tol: float = 1e-12, span: tuple[float, float] | None = None):
        self.tol = float(checks.positive("tol", tol))
        self.span = span

    def bare(self) -> EigenCrankNicolson:
        return EigenCrankNicolson(self.tol)

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2

    def prepare(self, H, t, dt):
        if not isinstance(H.fixed, Diagonal):
            raise Unsupported(
                "CrankNicolson on an EigenBasis needs a field-free part that is a diagonal of "
                "energies, such as FieldFree() gives"
            )
        return EigenCrankNicolson(self.tol, t)

    def init(self, H, psi, t, dt):
        return Course.begin()

    def step(self, H, psi, t, dt, state):
        assert isinstance(H.fixed, Diagonal)
        half = 0.5j * real_like(dt, psi)
        inverse = 1 / (1 + half * H.fixed.full())
        rhs = inverse * psi
        parts = [piece.at(t + 0.5 * dt) for piece in H.changing]
        parts += [] if H.absorber is None else [H.absorber]
        if not parts:
            return 2 * rhs - psi, state
        coupling = add(parts)

        def apply(y):
            return y + inverse * half * coupling.apply(y)

        tol = max(self.tol, 50 * float(jnp.finfo(psi.dtype).eps))  # what the precision can give
        y, count, residual = bicgstab(apply, rhs, rhs, tol, MOST_ITERATIONS)
        return 2 * y - psi, state.after(count, 2 * count + 1, residual, tol, t)

    def report(self, state):
        return state.report()

    def problem(self, H, state, dt):
        failed_at = float(state.failed_at)
        if not math.isfinite(failed_at):
            return None
        assert self.span is not None
        pieces = [piece.bounds(*self.span) for piece in H.changing]
        pieces += [] if H.absorber is None else [H.absorber.scaled(1j).bounds()]
        strength = sum(max(abs(float(low)), abs(float(high))) for low, high in pieces)
        # Each product shrinks the error by ‖M⁻¹ τ/2 V‖ ≤ τ/2 ‖V‖ = 1/2 or more.
        return (
            f"BiCGSTAB did not reach {self.tol:g} within {MOST_ITERATIONS} iterations at "
            f"t = {failed_at:.6g} with dt = {float(dt):.4g}: take dt = {1 / strength:.2g}, for "
            "which it converges."
        )
