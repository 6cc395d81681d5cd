"""Crank–Nicolson, Cayley's form of the exponential, on every basis that knows resolvents.

    (S + iτ/2 (H₀ + V)) y = Sψ(t),    ψ(t + τ) = 2y − ψ(t),    H at t + τ/2
    y + M⁻¹ (iτ/2 V) y = M⁻¹ Sψ,      M = S + iτ/2 H₀

H₀ is what the basis inverts directly: all of H on a line, matrices within channels on splines,
energies among eigenstates. What it leaves over, V, is iterated on the second line, from a guess
that continues the last step (`linalg/bicgstab.py`).
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Solver, real_like
from zitter.linalg.bicgstab import bicgstab
from zitter.propagators.base import Propagator
from zitter.propagators.implicit import (
    Course,
    Family,
    Separated,
    attainable,
    failure,
    refuse_growing_light,
    separated,
)

MOST_ITERATIONS = 50


class Memory(eqx.Module):
    """Factors of M where they are kept, and the last step where V is iterated."""

    solver: Solver | None
    start: jax.Array | None
    middle: jax.Array | None  # y
    course: Course | None


class CrankNicolson(Propagator):
    """Order 2, unitary, stable for every Δt; `tol` is the relative residual of a step's iteration.

    On a 1D grid the banded system is solved directly: `Kinetic(order=2)` makes it tridiagonal,
    orders 4 to 8 give 2 to 4 side diagonals. Elsewhere light and whatever else the basis cannot
    invert is iterated; not converged, the run stops and says which dt would do.
    """

    tol: float = eqx.field(static=True)
    separated: Separated | None

    def __init__(self, tol: float = 1e-12):
        self.tol = float(checks.positive("tol", tol))
        self.separated = None

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2

    def long_step(self, H):
        return self.separated is not None and self.separated.iterates

    def prepare(self, H, t, dt):
        refuse_growing_light(H)
        return self._with(separated("CrankNicolson", H, t, renews=True))

    def starting(self, *psi):
        assert self.separated is not None
        return self._with(self.separated.starting(*psi))

    def _with(self, found: Separated) -> CrankNicolson:
        return eqx.tree_at(lambda p: p.separated, self.bare(), found, is_leaf=lambda x: x is None)

    @property
    def any_step(self):
        return True

    def bare(self):
        return CrankNicolson(self.tol)

    def enter(self, psi):
        assert self.separated is not None
        return self.separated.enter(psi)

    def leave(self, psi):
        assert self.separated is not None
        return self.separated.leave(psi)

    def init(self, H, psi, t, dt):
        assert self.separated is not None
        return begin(self.separated, H, psi, t, dt)

    def step(self, H, psi, t, dt, state):
        assert self.separated is not None
        return midpoint(self.separated, H, psi, t, dt, state, self.tol, MOST_ITERATIONS)

    def report(self, state):
        return {} if state.course is None else state.course.report()

    def failed_at(self, state):
        return jnp.inf if state.course is None else state.course.failed_at

    def problem(self, H, state, dt):
        if state.course is None:
            return None
        assert self.separated is not None
        span = self.separated.span
        # Each product shrinks the error by ‖M⁻¹ τ/2 V‖ ≤ τ/2 ‖V‖ or more.
        return failure(self, H, span, state, float(dt), self.tol, MOST_ITERATIONS, 0.5)


def begin(
    how: Separated, H: Hamiltonian, psi: jax.Array, t: Any, dt: Any, family: Family | None = None
) -> Memory:
    """What the first step finds; without an earlier one its guess is ψ itself."""
    solver = None
    if not how.renewed:
        solver = how.parts(H, t, family)[0].at(0.5j * real_like(dt, psi))
    if not how.iterates:
        return Memory(solver, None, None, None)
    psi = how.enter(psi)
    return Memory(solver, psi, psi, Course.begin())


def midpoint(
    how: Separated,
    H: Hamiltonian,
    psi: jax.Array,
    t: Any,
    dt: Any,
    state: Memory,
    tol: float,
    most: int,
    family: Family | None = None,
) -> tuple[jax.Array, Memory]:
    """One step, by the factors of the state or by new ones."""
    half, whole, psi = 0.5j * real_like(dt, psi), psi, how.narrowed(psi)
    resolvents, coupling = how.parts(H, t + 0.5 * dt, family)
    solver = resolvents.at(half) if state.solver is None else state.solver
    first = resolvents.resolved(solver, half, psi)
    if coupling is None:
        return how.widened((2 * first - psi).astype(psi.dtype), whole), state
    assert state.start is not None and state.middle is not None and state.course is not None

    def apply(y):
        return y + solver.solve(half * resolvents.image(coupling, y))

    tol = attainable(tol, psi)
    # The line through the last step, at t + τ/2.
    guess = how.narrowed(3 * state.middle - 2 * state.start)
    solved = bicgstab(apply, first, guess, tol, most)
    course = state.course.after(solved, solved.products, tol, t)
    middle = how.widened(solved.x, whole)
    return how.widened(2 * solved.x - psi, whole), Memory(state.solver, whole, middle, course)
