"""What a propagator is: ψ(t) → ψ(t + Δt) for i dψ/dt = H(t)ψ, with explicit state.

prepare(H, t, dt)           on the host: refuse early, pick orders from norms
init(H, psi, t, dt)         the state carried from step to step (factors, counters)
starting(*psi)              on the host: leave out what runs from these states cannot reach
enter(psi), leave(psi)      ψ to and from the coefficients in which the method steps
step(H, psi, t, dt, state)  one compiled step
march(H, psi, time, …)      many of them, where a method can join one to the next
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from zitter import checks, runtime
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator, Unsupported, real_like, total
from zitter.propagators.schemes import CommutatorFree4, Midpoint, TimeScheme

State = Any  # a pytree of arrays
Repeat = Callable[..., Any]  # how a loop is written: (body, carry, count, unroll)


def repeated(body: Callable[[Any], Any], carry: Any, count: int, unroll: int = 1) -> Any:
    """body(body(…(carry))), `count` times."""
    if count == 1:
        return body(carry)
    return jax.lax.fori_loop(0, count, lambda _, now: body(now), carry, unroll=unroll)


class Propagator(eqx.Module):
    """A method for the time-dependent Schrödinger equation."""

    def divided(self, H: Hamiltonian) -> Hamiltonian:
        """H as this method steps with it on the mesh in force: states over the basis' own axes."""
        return H.divided()

    def shares(self, H: Hamiltonian) -> dict[str, list[int]]:
        """For each mesh axis in use, how much each device holds of what is divided."""
        return H.basis.shares

    def prepare(self, H: Hamiltonian, t: tuple[float, float], dt: float) -> Propagator:
        """The method made ready for this Hamiltonian, or `Unsupported`/`InputError`."""
        return self

    @property
    def any_step(self) -> bool:
        """Whether what `prepare` has made serves steps of any size."""
        return False

    @property
    def narrows(self) -> bool:
        """Whether the prepared method may leave something out, once it knows its start."""
        return False

    def starting(self, *psi: jax.Array) -> Propagator:
        """The prepared method for runs from these states, without what none of them reaches."""
        return self

    def bare(self) -> Propagator:
        """The method without what `prepare` derived from H, whose last bits may differ elsewhere:
        what a run must share with the one it continues."""
        return self

    def init(self, H: Hamiltonian, psi: jax.Array, t: Any, dt: Any) -> State:
        return ()

    def enter(self, psi: jax.Array) -> jax.Array:
        """ψ as `step` takes and gives it, where that is not the basis' own form."""
        return psi

    def leave(self, psi: jax.Array) -> jax.Array:
        """The inverse of `enter`; both are called once for many steps."""
        return psi

    @abc.abstractmethod
    def step(
        self, H: Hamiltonian, psi: jax.Array, t: Any, dt: Any, state: State
    ) -> tuple[jax.Array, State]: ...

    def march(
        self,
        H: Hamiltonian,
        psi: jax.Array,
        time: Callable[[Any], Any],
        dt: Any,
        state: State,
        steps: int,
        repeat: Repeat,
    ) -> tuple[jax.Array, State]:
        """So many steps with nothing between them, the k-th of which begins at time(k)."""

        def body(now):
            k, psi, state = now
            return (k + 1, *self.step(H, psi, time(k), dt, state))

        begun = (jnp.zeros((), jnp.int32), psi, state)
        return repeat(body, begun, steps, unroll=self.unroll(H))[1:]

    def unroll(self, H: Hamiltonian) -> int:
        """Steps to write out in one turn of a loop."""
        return 1 if self.long_step(H) else max(1, runtime.unroll() // self.stages)

    def long_step(self, H: Hamiltonian) -> bool:
        """Whether a step is so long (a loop of its own) that neither its launches nor a copy of ψ
        show: writing out several would only take compiling, and memory for each of them."""
        return False

    def convergence_order(self, H: Hamiltonian) -> int:
        """p, where the error falls as Δtᵖ; 1 where it is not known, which overestimates errors."""
        return 1

    @property
    def nodes(self) -> tuple[float, ...]:
        """Where in a step, from 0 to 1, the method looks at H(t); empty where it chooses by itself
        as it goes."""
        return (0.5,)

    @property
    def stages(self) -> int:
        """How often one step writes H out; the loop unrolls the fewer steps."""
        return 1

    def report(self, state: State) -> dict[str, Any]:
        """What the state tells about cost and error, for the solution."""
        return {}

    def failed_at(self, state: State) -> Any:
        """The time at which the method failed first, infinite if it never did; may be traced."""
        return jnp.inf

    def problem(self, H: Hamiltonian, state: State, dt: Any) -> str | None:
        """A sentence that ends the run where the method has failed, and says what would do."""
        return None


class Exponential(Propagator):
    """A method that applies exp(−iτO) of a frozen operator; time dependence by a `TimeScheme`."""

    scheme: eqx.AbstractVar[TimeScheme]

    @property
    def stages(self) -> int:
        return len(self.scheme.stages)

    def convergence_order(self, H: Hamiltonian) -> int:
        return self.scheme.order if H.time_dependent else 1

    @property
    def nodes(self) -> tuple[float, ...]:
        return self.scheme.nodes

    @abc.abstractmethod
    def exponential(
        self, operator: Operator, psi: jax.Array, tau: Any, state: State
    ) -> tuple[jax.Array, State]:
        """exp(−iτO)ψ."""

    def step(self, H, psi, t, dt, state):
        if not H.time_dependent:
            return self.exponential(H.operator, psi, dt, state)
        for weights, nodes in self.scheme.stages:
            operator = H.mix(weights, [t + c * dt for c in nodes])
            psi, state = self.exponential(operator, psi, dt, state)
        return psi, state


class ErrorSum(eqx.Module):
    """Local error estimates added up over the run (an upper bound to first order)."""

    total: jax.Array

    @classmethod
    def zero(cls) -> ErrorSum:
        return cls(jnp.zeros((), jnp.float64))

    def plus(self, error: Any) -> ErrorSum:
        # An estimate is no part of the result: derivatives do not pass through it.
        error = jax.lax.stop_gradient(jnp.asarray(error, jnp.float64))
        return ErrorSum(self.total + error)


def scheme_or_default(scheme: Any) -> TimeScheme:
    return checks.instance("scheme", scheme, (Midpoint, CommutatorFree4))


def require_hermitian(name: str, H: Hamiltonian, remedy: str) -> None:
    if not H.hermitian:
        raise Unsupported(f"{name} needs a Hermitian Hamiltonian, but this one absorbs; {remedy}")


def require_orthonormal(name: str, H: Hamiltonian) -> None:
    if not H.basis.orthonormal:
        floor = H.fixed.bounded_below
        instead = "AngularSplit (length gauge) or CrankNicolson" if floor else "GaussCollocation"
        raise Unsupported(
            f"{name} needs an orthonormal basis, but {type(H.basis).__name__} has an overlap "
            f"matrix; use {instead}"
        )


def spectral_bounds(H: Hamiltonian, t: tuple[float, float]) -> tuple[Any, Any]:
    """(low, high) that enclose the spectrum of the Hermitian part of H(t) during a run."""
    pairs = [H.fixed.bounds(), *(piece.bounds(*t) for piece in H.changing)]
    return total(low for low, _ in pairs), total(high for _, high in pairs)


def spectral_radius(H: Hamiltonian, t: tuple[float, float]) -> Any:
    """A bound on ‖H(t)‖, absorber included."""
    low, high = spectral_bounds(H, t)
    radius = jnp.maximum(jnp.abs(low), jnp.abs(high))
    if H.absorber is not None:
        absorbed = H.absorber.scaled(1j)
        radius = radius + jnp.maximum(*map(jnp.abs, absorbed.bounds()))
    return radius


def check_stability(
    name: str, growth: Callable[[float], float], radius: Any, t: tuple[float, float], dt: float
) -> None:
    """Refuse a step whose fastest wave would grow more than tenfold over the whole run.

    `growth(x)` is the amplification per step of a wave with ωΔt = x.
    """
    if checks.is_traced(radius):
        return
    steps = max(1.0, abs(t[1] - t[0]) / abs(dt))
    allowed, x, width = 10 ** (1 / steps), 0.0, 0.01
    while growth(x + width) <= allowed and x < 100:
        x += width
    if abs(dt) * float(radius) > x:
        raise checks.InputError(
            "dt",
            f"must be below {x / float(radius):.3g} for {name} to stay stable here "
            f"(dt·|H| ≤ {x:.3g} with |H| ≤ {float(radius):.4g}), but is {dt:g}",
        )


def minus_i(tau: Any, psi: jax.Array) -> jax.Array:
    """−iτ in the precision of ψ."""
    return -1j * real_like(tau, psi)
