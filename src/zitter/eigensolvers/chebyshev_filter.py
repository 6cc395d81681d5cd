"""Chebyshev-filtered subspace iteration: the lowest states of any H that can be applied."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.eigensolvers.base import Eigensolver, check_orthonormal
from zitter.eigensolvers.block import (
    Ritz,
    apply_block,
    block_size,
    floor_of_rounding,
    most_growth,
    normalized,
    not_converged,
    ritz,
    ritz_step,
)
from zitter.eigensolvers.preconditioners import start_block
from zitter.linalg.base import Unsupported
from zitter.rounds import Rounds
from zitter.segments import memory_to_call, shaped


class ChebyshevFilter(Eigensolver):
    """Zhou, Saad, Tiago and Chelikowsky, J. Comput. Phys. 219, 172 (2006).

    Each round replaces the block X by T_m(L)X, where L maps the unwanted part of the spectrum
    [a, b] to [−1, 1]: the Chebyshev polynomial is small there and grows fastest below it. a is the
    highest Ritz value of the block, b a bound of the spectrum; m is `degree`, or less where a state
    far below the others would drown them. It needs nothing but Hψ, so it serves where there is no
    preconditioner; on grids `LOBPCG` takes far fewer applications of H.
    """

    tol: float = eqx.field(static=True)
    degree: int = eqx.field(static=True)
    max_iterations: int = eqx.field(static=True)
    guard: int | None = eqx.field(static=True)

    def __init__(
        self,
        tol: float = 1e-9,
        degree: int = 40,
        max_iterations: int = 300,
        guard: int | None = None,
    ):
        self.tol = float(checks.positive("tol", tol))
        self.degree = checks.integer("degree", degree, 2)
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
        if not H.operator.bounded_below:
            raise Unsupported(
                "ChebyshevFilter finds the lowest states, but this spectrum has no floor: "
                "use Direct"
            )

    def few_rounds(self, count):
        return dataclasses.replace(
            self, max_iterations=min(count, self.max_iterations), degree=min(self.degree, 200)
        )

    def rounds_grow(self, ratio):
        """T_m grows as exp(2m √(gap/range)), and the range as 1/h²."""
        return ratio

    def memory(self, H, n):
        """That of a filter or of the Rayleigh–Ritz step after it, beside X and HX."""
        H = H.astype(runtime.settings().real_dtype)
        block = shaped(H.operator.dtype, block_size(n, self.guard, H.basis), *H.shape)
        real = jnp.finfo(block.dtype).dtype
        energies, top, degree = shaped(real, block.shape[0]), shaped(real), shaped(jnp.int32)
        one = math.prod(block.shape) * block.dtype.itemsize
        filtering = memory_to_call(_filter, H, block, energies, top, degree)
        return max(filtering + one, memory_to_call(ritz_step, H, block) + 2 * one)

    def solve(self, H, n, start=None, rounds=None):
        """As `Eigensolver.solve`; `start` may hold states to begin with, lowest first."""
        rounds = Rounds() if rounds is None else rounds
        H = H.astype(runtime.settings().real_dtype)
        block = start_block(H, block_size(n, self.guard, H.basis), start)
        tol = max(self.tol, floor_of_rounding(H, block))
        top = H.operator.bounds()[1]
        with rounds.running():
            first, now = rounds.begin(ritz(H, block))
            history = rounds.records("residuals")
            for done in range(first, self.max_iterations):
                history.append(np.asarray(now.residuals[:n]))
                if np.all(history[-1] <= tol):
                    break
                degree = self.safe_degree(now, top)
                now = ritz(H, _filter(H, now.states, now.energies, top, jnp.asarray(degree)))
                rounds.keep(done + 1, now, residuals=history[-1], degree=degree)
            else:
                rounds.save()
                raise not_converged(
                    "ChebyshevFilter", "max_iterations", self.max_iterations, history[-1], tol
                )
        applications = 1 + sum(int(degree) + 1 for degree in rounds.records("degree"))
        info = {
            "solver": "Chebyshev-filtered subspace",
            "iterations": len(history) - 1,
            "applications": applications * block.shape[0],
            "tol": tol,
            "residual_history": np.max(history, axis=1).tolist(),
            "next_energies": np.asarray(now.energies[n:]).tolist(),
        }
        return np.asarray(now.energies[:n], np.float64), normalized(H, now.states[:n]), info

    def safe_degree(self, now: Ritz, top: Any) -> int:
        """`degree`, or less where T_m would make all states of the block alike.

        Below [a, b] T_m grows as cosh(m arcosh|x|), with x = −1 at a.
        """
        low, high, lowest = float(now.energies[-1]), float(top), float(now.energies[0])
        growth = most_growth(now.states.dtype, len(now.energies))
        x = max(1 + 2 * (low - lowest) / max(high - low, 1e-300), 1 + 1e-12)
        return max(2, min(self.degree, int(growth / np.arccosh(x))))


@eqx.filter_jit
def _filter(H: Any, block: jax.Array, energies: jax.Array, top: Any, degree: jax.Array):
    """T_m with σ-scaling, so that the wanted components stay of order one."""
    real = jnp.finfo(block.dtype).dtype
    low, high = energies[-1].astype(real), jnp.asarray(top).astype(real)
    center, half = 0.5 * (high + low), 0.5 * (high - low)
    sigma = half / (energies[0].astype(real) - center)
    first = (apply_block(H, block) - center * block) * (sigma / half)

    def body(_, carry):
        before, now, scale = carry
        following = 1 / (2 / sigma - scale)
        image = apply_block(H, now) - center * now
        after = (2 * following / half) * image - (scale * following) * before
        return now, after, following

    _, block, _ = jax.lax.fori_loop(1, degree, body, (block, first, sigma))
    return block
