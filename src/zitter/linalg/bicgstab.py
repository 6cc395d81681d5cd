"""Lx = b for L near one, inside compiled loops: Richardson's iteration, then BiCGSTAB.

    x ← x + r,  r ← r − Lr          while that shrinks r fast: one product and one norm each
    BiCGSTAB from there             (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 631 (1992))

Preconditioned implicit steps have L = 1 + M⁻¹zV: where light is weak on the scale of 1/z the first
ends it, and nothing is cheaper; where it is strong the second does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

FAST = 0.1  # what a product must leave of the residual; beyond, BiCGSTAB takes fewer of them


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
    near: bool = True,
) -> Solved:
    """x with L x = b from a first guess, for any linear `apply`; stops at `tol` or `most`, in the
    middle of an iteration too. Where L is not `near` one BiCGSTAB begins at once.

    A breakdown (a vanishing denominator) shows as a residual that is no number, and ends the loop.
    """
    scale = _norm(rhs)
    goal = tol * scale
    x, r, size, products = _richardson(apply, rhs, guess, goal, scale, most if near else 0)

    # One product for each pass, so that `apply` is compiled once: by turns with the direction p
    # (x += αp, r −= αLp) and with r itself (x += ωr, r −= ωLr).
    def unfinished(carry):
        *_, size, products, _ = carry
        return (size > goal) & (products <= 2 * most)

    def improve(carry):
        x, r, p, image, rho, alpha, _, products, leading = carry
        target = jnp.where(leading, p, r)
        v = apply(target)
        alpha = jnp.where(leading, rho / _dot(first, v), alpha)
        square = _dot(v, v).real
        # Where Lr is rounding, ω = 0 leaves r: 0/0 must not spoil a finished solution.
        omega = jnp.where(square > 0, _dot(v, r) / jnp.where(square > 0, square, 1), 0)
        weight = jnp.where(leading, alpha, omega)
        x, r = x + weight * target, r - weight * v
        following = _dot(first, r)
        ratio = alpha / jnp.where(omega != 0, omega, 1)
        beta = jnp.where(omega == 0, 0, following / rho * ratio)
        p = jnp.where(leading, p, r + beta * (p - omega * image))
        rho = jnp.where(leading, rho, following)
        image = jnp.where(leading, v, image)
        return x, r, p, image, rho, alpha, _norm(r), products + 1, ~leading

    first = r
    one, begin = jnp.ones((), rhs.dtype), jnp.ones((), bool)
    start = (x, r, r, jnp.zeros_like(r), _dot(r, r), one, size, products, begin)
    x, *_, size, products, _ = jax.lax.while_loop(unfinished, improve, start)
    # Of b = 0 the solution is 0, and reached.
    return Solved(x, products // 2, products, size / jnp.where(scale > 0, scale, 1))


def _richardson(apply, rhs, guess, goal, scale, most):
    """x, r, ‖r‖ and the number of products when the goal is reached or r no longer falls fast."""

    def fast(carry):
        _, _, size, before, products = carry
        falls = (size > goal) & (size < FAST * before) & (products < 2 * most)
        return (products == 0) | falls

    def correct(carry):
        x, r, size, _, products = carry
        step = jnp.where(products == 0, guess, r)
        left = r - apply(step)
        # What would not shrink r is not taken: BiCGSTAB begins where r was least, from x = 0 even.
        better = (after := _norm(left)) < size
        x, r = jnp.where(better, x + step, x), jnp.where(better, left, r)
        # Against b itself a first residual, that of the guess, is always a beginning.
        before = jnp.where(products == 0, jnp.inf, size)
        return x, r, jnp.where(better, after, size), before, products + 1

    start = (jnp.zeros_like(rhs), rhs, scale, scale, jnp.zeros((), jnp.int32))
    x, r, size, _, products = jax.lax.while_loop(fast, correct, start)
    return x, r, size, products


def _dot(x: jax.Array, y: jax.Array) -> jax.Array:
    """x†y over all axes as they are: made one axis, an array whose middle axis lies on many devices
    would have to be gathered."""
    return jnp.tensordot(jnp.conj(x), y, axes=x.ndim)


def _norm(x: jax.Array) -> jax.Array:
    return jnp.sqrt(_dot(x, x).real)
