"""BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 631 (1992)) inside compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp


class Solved(NamedTuple):
    x: jax.Array
    iterations: jax.Array  # each takes two products
    residual: jax.Array  # ‖b − Lx‖/‖b‖, as the recurrence has it


def bicgstab(
    apply: Callable[[jax.Array], jax.Array],
    rhs: jax.Array,
    guess: jax.Array,
    tol: float,
    most: int,
) -> Solved:
    """x with L x = b from a first guess, for any linear `apply`; stops at `tol` or `most`.

    A breakdown (a vanishing denominator) shows as a residual that is no number, and ends the loop.
    """
    scale = jnp.sqrt(_dot(rhs, rhs).real)
    first = rhs - apply(guess)

    def unfinished(carry):
        _, _, _, _, size, done = carry
        return (size > tol * scale) & (done < most)

    def improve(carry):
        x, r, p, rho, _, done = carry
        image = apply(p)
        alpha = rho / _dot(first, image)
        s = r - alpha * image
        turned = apply(s)
        # Where s is already rounding, ω = 0 leaves it: 0/0 must not spoil a finished solution.
        size = _dot(turned, turned).real
        omega = jnp.where(size > 0, _dot(turned, s) / jnp.where(size > 0, size, 1), 0)
        x = x + alpha * p + omega * s
        r = s - omega * turned
        following = _dot(first, r)
        beta = jnp.where(omega != 0, following / rho * (alpha / jnp.where(omega != 0, omega, 1)), 0)
        p = r + beta * (p - omega * image)
        return x, r, p, following, jnp.sqrt(_dot(r, r).real), done + 1

    size = jnp.sqrt(_dot(first, first).real)
    start = (guess, first, first, _dot(first, first), size, jnp.zeros((), jnp.int32))
    x, _, _, _, size, done = jax.lax.while_loop(unfinished, improve, start)
    return Solved(x, done, size / scale)


class Course(eqx.Module):
    """What the solver did in all steps of a run."""

    iterations: jax.Array
    products: jax.Array  # of the light with one state
    residual: jax.Array  # the largest so far
    failed_at: jax.Array  # when BiCGSTAB first gave up; infinite if it never did

    @classmethod
    def begin(cls) -> Course:
        count = jnp.zeros((), jnp.int32)
        never = jnp.full((), jnp.inf, jnp.float64)
        return cls(count, count, jnp.zeros((), jnp.float64), never)

    def after(
        self, iterations: Any, products: Any, residual: jax.Array, tol: float, t: Any
    ) -> Course:
        """With one more step, which began at t."""
        residual = residual.astype(jnp.float64)
        # In this order a residual that is no number counts as a failure.
        failed = jnp.where(residual <= tol, jnp.inf, jnp.float64(t))
        return Course(
            self.iterations + iterations,
            self.products + products,
            jnp.fmax(self.residual, residual),
            jnp.minimum(self.failed_at, failed),
        )

    def report(self) -> dict[str, Any]:
        return {
            "iterations": self.iterations,
            "products": self.products,
            "residual": self.residual,
        }


def _dot(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.vdot(a, b)
