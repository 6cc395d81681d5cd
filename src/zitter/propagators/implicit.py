"""What implicit methods share: H(t) = H₀ + V(t), H₀ by resolvents and V by iteration.

The basis says which part H₀ it can invert (`separate`, `resolvents`). Where that part changes with
time and its factors are cheap, as on a line, they are made anew at each step; otherwise what
changes belongs to V.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from zitter import checks, runtime
from zitter.hamiltonian import Driven, Hamiltonian
from zitter.linalg.base import Operator, Unsupported
from zitter.linalg.bicgstab import Solved
from zitter.linalg.resolvents import Resolvents
from zitter.linalg.sums import Sum, add, parts_of
from zitter.propagators.base import Propagator
from zitter.terms.light import gauges

Family = Callable[[Operator], Resolvents]  # a word of the basis


class Separated(eqx.Module):
    """How a run separates H(t), and what that took to prepare."""

    prepared: Resolvents | None  # None where the family is at hand in H
    rest: Operator | None  # what of H without light the prepared ones leave over
    renewed: bool = eqx.field(static=True)  # whether H₀ changes and is factored at each step
    iterates: bool = eqx.field(static=True)  # whether there is a V
    span: tuple[float, float] = eqx.field(static=True)
    groups: tuple[int, ...] | None = eqx.field(static=True)  # of rows that H couples, if known
    rows: tuple[int, ...] | None = eqx.field(static=True, default=None)  # stepped; None for all

    def starting(self, *psi: jax.Array) -> Separated:
        """To step only the groups of rows in which a ψ has a part: no other will have one."""
        if self.groups is None or checks.is_traced(psi):
            return self
        groups = np.asarray(self.groups)
        if any(len(one) != len(groups) for one in psi):
            return self
        parts = [np.any(runtime.to_host(one) != 0, axis=tuple(range(1, one.ndim))) for one in psi]
        there = np.any(parts, axis=0)
        kept = np.isin(groups, groups[there])
        if kept.all() or not kept.any():
            return self
        return dataclasses.replace(self, rows=tuple(np.flatnonzero(kept).tolist()))

    def narrowed(self, psi: jax.Array) -> jax.Array:
        """Its rows that are stepped."""
        return psi if self.rows is None else psi[np.asarray(self.rows)]

    def widened(self, psi: jax.Array, like: jax.Array) -> jax.Array:
        """The inverse."""
        if self.rows is None:
            return psi
        return jnp.zeros(like.shape, psi.dtype).at[np.asarray(self.rows)].set(psi)

    def parts(
        self, H: Hamiltonian, t: Any, family: Family | None = None
    ) -> tuple[Resolvents, Operator | None]:
        """The resolvents of H₀, and V at one time, between the rows that are stepped."""
        changing = [piece.at(t) for piece in H.changing]
        if self.prepared is not None:
            return self.prepared, _merged([self.rest, *changing])
        if self.renewed:
            inside, rest = H.basis.separate(_sum([unchanging(H), *changing]))
        else:
            inside, rest = H.basis.separate(unchanging(H))
            rest = _merged([rest, *changing])
        assert inside is not None
        if self.rows is not None:
            rows = np.asarray(self.rows)
            inside, rest = inside.kept(rows), rest if rest is None else rest.kept(rows)
        return (family or H.basis.resolvents)(inside), rest

    def enter(self, psi: jax.Array) -> jax.Array:
        return psi if self.prepared is None else self.prepared.enter(psi)

    def leave(self, psi: jax.Array) -> jax.Array:
        return psi if self.prepared is None else self.prepared.leave(psi)


def separated(
    name: str,
    H: Hamiltonian,
    t: tuple[float, float],
    family: Family | None = None,
    renews: bool = False,
) -> Separated:
    """How `name` may separate H, or `Unsupported`; `renews` where it can factor at each step."""
    basis, family = H.basis, family or H.basis.resolvents
    inside, rest = basis.separate(unchanging(H))
    if inside is None:
        raise Unsupported(
            f"{name} needs a field-free part that {type(basis).__name__} can invert, such as "
            "Kinetic(), Dirac() or FieldFree() gives"
        )
    now = [piece.at(t[0]) for piece in H.changing]
    changes = any(basis.separate(piece)[0] is not None for piece in now)
    renewed, left = False, rest is not None or bool(now)
    try:
        if renews and changes:
            whole, others = basis.separate(_sum([inside, *now]))
            assert whole is not None
            renewed = family(whole).renewable
            left = (rest is not None or others is not None) if renewed else left
        resolvents = family(inside)
    except Unsupported as reason:
        raise Unsupported(f"{name} cannot treat this Hamiltonian: {reason}") from None
    span = (float(t[0]), float(t[1]))
    if resolvents.renewable:
        return Separated(None, None, renewed, left, span, _groups(H) if left else None)
    return Separated(resolvents, rest, renewed, left, span, None)


def _groups(H: Hamiltonian) -> tuple[int, ...] | None:
    """Rows of coefficients that H couples have the same number; None where that is not known."""
    if not all(isinstance(piece, Driven) for piece in H.changing):
        return None
    lights = [piece.operator for piece in H.changing if isinstance(piece, Driven)]
    links = _sum([unchanging(H), *lights]).links()
    return None if links is None else tuple(links.groups().tolist())


def unchanging(H: Hamiltonian) -> Operator:
    """H without what changes with time. The absorber stays a part of its own: a basis may know
    the resolvents of a Hermitian part only."""
    return H.fixed if H.absorber is None else _sum([H.fixed, H.absorber])


def _sum(operators: list[Operator]) -> Operator:
    return Sum(part for operator in operators for part in parts_of(operator))


def _merged(operators: list[Operator | None]) -> Operator | None:
    found = [operator for operator in operators if operator is not None]
    return add(found) if found else None


def refuse_growing_light(H: Hamiltonian) -> None:
    """E·r on a coordinate that turns into the complex plane."""
    if H.basis.complex_scaled and "length" in gauges(H):
        raise Unsupported(
            "light in length gauge grows without bound on a complex coordinate; use VelocityGauge, "
            "or a ComplexAbsorber"
        )


class Course(eqx.Module):
    """What the iteration did in all steps of a run."""

    iterations: jax.Array
    products: jax.Array  # of V with one state
    residual: jax.Array  # the largest so far
    failed_at: jax.Array  # when it first gave up; infinite if it never did

    @classmethod
    def begin(cls) -> Course:
        count = jnp.zeros((), jnp.int32)
        never = jnp.full((), jnp.inf, jnp.float64)
        return cls(count, count, jnp.zeros((), jnp.float64), never)

    def after(self, solved: Solved, products: Any, tol: float, t: Any) -> Course:
        """With one more step, which began at t."""
        residual = solved.residual.astype(jnp.float64)
        # In this order a residual that is no number counts as a failure.
        failed = jnp.where(residual <= tol, jnp.inf, jnp.float64(t))
        return Course(
            self.iterations + solved.iterations,
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


def attainable(tol: float, psi: jax.Array) -> float:
    """The relative residual to ask for: what the precision can give."""
    return max(tol, 50 * float(jnp.finfo(psi.dtype).eps))


def failure(
    method: Propagator,
    H: Hamiltonian,
    span: tuple[float, float],
    state: Any,
    dt: float,
    tol: float,
    most: int,
    size: float,
) -> str | None:
    """The sentence that ends a run whose iteration gave up, with a step that was tried.

    `state` has the `start` of the last step (in the method's coefficients) and the `course`;
    `size` times the strength of V bounds by how much each product shrinks the error, per time,
    where coefficients are orthonormal; steps are tried in any case.
    """
    failed_at = float(state.course.failed_at)
    if math.isinf(failed_at):
        return None
    tol = attainable(tol, state.start)
    time, strength = strongest(H, span)
    left = H.basis.separate(unchanging(H))[1]
    strength += 0.0 if left is None else float(left.strength())
    bound = contraction(tol, most) / (size * max(strength, 1e-3 / dt))
    psi = jnp.where(jnp.isfinite(state.start).all(), state.start, 1)

    def converges(tau: float) -> bool:
        return bool(jnp.isinf(_tried(method, H, psi, jnp.asarray(time), jnp.asarray(tau))))

    named = longest_step(converges, dt, bound)
    return (
        f"BiCGSTAB did not reach {tol:g} within {most} iterations at t = {failed_at:.6g} with "
        f"dt = {dt:.4g}: take dt = {named:g}, for which it converges."
    )


@eqx.filter_jit
def _tried(method: Propagator, H: Hamiltonian, psi: Any, t: Any, dt: Any) -> jax.Array:
    """When the first of two steps around t fails, with no earlier one to guess from."""

    def body(i, carry):
        psi, memory = carry
        return method.step(H, psi, t + (i - 1) * dt, dt, memory)

    memory = method.init(H, method.leave(psi), t, dt)
    return jax.lax.fori_loop(0, 2, body, (psi, memory))[1].course.failed_at


def contraction(tol: float, most: int) -> float:
    """By how much each product must shrink the error to end below `tol`: two for an iteration."""
    return min(0.5, tol ** (0.5 / most))


def strongest(H: Hamiltonian, span: tuple[float, float]) -> tuple[float, float]:
    """(time, strength) where what changes with time is strongest, and the iteration hardest."""
    times = np.linspace(*span, 1026)[1:-1]
    strengths = np.asarray(_strengths(H, jnp.asarray(times)))
    place = int(np.argmax(strengths))
    return float(times[place]), float(strengths[place])


@eqx.filter_jit
def _strengths(H: Hamiltonian, times: jax.Array) -> jax.Array:
    def at(t):
        return sum((piece.at(t).strength() for piece in H.changing), jnp.zeros(()))

    return jax.lax.map(at, times)


def longest_step(converges: Callable[[float], bool], dt: float, bound: float) -> float:
    """The first of 0.7 dt, 0.49 dt, … with which it `converges`; at worst `bound`.

    In two digits, rounded down: what people are told is what was tried.
    """
    end = 1e-3 * min(bound, dt)
    while (dt := 0.7 * dt) > end:
        if converges(step := two_digits(dt)):
            return step
    return two_digits(min(bound, dt))


def two_digits(value: float) -> float:
    """Rounded down."""
    exponent = math.floor(math.log10(value)) - 1
    return float(f"{math.floor(value / 10.0**exponent)}e{exponent}")
