"""Gauss–Legendre collocation for the Dirac equation, order 2s; s = 1 is Crank–Nicolson.

    Y_i = ψ − iτ Σ_j a_ij H(t + c_jτ) Y_j,    ψ(t + τ) = ψ + Σ_i d_i (Y_i − ψ),   d = bᵀA⁻¹

The Gauss nodes c and weights make every step unitary and stable for all τ (Butcher, Math. Comput.
18, 50 (1964); Hairer & Wanner, Solving Ordinary Differential Equations II, IV.5). Unlike products
of exponentials it follows the changing field inside a step: positrons, 2c² below, then stay virtual
also where τ is far longer than 1/2c².

Among the levels of H₀ (`SpinorLevels`) and with A = TΛT⁻¹ the part of H₀ is solved exactly,

    W_k + (1 + iτλ_k E)⁻¹ iτλ_k (T⁻¹VTW)_k = (1 + iτλ_k E)⁻¹ (T⁻¹1)_k ψ,    Y = TW

and the light V by BiCGSTAB, from a guess that continues the polynomial of the last step. For s = 1
this is (S + iτ/2 H)Y = Sψ with S + iτ/2 H₀, factored for each κ, as preconditioner.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks
from zitter.bases.spinor.basis import SpinorBasis
from zitter.bases.spinor.levels import SpinorLevels, levels_of
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported, real_like
from zitter.linalg.sums import add
from zitter.propagators.base import Propagator
from zitter.propagators.bicgstab import (
    Course,
    bicgstab,
    contraction,
    longest_step,
    strongest_light,
)


class Memory(eqx.Module):
    """The last step among the levels, and what the solver did."""

    start: jax.Array
    stages: jax.Array
    course: Course


class GaussCollocation(Propagator):
    """`points` s = 1, 3, 5 or 7 on a `SpinorBasis`; `tol` is the relative residual of each step.

    Not converged within `most_iterations`, the run stops and says which dt would do. An even s is
    left out: its steps turn positrons by almost 2π where 2c²τ is large, so that they would seem
    slow and could meet the light in resonance; an odd s turns them by almost π.
    """

    points: int = eqx.field(static=True)
    tol: float = eqx.field(static=True)
    most_iterations: int = eqx.field(static=True)
    levels: SpinorLevels | None
    span: tuple[float, float] | None = eqx.field(static=True)

    def __init__(self, points: int = 3, tol: float = 1e-12, most_iterations: int = 30):
        self.points = checks.choice("points", points, (1, 3, 5, 7))
        self.tol = float(checks.positive("tol", tol))
        self.most_iterations = checks.integer("most_iterations", most_iterations, 1)
        self.levels = None
        self.span = None

    def convergence_order(self, H: Hamiltonian) -> int:
        return 2 * self.points

    @property
    def stages(self) -> int:
        return 64  # a step is a loop of its own: writing out several would only take compiling

    def prepare(self, H, t, dt):
        if not isinstance(H.basis, SpinorBasis):
            raise Unsupported(
                f"GaussCollocation needs a SpinorBasis, not a {type(H.basis).__name__}"
            )
        ready = self.bare()
        levels = levels_of(H.fixed, H.basis, jnp.finfo(H.fixed.dtype).dtype)
        object.__setattr__(ready, "levels", levels)
        object.__setattr__(ready, "span", (float(t[0]), float(t[1])))
        return ready

    def bare(self):
        return GaussCollocation(self.points, self.tol, self.most_iterations)

    def enter(self, psi):
        assert self.levels is not None
        return self.levels.from_splines(psi)

    def leave(self, psi):
        assert self.levels is not None
        return self.levels.to_splines(psi)

    def init(self, H, psi, t, dt):
        levels = self.enter(psi)
        # Stages equal to ψ make the first guess ψ itself.
        stages = jnp.broadcast_to(levels, (self.points, *levels.shape))
        return Memory(levels, stages, Course.begin())

    def step(self, H, psi, t, dt, state):
        levels = self.levels
        assert levels is not None
        rule = rule_of(self.points)
        tau = real_like(dt, psi)
        tol = max(self.tol, 50 * float(jnp.finfo(psi.dtype).eps))  # what the precision can give
        couplings = [_coupling(H, t + c * dt) for c in rule.nodes]
        energies = levels.per_channel(levels.energies)
        shift = [1j * tau * real_like(value, psi) for value in rule.eigenvalues]
        resolvent = [1 / (1 + z * energies) for z in shift]

        def image(stages):
            return _every_stage(levels, couplings, stages)

        def apply(w):
            pulled = _mixed(rule.inverse, image(_mixed(rule.vectors, w)))
            moved = [d * z * p for d, z, p in zip(resolvent, shift, pulled, strict=True)]
            return w + jnp.stack(moved)

        ones = rule.inverse.sum(axis=1)
        rhs = jnp.stack(
            [d * real_like(one, psi) * psi for d, one in zip(resolvent, ones, strict=True)]
        )
        if couplings[0] is None:
            w, residual = rhs, jnp.zeros(())
            count = products = jnp.zeros((), jnp.int32)
        else:
            known = jnp.concatenate([state.start[None], state.stages])
            guess = _mixed(rule.inverse @ rule.continuation, known)
            w, count, residual = bicgstab(apply, rhs, guess, tol, self.most_iterations)
            products = self.points * (2 * count + 1)
        stages = _mixed(rule.vectors, w)
        new = real_like(1 - rule.weights.sum(), psi) * psi + _mixed(rule.weights[None], stages)[0]
        course = state.course.after(count, products, residual, tol, t)
        return new, Memory(psi, stages, course)

    def report(self, state):
        return state.course.report() | {"points": self.points}

    def problem(self, H, state, dt):
        failed_at = float(state.course.failed_at)
        if not np.isfinite(failed_at):
            return None
        assert self.span is not None
        time, strength = strongest_light(H, self.span)
        # Each product shrinks the error by ‖τAV‖ or more. Mostly by far more: steps are tried.
        size = np.linalg.norm(rule_of(self.points).matrix, 2) * max(strength, 1e-3 / float(dt))
        bound = contraction(self.tol, self.most_iterations) / float(size)
        psi = jnp.where(jnp.isfinite(state.start).all(), state.start, 1)
        named = longest_step(lambda tau: _converges(self, H, psi, time, tau), float(dt), bound)
        return (
            f"BiCGSTAB did not reach {self.tol:g} within {self.most_iterations} iterations at "
            f"t = {failed_at:.6g} with dt = {float(dt):.4g}: take dt = {named:g}, for which it "
            "converges."
        )


def _converges(method: GaussCollocation, H: Hamiltonian, psi: Any, t: float, dt: float) -> bool:
    """Whether two steps around t succeed, the first without any earlier one to guess from."""
    return bool(jnp.isinf(_tried(method, H, psi, jnp.asarray(t), jnp.asarray(dt)).failed_at))


@eqx.filter_jit
def _tried(method: GaussCollocation, H: Hamiltonian, psi: Any, t: Any, dt: Any) -> Course:
    def body(i, carry):
        psi, memory = carry
        return method.step(H, psi, t + (i - 1) * dt, dt, memory)

    memory = method.init(H, method.leave(psi), t, dt)
    return jax.lax.fori_loop(0, 2, body, (psi, memory))[1].course


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


def _coupling(H: Hamiltonian, t: Any) -> Operator | None:
    """Everything but the field-free part, at one time."""
    parts = [piece.at(t) for piece in H.changing]
    parts += [H.absorber] if H.absorber is not None else []
    return add(parts) if parts else None


def _every_stage(levels: SpinorLevels, couplings: list[Any], stages: jax.Array) -> jax.Array:
    """V_i Y_i for each stage, by one compiled product: only what differs in the V_i is stacked."""
    leaves = list(zip(*(jax.tree.leaves(v) for v in couplings), strict=True))
    differs = [any(x is not same[0] for x in same) for same in leaves]
    own = [jnp.stack(same) for same, d in zip(leaves, differs, strict=True) if d]
    structure = jax.tree.structure(couplings[0])

    def one(pieces):
        own, rows = pieces
        rest = iter(own)
        mixed = [next(rest) if d else same[0] for same, d in zip(leaves, differs, strict=True)]
        return _between_levels(levels, jax.tree.unflatten(structure, mixed), rows)

    return jax.lax.map(one, (own, stages))


def _between_levels(levels: SpinorLevels, coupling: Any, rows: jax.Array) -> jax.Array:
    return levels.project(coupling.apply(levels.to_splines(rows)))


def _mixed(matrix: np.ndarray, arrays: jax.Array) -> jax.Array:
    """Σ_j matrix_ij arrays_j for a few large arrays."""
    dtype = arrays.dtype
    if np.isrealobj(matrix):
        dtype = jnp.finfo(dtype).dtype
    return jnp.tensordot(jnp.asarray(matrix, dtype), arrays, axes=1)
