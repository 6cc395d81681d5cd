"""BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 631 (1992)) inside compiled loops.

Where it fails on the light of a Dirac equation, it is told which time step would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter.bases.spinor.light import SpinorLight
from zitter.hamiltonian import Hamiltonian


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


def contraction(tol: float, most: int) -> float:
    """By how much each product must shrink the error to end below `tol`: two for an iteration."""
    return min(0.5, tol ** (0.5 / most))


def strongest_light(H: Hamiltonian, span: tuple[float, float]) -> tuple[float, float]:
    """(time, max|cA|) where the light of a run is strongest, and the iteration hardest."""
    times = np.linspace(*span, 1026)[1:-1]
    strengths = np.asarray(_strengths(H, jnp.asarray(times)))
    place = int(np.argmax(strengths))
    return float(times[place]), float(strengths[place])


@eqx.filter_jit
def _strengths(H: Hamiltonian, times: jax.Array) -> jax.Array:
    def at(t):
        parts = [piece.at(t) for piece in H.changing]
        return sum((p.strength() for p in parts if isinstance(p, SpinorLight)), jnp.zeros(()))

    return jax.lax.map(at, times)


def longest_step(converges: Callable[[float], bool], dt: float, bound: float) -> float:
    """The first of 0.7 dt, 0.49 dt, … with which it `converges`, or `bound`, which must do.

    In two digits, rounded down: what people are told is what was tried.
    """
    while (dt := 0.7 * dt) > bound:
        if converges(step := two_digits(dt)):
            return step
    return two_digits(bound)


def two_digits(value: float) -> float:
    """Rounded down."""
    exponent = math.floor(math.log10(value)) - 1
    return float(f"{math.floor(value / 10.0**exponent)}e{exponent}")


def _dot(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.vdot(a, b)
