"""BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 631 (1992)) inside compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Solved(NamedTuple):
    x: jax.Array
    iterations: jax.Array  # of two products, the last perhaps of one
    products: jax.Array  # with L, that of the guess included
    residual: jax.Array  # ‖b − Lx‖/‖b‖, as the recurrence has it


def bicgstab(
    apply: Callable[[jax.Array], jax.Array],
    rhs: jax.Array,
    guess: jax.Array,
    tol: float,
    most: int,
) -> Solved:
    """x with L x = b from a first guess, for any linear `apply`; stops at `tol` or `most`, in the
    middle of an iteration too.

    A breakdown (a vanishing denominator) shows as a residual that is no number, and ends the loop.
    """
    scale = _norm(rhs)

    # One product for each pass of the loop, so that `apply` is compiled once: with the guess, then
    # by turns with the direction p (x += αp, r −= αLp) and with r itself (x += ωr, r −= ωLr).
    def unfinished(carry):
        *_, size, products = carry
        return (products == 0) | ((size > tol * scale) & (products <= 2 * most))

    def improve(carry):
        x, r, p, image, first, rho, alpha, _, products = carry
        opening, leading = products == 0, products % 2 == 1
        target = jnp.where(opening | leading, p, r)
        v = apply(target)
        alpha = jnp.where(leading, rho / jnp.vdot(first, v), alpha)
        square = jnp.vdot(v, v).real
        # Where Lr is rounding, ω = 0 leaves r: 0/0 must not spoil a finished solution.
        omega = jnp.where(square > 0, jnp.vdot(v, r) / jnp.where(square > 0, square, 1), 0)
        weight = jnp.where(opening, 1, jnp.where(leading, alpha, omega))
        x, r = x + weight * target, r - weight * v
        first = jnp.where(opening, r, first)
        following = jnp.vdot(first, r)
        ratio = alpha / jnp.where(omega != 0, omega, 1)
        beta = jnp.where(opening | (omega == 0), 0, following / rho * ratio)
        p = jnp.where(leading, p, jnp.where(opening, r, r + beta * (p - omega * image)))
        rho = jnp.where(leading, rho, following)
        return x, r, p, jnp.where(leading, v, image), first, rho, alpha, _norm(r), products + 1

    zero, one = jnp.zeros_like(rhs), jnp.ones((), rhs.dtype)
    start = (zero, rhs, guess, zero, zero, one, one, scale, jnp.zeros((), jnp.int32))
    x, *_, size, products = jax.lax.while_loop(unfinished, improve, start)
    return Solved(x, products // 2, products, size / scale)


def _norm(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.vdot(x, x).real)
