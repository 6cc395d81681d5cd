"""Locally optimal block preconditioned conjugate gradients, for the lowest states on grids."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.eigensolvers.base import Eigensolver, check_orthonormal
from zitter.eigensolvers.block import (
    Precondition,
    apply_block,
    block_size,
    column,
    combine,
    floor_of_rounding,
    gram,
    normalized,
    norms,
    not_converged,
    rayleigh_ritz,
    ritz,
)
from zitter.eigensolvers.preconditioners import prepare, shape_of_mean_field
from zitter.rounds import Rounds
from zitter.segments import memory_to_call, shaped

TINY = 1e-30  # keeps a vector that has vanished from being divided by zero


class LOBPCG(Eigensolver):
    """Knyazev's LOBPCG, SIAM J. Sci. Comput. 23, 517 (2001), preconditioned by a separable H.

    Each round takes the Rayleigh–Ritz vectors of the space spanned by the states X, the
    preconditioned residuals W = M(HX − XΘ) and the previous step P. It converges when
    ‖Hφ − Eφ‖ ≤ `tol` (hartree) for each of the n states asked for; `guard` more states are carried
    along, so that a degenerate level comes whole. `tol` below rounding, about 1e-15 ‖H‖ in double
    precision, is raised to that.
    """

    tol: float = eqx.field(static=True)
    max_iterations: int = eqx.field(static=True)
    guard: int | None = eqx.field(static=True)

    def __init__(self, tol: float = 1e-9, max_iterations: int = 200, guard: int | None = None):
        self.tol = float(checks.positive("tol", tol))
        self.max_iterations = checks.integer("max_iterations", max_iterations, 1)
        self.guard = None if guard is None else checks.integer("guard", guard, 0)

    @property
    def divides(self) -> bool:
        return True

    @property
    def keeps_rounds(self) -> bool:
        return True

    def check(self, H, n):
        Eigensolver.check(self, H, n)
        check_orthonormal(self, H)

    def few_rounds(self, count):
        return dataclasses.replace(self, max_iterations=min(count, self.max_iterations))

    def memory(self, H, n):
        """That of a round; X, HX, P and HP give way to the next ones."""
        H = H.astype(runtime.settings().real_dtype)
        count = block_size(n, self.guard, H.basis)
        block = shaped(H.operator.dtype, count, *H.shape)
        row = shaped(jnp.finfo(block.dtype).dtype, count)
        state = _State(block, block, block, block, row, row)
        return memory_to_call(_advance, (H, shape_of_mean_field(H)), state, donated=(1,))

    def solve(self, H, n, start=None, rounds=None):
        """As `Eigensolver.solve`; `start` may hold states to begin with, lowest first."""
        rounds = Rounds() if rounds is None else rounds
        H = H.astype(runtime.settings().real_dtype)
        count = block_size(n, self.guard, H.basis)
        precondition, states = prepare(H, count, start)
        tol = max(self.tol, floor_of_rounding(H, states))
        with rounds.running():
            first, state = rounds.begin(_begin(H, states))
            del states  # while it is there, a round takes half as much memory again
            history = rounds.records("residuals")
            for done in range(first, self.max_iterations):
                history.append(np.asarray(state.residuals[:n]))
                if np.all(history[-1] <= tol):
                    break
                state = _advance((H, precondition), state)
                rounds.keep(done + 1, state, residuals=history[-1])
            else:
                rounds.save()
                raise not_converged(
                    "LOBPCG", "max_iterations", self.max_iterations, history[-1], tol
                )
        info = {
            "solver": "LOBPCG",
            "iterations": len(history) - 1,
            "applications": len(history) * count,
            "tol": tol,
            "residual_history": np.max(history, axis=1).tolist(),
            "next_energies": np.asarray(state.energies[n:]).tolist(),
        }
        return np.asarray(state.energies[:n], np.float64), normalized(H, state.x[:n]), info


class _State(eqx.Module):
    """X, HX, the last step P, HP (all of unit scale), Ritz values and residual norms."""

    x: jax.Array
    hx: jax.Array
    p: jax.Array
    hp: jax.Array
    energies: jax.Array
    residuals: jax.Array


def _begin(H: Any, states: jax.Array) -> _State:
    now = ritz(H, states)
    p, hp = jnp.zeros_like(now.states), jnp.zeros_like(now.states)  # donated: not to be shared
    return _State(now.states, now.images, p, hp, now.energies, now.residuals)


@eqx.filter_jit(donate="all-except-first")
def _advance(problem: tuple[Any, Precondition], state: _State) -> _State:
    H, precondition = problem
    x, hx, count = state.x, state.hx, state.x.shape[0]
    w = precondition.apply(hx - column(state.energies, x) * x, state.energies)
    # Kept away from X, W adds new directions only; the Gram matrix is then well conditioned.
    w = w - combine(gram(x, w), x)
    w = w / column(norms(w) + TINY, w)
    hw = apply_block(H, w)
    space, image = jnp.concatenate([x, w, state.p]), jnp.concatenate([hx, hw, state.hp])
    energies, mix = rayleigh_ritz(gram(space, space), gram(space, image), count)
    step = mix.at[:count].set(0)
    x, hx = combine(mix, space), combine(mix, image)
    p, hp = combine(step, space), combine(step, image)
    # HP carries the rounding of HX: of a step that small nothing is left once scaled to one.
    size = column(norms(p), p)
    scale = jnp.where(size > jnp.finfo(size.dtype).eps ** (2 / 3), 1 / (size + TINY), 0)
    residuals = norms(hx - column(energies, x) * x)
    return _State(x, hx, scale * p, scale * hp, energies, residuals)
