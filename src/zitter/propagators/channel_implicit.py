"""Crank–Nicolson for coupled channels: banded solves within channels, iteration between them.

    (S + iτ/2 (H₀ + V)) δ = −iτ (H₀ + V) c,    c(t + τ) = c + δ

H₀ is one banded matrix for each channel, factored once; V couples channels (light at the midpoint).
With M = S + iτ/2 H₀ the iteration δ ← M⁻¹(−iτ(H₀ + V)c − iτ/2 V δ) shrinks the error by about
A√(τ/2) each time in velocity gauge, and by F·rmax·τ/2 in length gauge.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.bases.spherical.basis import SphericalBasis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.blocks import RadialBlocks
from zitter.linalg.radial_solver import RadialSolver
from zitter.linalg.sums import Sum, add
from zitter.propagators.base import Exponential
from zitter.propagators.schemes import Midpoint, TimeScheme

MOST_ITERATIONS = 100


class Course(eqx.Module):
    """What one step leaves to the next: factors, and how the iterations went."""

    solver: RadialSolver | None
    iterations: jax.Array
    error: jax.Array  # the sum of the last changes
    worst: jax.Array  # the largest of them, in units of what was asked for

    def after(self, iterations: Any, change: jax.Array, tol: float) -> Course:
        change = change.astype(jnp.float64)
        worst = jnp.maximum(self.worst, change / tol)
        return Course(self.solver, self.iterations + iterations, self.error + change, worst)


class ChannelCrankNicolson(Exponential):
    """What `CrankNicolson` becomes on a `SphericalBasis`; `tol` ends the iteration (relative)."""

    basis: SphericalBasis | None
    tol: float = eqx.field(static=True)
    scheme: TimeScheme

    def __init__(self, tol: float = 1e-12):
        self.basis = None
        self.tol = float(checks.positive("tol", tol))
        self.scheme = Midpoint()

    def prepare(self, H, t, dt):
        if not isinstance(H.basis, SphericalBasis):
            raise Unsupported(
                f"CrankNicolson cannot treat a {type(H.basis).__name__}; "
                "it needs a 1D grid or a SphericalBasis"
            )
        split(H.mix([1.0], [t[0]]))
        return eqx.tree_at(lambda p: p.basis, self, H.basis, is_leaf=lambda x: x is None)

    def init(self, H, psi, t, dt):
        assert isinstance(H.basis, SphericalBasis)
        radial, _ = split(H.mix([1.0], [t]))
        changes = any(_has_radial(c.at(t)) for c in H.changing)
        solver = None if changes else factor(H.basis, radial, 0.5j * real_like(dt, psi))
        nothing = jnp.zeros((), jnp.float64)
        return Course(solver, jnp.zeros((), jnp.int32), nothing, nothing)

    def exponential(self, operator, psi, tau, state):
        assert self.basis is not None
        radial, coupling = split(operator)
        tol = max(self.tol, 50 * float(jnp.finfo(psi.dtype).eps))  # what the precision can give
        half = 0.5j * real_like(tau, psi)
        ready = factor(self.basis, radial, half) if state.solver is None else state.solver
        image = operator.apply(psi)
        first = ready.solve(-2 * half * image)
        if coupling is None:
            return psi + first, state.after(1, jnp.zeros(()), tol)
        scale = jnp.linalg.norm(psi)

        def unfinished(carry):
            _, change, done = carry
            # A growing change becomes infinite and ends here too; the loop's guard reports it.
            return (change > tol) & (done < MOST_ITERATIONS) & jnp.isfinite(change)

        def improve(carry):
            delta, _, done = carry
            new = first - ready.solve(half * coupling.apply(delta))
            return new, jnp.linalg.norm(new - delta) / scale, done + 1

        start = (first, jnp.ones((), scale.dtype), jnp.zeros((), jnp.int32))
        delta, change, done = jax.lax.while_loop(unfinished, improve, start)
        return psi + delta, state.after(done, change, tol)

    def report(self, state):
        return {"iterations": state.iterations, "iteration_error": state.error}

    def problem(self, H, state, dt):
        if float(state.worst) <= 1:
            return None
        return (
            f"The iteration between channels did not converge within {MOST_ITERATIONS} rounds with "
            f"dt = {float(dt):.4g}: take a smaller dt, or AngularSplit, which does not iterate."
        )


def split(operator: Operator) -> tuple[RadialBlocks, Operator | None]:
    """The part within channels and the part between them."""
    parts = operator.parts if isinstance(operator, Sum) else (operator,)
    radial = [part for part in parts if isinstance(part, RadialBlocks)]
    rest = [part for part in parts if not isinstance(part, RadialBlocks)]
    if len(radial) != 1:
        raise Unsupported("CrankNicolson needs matrices within channels, such as Kinetic() gives")
    return radial[0], (None if not rest else rest[0] if len(rest) == 1 else Sum(rest))


def _has_radial(operator: Operator) -> bool:
    parts = operator.parts if isinstance(operator, Sum) else (operator,)
    return any(isinstance(part, RadialBlocks) for part in parts)


def factor(basis: SphericalBasis, radial: RadialBlocks, half: Any) -> RadialSolver:
    """Factors of S + half·H₀."""
    overlap = jnp.asarray(basis.radial.overlap)
    return RadialSolver((overlap + half * radial.bands).astype(jnp.result_type(half)))


def require_static(H: Hamiltonian, t: Any) -> RadialBlocks:
    """The part within channels, where it does not change with time."""
    if any(_has_radial(c.at(t)) for c in H.changing):
        raise Unsupported("AngularSplit needs a central potential that does not change with time")
    operators = [H.fixed] if H.absorber is None else [H.fixed, H.absorber]
    radial, coupling = split(add(operators))
    if coupling is not None:
        raise Unsupported("AngularSplit needs a field-free part that does not couple channels")
    return radial
