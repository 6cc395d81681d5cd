"""Gauss–Legendre collocation, order 2s; s = 1 is Crank–Nicolson.

    Y_i = ψ − iτ Σ_j a_ij H(t + c_jτ) Y_j,    ψ(t + τ) = ψ + Σ_i d_i (Y_i − ψ),   d = bᵀA⁻¹

The Gauss nodes c and weights make every step unitary and stable for all τ (Butcher, Math. Comput.
18, 50 (1964); Hairer & Wanner, Solving Ordinary Differential Equations II, IV.5). Unlike products
of exponentials it follows the changing field inside a step: positrons, 2c² below, then stay virtual
also where τ is far longer than 1/2c².

With A = TΛT⁻¹ the field-free part H₀ is solved directly, by the basis' resolvents,

    W_k + M_k⁻¹ iτλ_k (T⁻¹VTW)_k = M_k⁻¹ (T⁻¹1)_k Sψ,    M_k = S + iτλ_k H₀,    Y = TW

and everything else, V, by BiCGSTAB, from a guess that continues the polynomial of the last step.
"""

from __future__ import annotations

import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.edges import ConvergenceWarning
from zitter.hamiltonian import Hamiltonian
from zitter.keywords import caller
from zitter.linalg.base import Solver, real_like
from zitter.linalg.bicgstab import bicgstab
from zitter.linalg.resolvents import Resolvents, factors_at
from zitter.propagators.base import Propagator
from zitter.propagators.implicit import (
    Course,
    Separated,
    attainable,
    failure,
    refuse_growing_light,
    separated,
)

WORTH_A_WARNING = 1e-3  # of the norm, lost by rounding


class Memory(eqx.Module):
    """Factors of each M_k, and the last step where V is iterated."""

    solvers: tuple[Solver, ...]
    start: jax.Array | None
    stages: jax.Array | None
    course: Course | None


class GaussCollocation(Propagator):
    """`points` s = 1, 3, 5 or 7; `tol` is the relative residual of each step.

    Not converged within `most_iterations`, the run stops and says which dt would do. An even s is
    left out: its steps turn positrons by almost 2π where 2c²τ is large, so that they would seem
    slow and could meet the light in resonance; an odd s turns them by almost π.
    """

    points: int = eqx.field(static=True)
    tol: float = eqx.field(static=True)
    most_iterations: int = eqx.field(static=True)
    separated: Separated | None

    def __init__(self, points: int = 3, tol: float = 1e-12, most_iterations: int = 30):
        self.points = checks.choice("points", points, (1, 3, 5, 7))
        self.tol = float(checks.positive("tol", tol))
        self.most_iterations = checks.integer("most_iterations", most_iterations, 1)
        self.separated = None

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2 * self.points

    @property
    def nodes(self) -> tuple[float, ...]:
        return tuple(rule_of(self.points).nodes)

    def long_step(self, H):
        return True

    def prepare(self, H, t, dt):
        refuse_growing_light(H)
        _warn_of_rounding(H, (t[1] - t[0]) / dt)
        found = separated("GaussCollocation", H, t)
        return eqx.tree_at(lambda p: p.separated, self.bare(), found, is_leaf=lambda x: x is None)

    @property
    def any_step(self):
        return True

    def bare(self):
        return GaussCollocation(self.points, self.tol, self.most_iterations)

    def enter(self, psi):
        assert self.separated is not None
        return self.separated.enter(psi)

    def leave(self, psi):
        assert self.separated is not None
        return self.separated.leave(psi)

    def init(self, H, psi, t, dt):
        assert self.separated is not None
        family, _ = self.separated.parts(H, t)
        solvers = factors_at(family, _shifts(rule_of(self.points), dt, psi))
        if not self.separated.iterates:
            return Memory(solvers, None, None, None)
        start = self.enter(psi)
        # Stages equal to ψ make the first guess ψ itself.
        stages = jnp.broadcast_to(start, (self.points, *start.shape))
        return Memory(solvers, start, stages, Course.begin())

    def step(self, H, psi, t, dt, state):
        assert self.separated is not None
        rule = rule_of(self.points)
        parts = [self.separated.parts(H, t + c * dt) for c in rule.nodes]
        family, couplings = parts[0][0], [coupling for _, coupling in parts]
        shifts = _shifts(rule, dt, psi)
        ones = rule.inverse.sum(axis=1)
        known = zip(state.solvers, shifts, ones, strict=True)
        rhs = jnp.stack(
            [real_like(one, psi) * family.resolved(solver, z, psi) for solver, z, one in known]
        )

        def apply(w):
            images = _every_stage(family, couplings, _mixed(rule.vectors, w))
            pulled = _mixed(rule.inverse, images)
            both = zip(state.solvers, shifts, pulled, strict=True)
            return w + jnp.stack([solver.solve(z * image) for solver, z, image in both])

        w, memory = rhs, state
        if state.course is not None:
            tol = attainable(self.tol, psi)
            before = jnp.concatenate([state.start[None], state.stages])
            guess = _mixed(rule.inverse @ rule.continuation, before)
            solved = bicgstab(apply, rhs, guess, tol, self.most_iterations, near=False)
            course = state.course.after(solved, self.points * solved.products, tol, t)
            w = solved.x
            memory = Memory(state.solvers, psi, _mixed(rule.vectors, w), course)
        stages = _mixed(rule.vectors, w) if memory.stages is None else memory.stages
        new = real_like(1 - rule.weights.sum(), psi) * psi + _mixed(rule.weights[None], stages)[0]
        return new, memory

    def report(self, state):
        return ({} if state.course is None else state.course.report()) | {"points": self.points}

    def failed_at(self, state):
        return jnp.inf if state.course is None else state.course.failed_at

    def problem(self, H, state, dt):
        if state.course is None:
            return None
        assert self.separated is not None
        span, most = self.separated.span, self.most_iterations
        # Each product shrinks the error by ‖τAV‖ or more. Mostly by far more: steps are tried.
        size = float(np.linalg.norm(rule_of(self.points).matrix, 2))
        return failure(self, H, span, state, float(dt), self.tol, most, size)


def _warn_of_rounding(H: Hamiltonian, steps: float) -> None:
    """Stages count with weights of both signs, and each step is wrong by some twenty eps."""
    lost = 23 * float(jnp.finfo(H.fixed.dtype).eps) * steps
    if lost > WORTH_A_WARNING:
        warnings.warn(
            f"in single precision {steps:.0f} steps of GaussCollocation may lose {lost:.1e} of the "
            "norm by rounding: take double precision, larger steps with more points, or "
            "CrankNicolson",
            ConvergenceWarning,
            stacklevel=caller(),
        )


class Rule(eqx.Module):
    """Nodes c, matrix A = TΛT⁻¹, weights d = bᵀA⁻¹, and the continuation of the last step."""

    nodes: np.ndarray
    matrix: np.ndarray
    weights: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray
    inverse: np.ndarray
    continuation: np.ndarray  # stages of this step from (ψ, stages) of the last one


def rule_of(stages: int) -> Rule:
    x, w = np.polynomial.legendre.leggauss(stages)
    nodes, b = 0.5 * (x + 1), 0.5 * w
    powers = np.arange(1, stages + 1)
    # Σ_j a_ij c_j^{k−1} = c_i^k/k for k = 1 … s
    vandermonde = nodes[None, :] ** (powers[:, None] - 1)
    matrix = np.linalg.solve(vandermonde, (nodes[:, None] ** powers / powers).T).T
    eigenvalues, vectors = np.linalg.eig(matrix)
    known = np.concatenate([[0.0], nodes])
    continuation = np.array(
        [
            [
                np.prod([(1 + c - other) / (at - other) for other in np.delete(known, j)])
                for j, at in enumerate(known)
            ]
            for c in nodes
        ]
    )
    weights = np.linalg.solve(matrix.T, b)
    inverse = np.linalg.inv(vectors)
    return Rule(nodes, matrix, weights, eigenvalues, vectors, inverse, continuation)


def _shifts(rule: Rule, dt: Any, psi: jax.Array) -> list[jax.Array]:
    """z_k = iτλ_k."""
    return [1j * real_like(dt, psi) * real_like(value, psi) for value in rule.eigenvalues]


def _every_stage(family: Resolvents, couplings: list[Any], stages: jax.Array) -> jax.Array:
    """V_i Y_i for each stage, by one compiled product: only what differs in the V_i is stacked."""
    leaves = list(zip(*(jax.tree.leaves(v) for v in couplings), strict=True))
    differs = [any(x is not same[0] for x in same) for same in leaves]
    own = [jnp.stack(same) for same, d in zip(leaves, differs, strict=True) if d]
    structure = jax.tree.structure(couplings[0])

    def one(pieces):
        own, rows = pieces
        rest = iter(own)
        mixed = [next(rest) if d else same[0] for same, d in zip(leaves, differs, strict=True)]
        return family.image(jax.tree.unflatten(structure, mixed), rows)

    return jax.lax.map(one, (own, stages))


def _mixed(matrix: np.ndarray, arrays: jax.Array) -> jax.Array:
    """Σ_j matrix_ij arrays_j for a few large arrays."""
    dtype = arrays.dtype
    if np.isrealobj(matrix):
        dtype = jnp.finfo(dtype).dtype
    return jnp.tensordot(jnp.asarray(matrix, dtype), arrays, axes=1)
